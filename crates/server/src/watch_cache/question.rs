//! How far is the store? Asked once for all who want to know at the same time.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use listwatch_store::{Read, ReadError, Revision, Store};
use parking_lot::Mutex;
use tokio::{sync::watch, time::timeout};

/// How long a question may stay unanswered. Then it is given up, and the next one is sent.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(10);

/// Asks a store for its newest revision.
///
/// Whoever asks gets the answer to a question that was sent after it came, and which therefore has
/// every commit acknowledged by then. At most one question is under way and one more waits:
///
/// ```text
/// a comes          question 1 is sent, for a
/// b and c come     they wait, since question 1 may have been answered before they came
/// answer 1 comes   for a; question 2 is sent, for b and c
/// ```
pub(super) struct NewestQuestion {
    store: Arc<dyn Store>,
    /// Whether the store has ever taken its time. One that never has is asked by each for itself,
    /// which costs less than to share.
    takes_time: AtomicBool,
    rounds: Mutex<Rounds>,
}

type Answer = Result<Revision, ReadError>;
type Answered = watch::Sender<Option<Answer>>;

/// Which questions there are.
enum Rounds {
    /// None.
    Idle,
    /// One is under way.
    Asking,
    /// One is under way. Those who came since wait for the next.
    AskingWithNext(Answered),
}

impl NewestQuestion {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            takes_time: AtomicBool::new(false),
            rounds: Mutex::new(Rounds::Idle),
        }
    }

    /// Whether the store has ever taken its time to answer.
    pub(super) fn takes_time(&self) -> bool {
        self.takes_time.load(Ordering::Relaxed)
    }

    /// The answer of a store that needs no waiting for it.
    pub(super) fn ask_at_once(&self) -> Option<Answer> {
        if self.takes_time() {
            return None;
        }
        let mut read = self.store.read(Read::revision_only());
        let mut context = Context::from_waker(Waker::noop());
        match read.as_mut().poll(&mut context) {
            Poll::Ready(page) => Some(page.map(|page| page.revision)),
            Poll::Pending => {
                self.takes_time.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// The newest revision, which has every commit acknowledged before this was called.
    pub(super) async fn ask(self: &Arc<Self>) -> Answer {
        if let Some(answer) = self.ask_at_once() {
            return answer;
        }
        let mut answered = self.join();
        let answer = answered.wait_for(Option::is_some).await;
        let answer = answer.ok().and_then(|answer| answer.clone());
        answer.unwrap_or_else(|| {
            Err(ReadError::Unavailable {
                reason: "nobody asks the store any more".to_owned(),
            })
        })
    }

    /// Joins those who wait for a question that has not been sent.
    fn join(self: &Arc<Self>) -> watch::Receiver<Option<Answer>> {
        let mut rounds = self.rounds.lock();
        if let Rounds::AskingWithNext(next) = &*rounds {
            return next.subscribe();
        }
        let (round, answered) = watch::channel(None);
        *rounds = match *rounds {
            Rounds::Idle => {
                tokio::spawn(Arc::clone(self).answer(round));
                Rounds::Asking
            }
            Rounds::Asking | Rounds::AskingWithNext(_) => Rounds::AskingWithNext(round),
        };
        answered
    }

    /// Asks for one round after the other, until nobody waits.
    async fn answer(self: Arc<Self>, mut round: Answered) {
        loop {
            round.send_replace(Some(self.read().await));
            let mut rounds = self.rounds.lock();
            match mem::replace(&mut *rounds, Rounds::Asking) {
                Rounds::AskingWithNext(next) => round = next,
                Rounds::Idle | Rounds::Asking => {
                    *rounds = Rounds::Idle;
                    return;
                }
            }
        }
    }

    async fn read(&self) -> Answer {
        let read = self.store.read(Read::revision_only());
        match timeout(ANSWER_WAIT_MAX, read).await {
            Ok(page) => page.map(|page| page.revision),
            Err(_) => Err(ReadError::Overloaded {
                reason: format!("it did not tell its revision in {ANSWER_WAIT_MAX:?}"),
            }),
        }
    }
}
