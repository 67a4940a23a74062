//! How long a list may be continued.

use std::{collections::VecDeque, time::Duration};

use listwatch_store::Revision;
use parking_lot::Mutex;
use tokio::time::Instant;

/// How many moments are remembered within the life of a list, which may end that part earlier.
const MARKS_PER_LIFETIME: u32 = 16;

/// Knows since when a revision is one of the past, as far as lists are concerned.
pub(crate) struct ListAges {
    /// How long a list may be continued; `None` for as long as its state is found.
    lifetime: Option<Duration>,
    /// Now and then the time, and the newest revision of which a page was given out until then.
    marks: Mutex<VecDeque<(Instant, Revision)>>,
}

impl ListAges {
    pub(crate) fn new(lifetime: Option<Duration>) -> Self {
        Self {
            lifetime,
            marks: Mutex::default(),
        }
    }

    /// Remembers that a page of this revision is given out now.
    pub(crate) fn note(&self, revision: Revision) {
        let Some(lifetime) = self.lifetime else {
            return;
        };
        let now = Instant::now();
        let mut marks = self.marks.lock();
        match marks.back_mut() {
            Some((_, newest)) if *newest >= revision => return,
            Some((at, newest)) if now.duration_since(*at) < lifetime / MARKS_PER_LIFETIME => {
                *newest = revision;
            }
            _ => marks.push_back((now, revision)),
        }
        // The newest of those that are over says of all before it that they are.
        let is_over = |(at, _): &(Instant, Revision)| now.duration_since(*at) > lifetime;
        while marks.get(1).is_some_and(is_over) {
            marks.pop_front();
        }
    }

    /// Whether a list of this revision has been continued for long enough.
    pub(crate) fn is_over(&self, revision: Revision) -> bool {
        let Some(lifetime) = self.lifetime else {
            return false;
        };
        let marks = self.marks.lock();
        let mark = marks.iter().find(|(_, newest)| *newest >= revision);
        mark.is_some_and(|(at, _)| at.elapsed() > lifetime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Duration = Duration::from_secs(160);

    fn revision(number: u64) -> Revision {
        Revision::new(number)
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_ends_when_its_time_is_over_and_later_ones_do_not() {
        let ages = ListAges::new(Some(LIFETIME));
        ages.note(revision(5));
        tokio::time::advance(LIFETIME / 2).await;
        ages.note(revision(7));
        tokio::time::advance(LIFETIME / 2 + Duration::from_secs(1)).await;
        assert!(ages.is_over(revision(4)));
        assert!(ages.is_over(revision(5)));
        assert!(!ages.is_over(revision(6)));
        assert!(!ages.is_over(revision(7)));
        assert!(!ages.is_over(revision(8)), "of it nobody has a page");
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_without_a_lifetime_never_ends() {
        let ages = ListAges::new(None);
        ages.note(revision(5));
        tokio::time::advance(LIFETIME * 1000).await;
        assert!(!ages.is_over(revision(5)));
    }

    #[tokio::test(start_paused = true)]
    async fn many_lists_are_few_marks() {
        let ages = ListAges::new(Some(LIFETIME));
        for number in 1..10_000 {
            ages.note(revision(number));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let marks = ages.marks.lock().len();
        assert!(marks <= MARKS_PER_LIFETIME as usize + 2, "{marks}");
        assert!(ages.is_over(revision(9_000)));
        assert!(!ages.is_over(revision(9_900)));
    }
}
