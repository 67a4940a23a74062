//! A source in memory that does what a test tells it to: changes, losses, errors, silence.

mod answers;
mod request;
mod state;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::state::{Delivery, End, State};
use crate::{
    InitialEvents, Labels, ObjectKey, RawEvent, SourceError, Version,
    lister_watcher::{Bookmark, Unreadable},
};

pub use self::{
    request::{Request, RequestKind},
    state::Checkpoint,
};

/// Objects, their changes and a version that counts the changes, with every fault a test may want.
///
/// Clones are the same source, so that a test keeps one and gives the other to the code it tests.
/// Objects are known by key and body; what a body means is the decoder's business.
///
/// ```
/// use listwatch::source::ScriptedSource;
///
/// let source = ScriptedSource::new();
/// source.put("default/web", r#"{"replicas": 1}"#);
/// source.put("default/web", r#"{"replicas": 2}"#);
/// assert_eq!(source.version().to_string(), "3");
/// ```
#[derive(Clone)]
pub struct ScriptedSource {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

impl ScriptedSource {
    /// An empty source at version 1.
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State::new()),
                changed: Notify::new(),
            }),
        }
    }

    /// The version of the last change.
    pub fn version(&self) -> Version {
        self.look(|state| state.version.into())
    }

    /// Every key with the version and the body of its object.
    pub fn objects(&self) -> Vec<(ObjectKey, Version, Bytes)> {
        self.look(|state| {
            let objects = state.objects.values();
            objects
                .map(|raw| (raw.key.clone(), raw.version.clone(), raw.body.clone()))
                .collect()
        })
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.look(|state| state.requests.clone())
    }

    /// How many watches are open.
    pub fn open_watches(&self) -> usize {
        self.look(|state| state.open_watches())
    }

    /// Waits until a watch is open and everything for it has been read.
    pub async fn watched(&self) {
        loop {
            let changed = self.shared.changed.notified();
            if self.look(|state| state.is_watched()) {
                return;
            }
            changed.await;
        }
    }
}

/// Changes. Each takes the next version and is told to the open watches.
impl ScriptedSource {
    /// A new object with a uid of its own, or a new body for the object of that name.
    pub fn put(&self, key: &str, body: impl Into<Bytes>) -> Version {
        self.with(|state| state.put(key.into(), None, body.into(), Delivery::Told))
    }

    /// The same with labels, which stay until they are given anew.
    pub fn put_labelled(&self, key: &str, labels: Labels, body: impl Into<Bytes>) -> Version {
        self.with(|state| state.put(key.into(), Some(labels), body.into(), Delivery::Told))
    }

    /// The end of an object.
    pub fn delete(&self, key: &str) -> Version {
        self.with(|state| state.delete(key.into(), Delivery::Told))
    }

    /// Like [`ScriptedSource::put`], but the open watches are not told. A later watch is.
    pub fn put_unseen(&self, key: &str, body: impl Into<Bytes>) -> Version {
        self.with(|state| state.put(key.into(), None, body.into(), Delivery::Lost))
    }

    /// Like [`ScriptedSource::delete`], but the open watches are not told. A later watch is.
    pub fn delete_unseen(&self, key: &str) -> Version {
        self.with(|state| state.delete(key.into(), Delivery::Lost))
    }

    /// Lets the version grow without a change here, as changes elsewhere do.
    pub fn pass_versions(&self, count: u64) -> Version {
        self.with(|state| {
            state.version += count;
            state.version.into()
        })
    }

    /// Sends the open watches a bookmark of the present version.
    pub fn bookmark(&self) {
        self.with(|state| {
            let bookmark = Bookmark::Progress(state.version.into());
            state.send(&RawEvent::Bookmark(bookmark));
        });
    }

    /// Sends the open watches anything at all.
    pub fn send(&self, event: &RawEvent) {
        self.with(|state| state.send(event));
    }
}

/// Faults, and what a source need not be able to do.
impl ScriptedSource {
    /// Ends the open watches in good order.
    pub fn end_watches(&self) {
        self.with(|state| state.end_watches(&End::InGoodOrder));
    }

    /// Ends the open watches with an error.
    pub fn break_watches(&self, error: SourceError) {
        self.with(|state| state.end_watches(&End::Failed(error)));
    }

    /// Answers the next `times` requests of a kind with an error.
    pub fn refuse(&self, kind: RequestKind, error: SourceError, times: usize) {
        self.with(|state| state.refuse(kind, &error, times));
    }

    /// Leaves requests of a kind without an answer until [`ScriptedSource::release`].
    pub fn hold(&self, kind: RequestKind) {
        self.with(|state| state.hold(kind));
    }

    /// Answers what was held.
    pub fn release(&self) {
        self.with(State::release);
    }

    /// Takes back the errors that no request has met yet, and answers what was held.
    pub fn forgive(&self) {
        self.with(State::forgive);
    }

    /// Forgets all changes up to now: a watch from an older version has expired.
    pub fn expire_history(&self) {
        self.with(State::expire_history);
    }

    /// Whether watches can begin with the state.
    pub fn set_initial_events(&self, initial_events: InitialEvents) {
        self.with(|state| state.initial_events = initial_events);
    }

    /// Leaves out the bookmark that ends a state. [`ScriptedSource::send`] can send it later.
    pub fn withhold_initial_events_end(&self) {
        self.with(|state| state.withhold_initial_events_end());
    }

    /// Honours every limit, as a source without a cache does. By default only lists of the most
    /// recent state have pages.
    pub fn page_every_list(&self) {
        self.with(|state| state.page_every_list());
    }

    /// Gives every list in pages of this size, whatever was asked for.
    pub fn force_pages_of(&self, size: usize) {
        self.with(|state| state.force_pages_of(size));
    }

    /// Puts something unreadable at the beginning of every list.
    pub fn list_unreadable(&self, unreadable: Unreadable) {
        self.with(|state| state.list_unreadable(unreadable));
    }

    /// Lets watches go on after their time.
    pub fn ignore_watch_timeouts(&self) {
        self.with(|state| state.ignore_watch_timeouts());
    }

    /// Gives lists no version.
    pub fn leave_out_list_versions(&self) {
        self.with(|state| state.leave_out_list_versions());
    }

    /// The state as it is now.
    pub fn checkpoint(&self) -> Checkpoint {
        self.look(State::checkpoint)
    }

    /// Goes back to an earlier state and breaks all watches, as a restored backup does.
    pub fn restore(&self, checkpoint: Checkpoint) {
        self.with(|state| state.restore(checkpoint));
    }

    fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        self.shared.with(act)
    }

    fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&self.shared.state.lock())
    }
}

impl Shared {
    fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        let result = act(&mut self.state.lock());
        self.changed.notify_waiters();
        result
    }
}

impl Default for ScriptedSource {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ScriptedSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.state.lock();
        formatter
            .debug_struct("ScriptedSource")
            .field("version", &state.version)
            .field("objects", &state.objects.len())
            .finish_non_exhaustive()
    }
}
