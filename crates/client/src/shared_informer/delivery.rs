//! The task that calls one handler.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;
use tracing::{error, warn};

use super::{Handler, PanicPolicy, cursor::Cursor, registration::Tally};
use crate::Notification;

/// Calls made before others on the same thread get a turn.
const CALLS_PER_TURN: usize = 128;

/// A call that takes longer while [`SLOW_PENDING`] changes wait is worth a line in the log.
const SLOW_CALL: Duration = Duration::from_millis(100);

/// Changes that make a slow call worth a line in the log.
const SLOW_PENDING: u64 = 1024;

/// One handler and what belongs to it.
pub(super) struct Delivery<H> {
    pub(super) handler: H,
    pub(super) name: String,
    pub(super) panics: PanicPolicy,
    pub(super) tally: Arc<Tally>,
    pub(super) metrics: HandlerMetrics,
}

/// Where a handler's numbers go.
pub(super) struct HandlerMetrics {
    pending: metrics::Gauge,
    seconds: metrics::Histogram,
    panics: metrics::Counter,
}

impl HandlerMetrics {
    pub(super) fn new(informer: &str, handler: &str) -> Self {
        let labels = [
            ("informer", informer.to_owned()),
            ("handler", handler.to_owned()),
        ];
        Self {
            pending: metrics::gauge!("listwatch_handler_pending_changes", &labels),
            seconds: metrics::histogram!("listwatch_handler_seconds", &labels),
            panics: metrics::counter!("listwatch_handler_panics_total", &labels),
        }
    }
}

impl<H> Delivery<H> {
    /// Tells the handler everything until its cursor ends. The handler is dropped before the
    /// cursor, whose end is what others wait for.
    pub(super) async fn run<T>(mut self, mut cursor: Cursor<T>)
    where
        H: Handler<T>,
    {
        while cursor.fill().await.is_ok() {
            self.deliver(&mut cursor);
            tokio::task::yield_now().await;
        }
        drop(self.handler);
    }

    fn deliver<T>(&mut self, cursor: &mut Cursor<T>)
    where
        H: Handler<T>,
    {
        self.metrics.pending.set(to_f64(cursor.ticket().pending()));
        let mut begun = Instant::now();
        for _ in 0..CALLS_PER_TURN {
            let Some(notification) = cursor.next() else {
                break;
            };
            self.call(notification, cursor);
            cursor.settle();
            let ended = Instant::now();
            self.measure(ended - begun, cursor);
            begun = ended;
        }
    }

    fn call<T>(&mut self, notification: Notification<T>, cursor: &Cursor<T>)
    where
        H: Handler<T>,
    {
        self.tally.count_delivered();
        let handler = &mut self.handler;
        // A handler whose state a panic left half changed is its author's business: the policy
        // says whether it goes on.
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler.notify(notification))) else {
            return;
        };
        self.tally.count_panic();
        self.metrics.panics.increment(1);
        error!(
            handler = self.name,
            panic = message(&*panic),
            "a handler panicked"
        );
        if self.panics == PanicPolicy::Remove {
            cursor.ticket().end();
        }
    }

    fn measure<T>(&self, took: Duration, cursor: &Cursor<T>) {
        self.metrics.seconds.record(took);
        let pending = cursor.ticket().pending();
        if took > SLOW_CALL && pending > SLOW_PENDING {
            warn!(handler = self.name, ?took, pending, "a handler is slow");
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
fn to_f64(count: u64) -> f64 {
    count as f64
}
