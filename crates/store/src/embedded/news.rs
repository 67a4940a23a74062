//! The way back from the writer: what came of a group of commits, to all who wait for it.

use std::vec;

use tokio::{
    runtime::Handle,
    sync::{oneshot, watch},
};

use crate::{CommitError, Revision};

/// What became of a commit.
pub(crate) type Answer = Result<Revision, CommitError>;

/// The answers to a group, and the news for followers that there is something to see. All of it is
/// told at the latest when this is dropped.
pub(crate) struct News<T> {
    published: watch::Sender<T>,
    answers: vec::IntoIter<(oneshot::Sender<Answer>, Answer)>,
}

impl<T: Send + Sync + 'static> News<T> {
    /// News of what has been published without a word.
    pub(crate) fn new(
        published: &watch::Sender<T>,
        answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    ) -> Self {
        Self {
            published: published.clone(),
            answers: answers.into_iter(),
        }
    }

    /// Tells everybody, from within the runtime: it is woken once, and its own threads wake tasks
    /// without a further call to the system.
    pub(crate) fn spread(self) {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move { drop(self) })),
            Err(_) => drop(self),
        }
    }
}

impl<T> Drop for News<T> {
    fn drop(&mut self) {
        self.published.send_modify(|_| {});
        for (reply, answer) in self.answers.by_ref() {
            // Whoever asked may have stopped waiting.
            let _ = reply.send(answer);
        }
    }
}

/// Lets readers see something new; followers that wait are not told yet.
pub(crate) fn publish_silently<T>(published: &watch::Sender<T>, mut next: T) {
    published.send_if_modified(|current| {
        std::mem::swap(current, &mut next);
        false
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    type Receivers = Vec<oneshot::Receiver<Answer>>;

    fn group(answers: u64) -> (News<u64>, watch::Receiver<u64>, Receivers) {
        let (published, follower) = watch::channel(0);
        let (replies, receivers): (Vec<_>, Vec<_>) = (0..answers)
            .map(|number| {
                let (reply, receiver) = oneshot::channel();
                ((reply, Ok(Revision::new(number))), receiver)
            })
            .unzip();
        publish_silently(&published, 1);
        assert!(!follower.has_changed().unwrap());
        (News::new(&published, replies), follower, receivers)
    }

    #[tokio::test]
    async fn everybody_is_told_and_gets_the_own_answer() {
        for answers in 0..4 {
            let (news, mut follower, receivers) = group(answers);
            let _stays_open = news.published.clone();
            news.spread();
            follower.changed().await.unwrap();
            assert_eq!(*follower.borrow(), 1);
            for (number, receiver) in receivers.into_iter().enumerate() {
                assert_eq!(receiver.await.unwrap(), Ok(Revision::new(number as u64)));
            }
        }
    }

    #[tokio::test]
    async fn who_stopped_waiting_keeps_no_answer_from_the_others() {
        let (news, _, mut receivers) = group(3);
        let last = receivers.pop().unwrap();
        drop(receivers);
        news.spread();
        assert_eq!(last.await.unwrap(), Ok(Revision::new(2)));
    }

    #[test]
    fn a_runtime_that_ends_meanwhile_keeps_nothing_back() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.unwrap();
        let (news, follower, receivers) = group(3);
        let _stays_open = news.published.clone();
        {
            let _within = runtime.enter();
            news.spread();
        }
        assert!(!follower.has_changed().unwrap());
        drop(runtime);
        assert!(follower.has_changed().unwrap());
        for (number, mut receiver) in receivers.into_iter().enumerate() {
            let answer = receiver.try_recv().unwrap();
            assert_eq!(answer, Ok(Revision::new(number as u64)));
        }
    }
}
