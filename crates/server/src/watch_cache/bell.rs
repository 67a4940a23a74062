//! How watchers hear of news: a bell for some of a group, and the one task that rings many of them.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::sync::{Notify, mpsc};

use crate::turn;

/// Watchers that hear one bell. They are all woken before any other task gets its turn, so that few
/// keep the way free for those who write, and many cost fewer turns.
pub(super) const BELL_WATCHERS_MAX: usize = 128;
/// Up to this many watchers the feeder wakes by itself; more are left to the ringer.
const INLINE_WAKES_MAX: usize = 16;
/// Batches of bells that may wait for the ringer. At the bound the feeder rings by itself again.
const RINGER_QUEUE_MAX: usize = 64;

/// Wakes the watchers that wait at it.
#[derive(Default)]
pub(super) struct Bell {
    /// How often it was rung.
    rings: AtomicU64,
    waiting: Notify,
    /// Whether the ringer is on its way. What happens until it comes is told by one ring.
    is_due: AtomicBool,
}

/// A moment in the life of a bell: the number of its rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ring(u64);

/// A bell that is to be rung.
pub(super) struct Wake {
    pub(super) bell: Arc<Bell>,
    pub(super) watchers: usize,
}

impl Bell {
    /// The newest ring. What is read after this call has all that was told by it.
    pub(super) fn newest(&self) -> Ring {
        Ring(self.rings.load(Ordering::Acquire))
    }

    /// Waits for a newer ring than this. Cancel safe.
    pub(super) async fn after(&self, ring: Ring) {
        // Heard from here on, so that a ring after the comparison is not missed.
        let rung = self.waiting.notified();
        if self.newest() == ring {
            rung.await;
        }
    }

    fn ring(&self) {
        // Not due before it is rung, so that what happens from now on makes it due again.
        self.is_due.swap(false, Ordering::AcqRel);
        self.rings.fetch_add(1, Ordering::AcqRel);
        self.waiting.notify_waiters();
    }

    /// Whether the ringer must be told.
    fn becomes_due(&self) -> bool {
        !self.is_due.swap(true, Ordering::AcqRel)
    }
}

/// The feeder's end of the ringer. The ringer ends with it.
pub(super) struct Ringer(mpsc::Sender<Vec<Arc<Bell>>>);

impl Ringer {
    /// Starts the ringer. Must be called on a tokio runtime.
    pub(super) fn start() -> Self {
        let (sender, receiver) = mpsc::channel(RINGER_QUEUE_MAX);
        tokio::spawn(ring_in_turn(receiver));
        Self(sender)
    }

    /// Has all watchers woken that hear these bells.
    pub(super) fn wake(&self, wakes: Vec<Wake>) {
        let mut due = Vec::new();
        for Wake { bell, watchers } in wakes {
            if watchers <= INLINE_WAKES_MAX {
                bell.ring();
            } else if bell.becomes_due() {
                due.push(bell);
            }
        }
        if !due.is_empty()
            && let Err(refused) = self.0.try_send(due)
        {
            refused.into_inner().iter().for_each(|bell| bell.ring());
        }
    }
}

/// Rings one bell after the other, and goes behind the watchers that it wakes: the next one is rung
/// when these have been served. A bell that is due again goes to the end, so that under load each
/// round tells all that happened since the last, and nobody is woken twice while others wait.
async fn ring_in_turn(mut received: mpsc::Receiver<Vec<Arc<Bell>>>) {
    let mut due: VecDeque<Arc<Bell>> = VecDeque::new();
    loop {
        match due.pop_front() {
            Some(bell) => {
                bell.ring();
                turn::give().await;
            }
            None => match received.recv().await {
                Some(bells) => due.extend(bells),
                None => return,
            },
        }
        while let Ok(bells) = received.try_recv() {
            due.extend(bells);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use parking_lot::Mutex;

    use super::*;

    fn many(bell: &Arc<Bell>) -> Wake {
        Wake {
            bell: Arc::clone(bell),
            watchers: INLINE_WAKES_MAX + 1,
        }
    }

    #[test]
    fn a_ring_between_looking_and_waiting_is_heard() {
        let bell = Bell::default();
        let looked = bell.newest();
        assert!(bell.after(looked).now_or_never().is_none());
        bell.ring();
        assert!(bell.after(looked).now_or_never().is_some());
        assert!(bell.after(bell.newest()).now_or_never().is_none());
    }

    #[tokio::test]
    async fn what_happens_before_the_ringer_comes_is_told_by_one_ring() {
        let (bell, ringer) = (Arc::new(Bell::default()), Ringer::start());
        ringer.wake(vec![many(&bell)]);
        ringer.wake(vec![many(&bell)]);
        assert_eq!(bell.newest(), Ring(0));
        bell.after(Ring(0)).await;
        turn::give().await;
        assert_eq!(bell.newest(), Ring(1));
        ringer.wake(vec![many(&bell)]);
        bell.after(Ring(1)).await;
        assert_eq!(bell.newest(), Ring(2));
    }

    #[tokio::test]
    async fn a_few_watchers_are_woken_without_the_ringer() {
        let (bell, ringer) = (Arc::new(Bell::default()), Ringer::start());
        let watchers = INLINE_WAKES_MAX;
        let few = || {
            let bell = Arc::clone(&bell);
            Wake { bell, watchers }
        };
        ringer.wake(vec![few()]);
        ringer.wake(vec![few()]);
        assert_eq!(bell.newest(), Ring(2));
    }

    #[tokio::test]
    async fn a_feeder_that_the_ringer_cannot_follow_rings_by_itself() {
        let ringer = Ringer::start();
        let bells: Vec<Arc<Bell>> = (0..=RINGER_QUEUE_MAX).map(|_| Arc::default()).collect();
        for bell in &bells {
            ringer.wake(vec![many(bell)]);
        }
        let rung = |bell: &&Arc<Bell>| bell.newest() == Ring(1);
        assert_eq!(bells.iter().filter(rung).count(), 1);
        for bell in &bells {
            bell.after(Ring(0)).await;
        }
    }

    #[tokio::test]
    async fn the_next_bell_is_rung_when_those_who_heard_the_one_before_have_run() {
        let bells = [Arc::new(Bell::default()), Arc::new(Bell::default())];
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = tokio::task::JoinSet::new();
        for bell in [0, 1, 0, 1, 0, 1] {
            let (bells, heard) = (bells.clone(), Arc::clone(&heard));
            tasks.spawn(async move {
                bells[bell].after(Ring(0)).await;
                heard.lock().push((bell, bells[1].newest()));
            });
        }
        turn::give().await;
        let ringer = Ringer::start();
        ringer.wake(bells.iter().map(many).collect());
        tasks.join_all().await;
        let (first, second) = ((0, Ring(0)), (1, Ring(1)));
        let heard = heard.lock();
        assert_eq!(*heard, [first, first, first, second, second, second]);
    }
}
