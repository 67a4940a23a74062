//! Whether the caches follow the store, for those who read them and for those who look after them.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::{sync::watch, time::Instant};

use super::CacheError;

/// Whether the caches follow the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedState {
    /// They are being filled. Nobody is served.
    Loading,
    /// What is committed is known here a moment later.
    Following,
    /// Nothing comes in. What was known is still told, and nothing of it is wrong.
    Stale {
        /// When the store was lost.
        since: Instant,
        /// What happened, for a person.
        reason: Arc<str>,
    },
}

/// How the caches have followed the store.
#[derive(Clone, Debug)]
pub struct FeedStats {
    /// Whether they do now.
    pub state: FeedState,
    /// How often the store could not be followed, each attempt counted.
    pub failures: u64,
    /// How often everything was read anew, since the store had forgotten what was missed.
    pub reloads: u64,
}

/// The state of the feed, written by the feeder alone.
pub(super) struct Feed {
    state: watch::Sender<FeedState>,
    failures: AtomicU64,
    reloads: AtomicU64,
}

impl Feed {
    pub(super) fn new() -> Self {
        Self {
            state: watch::Sender::new(FeedState::Loading),
            failures: AtomicU64::new(0),
            reloads: AtomicU64::new(0),
        }
    }

    pub(super) fn stats(&self) -> FeedStats {
        FeedStats {
            state: self.state.borrow().clone(),
            failures: self.failures.load(Ordering::Relaxed),
            reloads: self.reloads.load(Ordering::Relaxed),
        }
    }

    pub(super) fn is_following(&self) -> bool {
        *self.state.borrow() == FeedState::Following
    }

    /// The store could not be followed. Said aloud once, however often it is tried again.
    pub(super) fn lost(&self, reason: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.state.send_if_modified(|state| {
            let begins = !matches!(state, FeedState::Stale { .. });
            if begins {
                tracing::warn!(reason, "the watch cache does not follow the store any more");
                let since = Instant::now();
                let reason = reason.into();
                *state = FeedState::Stale { since, reason };
            }
            begins
        });
    }

    /// What comes next does not come, or the store has forgotten it. To caches that are being
    /// filled that is nothing new.
    pub(super) fn fell_behind(&self, reason: &str) {
        if self.is_following() {
            self.lost(reason);
        }
    }

    /// Everything was read anew.
    pub(super) fn reloaded(&self) {
        self.reloads.fetch_add(1, Ordering::Relaxed);
    }

    /// The caches have come to where the store is, and go on with it.
    pub(super) fn found(&self) {
        if self.is_following() {
            return;
        }
        let FeedStats { state, reloads, .. } = self.stats();
        if let FeedState::Stale { since, .. } = state {
            let seconds = since.elapsed().as_secs_f64();
            tracing::info!(seconds, reloads, "the watch cache follows the store again");
        }
        self.state.send_replace(FeedState::Following);
    }

    /// Waits until the caches are filled, or tells why they cannot be.
    pub(super) async fn loaded(&self) -> Result<(), CacheError> {
        let mut news = self.state.subscribe();
        let state = news.wait_for(|state| *state != FeedState::Loading).await;
        let state = state.map(|state| state.clone());
        match state.unwrap_or(FeedState::Loading) {
            FeedState::Following => Ok(()),
            FeedState::Stale { reason, .. } => Err(CacheError::Unavailable {
                reason: reason.to_string(),
            }),
            FeedState::Loading => Err(super::stopped()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Write};

    use parking_lot::Mutex;
    use tracing::{
        Event, Metadata, Subscriber,
        field::{Field, Visit},
        span::{Attributes, Id, Record},
        subscriber,
    };

    use super::*;

    /// The messages of what is logged.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<String>>>);

    struct Message(String);

    impl Visit for Message {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            if field.name() == "message" {
                write!(self.0, "{value:?}").unwrap();
            }
        }
    }

    impl Subscriber for Lines {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut message = Message(String::new());
            event.record(&mut message);
            self.0.lock().push(message.0);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_loss_is_logged_when_it_begins_and_when_it_ends_however_often_it_is_tried() {
        let lines = Lines::default();
        let _captured = subscriber::set_default(lines.clone());
        let feed = Feed::new();
        feed.found();
        assert!(lines.0.lock().is_empty(), "a start is no loss");
        for _ in 0..2 {
            feed.lost("it is away");
            feed.lost("it is still away");
            feed.fell_behind("it has forgotten");
            feed.found();
        }
        let once = [
            "the watch cache does not follow the store any more",
            "the watch cache follows the store again",
        ];
        assert_eq!(*lines.0.lock(), once.repeat(2));
        assert_eq!(feed.stats().failures, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_reason_of_a_loss_is_kept() {
        let feed = Feed::new();
        feed.found();
        feed.lost("it is away");
        let begun = Instant::now();
        tokio::time::advance(std::time::Duration::from_secs(5)).await;
        feed.lost("it is still away");
        let expected = FeedState::Stale {
            since: begun,
            reason: "it is away".into(),
        };
        assert_eq!(feed.stats().state, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn caches_that_cannot_be_filled_say_why() {
        let feed = Feed::new();
        feed.fell_behind("it has forgotten");
        assert_eq!(feed.stats().state, FeedState::Loading, "it is read anew");
        feed.lost("it is away");
        let error = feed.loaded().await.unwrap_err();
        assert_eq!(error.to_string(), "it is away");
    }
}
