//! Asks a store that is far away, now and then, whether it is still there: one that says nothing
//! may have nothing to say, or may be lost. A store that answers at once is not asked.

use std::{pin::Pin, sync::Arc, time::Duration};

use listwatch_store::Revision;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::{CacheError, origin::Origin};

/// How often the store is asked.
const BEAT_INTERVAL: Duration = Duration::from_secs(3);
/// How long it may take to answer.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(3);

/// The questions of one feeder.
pub(super) struct Heartbeat {
    origin: Arc<Origin>,
    beats: Interval,
    /// The question that is under way.
    question: Option<Question>,
}

type Question = Pin<Box<dyn Future<Output = Result<Revision, CacheError>> + Send>>;

impl Heartbeat {
    pub(super) fn new(origin: &Arc<Origin>) -> Self {
        let mut beats = interval_at(Instant::now() + BEAT_INTERVAL, BEAT_INTERVAL);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            origin: Arc::clone(origin),
            beats,
            question: None,
        }
    }

    /// Waits until the store has been asked again, and tells its newest revision. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Revision, CacheError> {
        while self.question.is_none() {
            self.beats.tick().await;
            if self.origin.newest.takes_time() {
                let origin = Arc::clone(&self.origin);
                let deadline = Instant::now() + ANSWER_WAIT_MAX;
                let question = async move { origin.newest_by(deadline).await };
                self.question = Some(Box::pin(question));
            }
        }
        let question = self.question.as_mut().expect("the loop above has set it");
        let answer = question.await;
        self.question = None;
        answer
    }
}
