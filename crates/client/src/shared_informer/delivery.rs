//! The task that calls one handler.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use tokio::{
    task::{coop::consume_budget, yield_now},
    time::Instant,
};
use tracing::{error, warn};

use super::{Handler, PanicPolicy, cursor::Cursor};
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
}

/// How a turn ended.
enum Turn {
    /// There was nothing more at hand.
    Done,
    /// There may be more.
    Interrupted,
}

impl<H> Delivery<H> {
    /// Tells the handler everything until its cursor ends. The handler is dropped before the
    /// cursor, whose end is what others wait for.
    pub(super) async fn run<T>(mut self, mut cursor: Cursor<T>)
    where
        H: Handler<T>,
    {
        while cursor.fill().await.is_ok() {
            match self.deliver(&mut cursor) {
                Turn::Done => consume_budget().await,
                Turn::Interrupted => yield_now().await,
            }
        }
        drop(self.handler);
    }

    fn deliver<T>(&mut self, cursor: &mut Cursor<T>) -> Turn
    where
        H: Handler<T>,
    {
        let mut begun = Instant::now();
        for _ in 0..CALLS_PER_TURN {
            let Some(notification) = cursor.next() else {
                return Turn::Done;
            };
            self.call(notification, cursor);
            cursor.settle();
            let ended = Instant::now();
            self.measure(ended - begun, cursor);
            begun = ended;
        }
        Turn::Interrupted
    }

    fn call<T>(&mut self, notification: Notification<T>, cursor: &Cursor<T>)
    where
        H: Handler<T>,
    {
        let tally = &cursor.ticket().tally;
        tally.count_delivered();
        let handler = &mut self.handler;
        // A handler whose state a panic left half changed is its author's business: the policy
        // says whether it goes on.
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler.notify(notification))) else {
            return;
        };
        tally.count_panic();
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
        let tally = &cursor.ticket().tally;
        tally.count_call(took);
        let pending = tally.pending();
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
