//! What a user gives to be told of changes, and how it wants to be told.

use std::{fmt, sync::Arc, time::Duration};

use crate::{Deleted, FinalState, Notification, Object, Origin};

/// Something that is told of changes, one at a time and in order.
///
/// Any `FnMut(Notification<T>)` is one. It runs on the runtime's own threads, so it should not
/// block: put work aside for a worker, or take a [`Subscription`](super::Subscription), which is
/// asked instead of called.
pub trait Handler<T>: Send + 'static {
    /// Takes one notification.
    fn notify(&mut self, notification: Notification<T>);
}

impl<T, F: FnMut(Notification<T>) + Send + 'static> Handler<T> for F {
    fn notify(&mut self, notification: Notification<T>) {
        self(notification);
    }
}

/// How a handler wants to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandlerOptions {
    /// What it is called in logs and metrics; `handler` if it has no name. Use few names.
    pub name: Option<String>,
    /// What happens when it is slow.
    pub bound: Bound,
    /// How often it is told everything again, as updates from a state to the same state. Never
    /// if there is no period, or one of zero; at most once a second
    /// ([`RESYNC_PERIOD_MIN`](super::RESYNC_PERIOD_MIN)), each period up to a tenth longer or
    /// shorter. Asks nothing of the source.
    pub resync: Option<Duration>,
    /// What happens when it panics.
    pub panics: PanicPolicy,
}

impl HandlerOptions {
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("handler")
    }
}

/// What happens when a handler is slower than the changes come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// While this many changes wait (at least one), the cache, the source and all other handlers
    /// wait for this handler. It is told every change. A batch is applied whole, so it may take
    /// the number that wait beyond this.
    Block(usize),
    /// It waits alone. Once it is [`COALESCE_CHANGES_MAX`](super::COALESCE_CHANGES_MAX) behind it
    /// goes on with the difference between the state that it saw and the present: the latest
    /// state of each object that changed, once. An object that came and went is not told.
    #[default]
    Coalesce,
    /// As `Coalesce` once it is this many changes behind (at least one), and the difference is
    /// announced by [`Notification::Lagged`].
    Drop(usize),
}

/// What happens when a handler panics. The panic is caught, counted and logged either way, and
/// nobody else notices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PanicPolicy {
    /// The notification counts as delivered and the handler gets the next.
    #[default]
    Skip,
    /// The handler is removed.
    Remove,
}

/// Tells a handler only of objects that pass a filter.
///
/// An update into the filter becomes an [`Notification::Added`], one out of it a
/// [`Notification::Deleted`] with the last state that passed. A deletion of which no state is
/// known is passed on.
pub struct Filtered<F, H> {
    passes: F,
    handler: H,
}

impl<F, H> Filtered<F, H> {
    /// A handler behind a filter. The filter must answer the same for the same state.
    pub fn new(passes: F, handler: H) -> Self {
        Self { passes, handler }
    }
}

impl<T, F, H> Handler<T> for Filtered<F, H>
where
    F: Fn(&Object<T>) -> bool + Send + 'static,
    H: Handler<T>,
{
    fn notify(&mut self, notification: Notification<T>) {
        if let Some(notification) = filter(&self.passes, notification) {
            self.handler.notify(notification);
        }
    }
}

/// What is left of a notification for those who look through a filter.
fn filter<T>(
    passes: impl Fn(&Object<T>) -> bool,
    notification: Notification<T>,
) -> Option<Notification<T>> {
    match notification {
        Notification::Added { ref object, .. } => passes(object).then_some(notification),
        Notification::Updated { old, new } => match (passes(&old), passes(&new)) {
            (true, true) => Some(Notification::Updated { old, new }),
            (true, false) => Some(left(old)),
            (false, true) => Some(Notification::Added {
                object: new,
                origin: Origin::Later,
            }),
            (false, false) => None,
        },
        Notification::Deleted(ref deleted) => {
            let told = deleted.last.as_ref().is_none_or(|last| passes(last));
            told.then_some(notification)
        }
        Notification::Lagged { .. } => Some(notification),
    }
}

fn left<T>(last: Arc<Object<T>>) -> Notification<T> {
    Notification::Deleted(Deleted {
        key: last.key.clone(),
        last: Some(last),
        final_state: FinalState::Known,
    })
}

impl<F, H: fmt::Debug> fmt::Debug for Filtered<F, H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Filtered")
            .field("handler", &self.handler)
            .finish_non_exhaustive()
    }
}
