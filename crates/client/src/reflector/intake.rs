//! Raw objects and events to what the queue takes. What cannot be decoded is set aside here.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::status::Reporter;
use crate::{
    Cache, DecodeError, Decoder, Deletion, Delta, Object, ObjectKey, RawEvent, RawObject, SetAside,
    Snapshot,
    lister_watcher::{Bookmark, Unreadable},
};

/// Decodes each state of each object once.
pub(super) struct Intake<T> {
    decoder: Decoder<T>,
    known: Option<Cache<T>>,
    on_set_aside: Arc<SetAsideHook>,
}

type SetAsideHook = dyn Fn(SetAside) + Send + Sync;

/// What became of an object of a list.
pub(super) enum Taken<T> {
    Object(Arc<Object<T>>),
    SetAside(ObjectKey),
}

/// What was cached when a list began.
pub(super) struct Known<T>(Option<Snapshot<T>>);

impl<T> Intake<T> {
    pub(super) fn new(decoder: Decoder<T>) -> Self {
        Self {
            decoder,
            known: None,
            on_set_aside: Arc::new(|_| {}),
        }
    }

    pub(super) fn know(&mut self, cache: Cache<T>) {
        self.known = Some(cache);
    }

    pub(super) fn on_set_aside(&mut self, hook: impl Fn(SetAside) + Send + Sync + 'static) {
        self.on_set_aside = Arc::new(hook);
    }

    pub(super) fn known(&self) -> Known<T> {
        Known(self.known.as_ref().map(Cache::snapshot))
    }

    /// An object of the whole state.
    pub(super) fn object(&self, raw: RawObject, known: &Known<T>, reporter: &Reporter) -> Taken<T> {
        if let Some(object) = known.find(&raw) {
            return Taken::Object(object);
        }
        match self.decode(&raw) {
            Ok(object) => Taken::Object(object),
            Err(error) => {
                let key = raw.key.clone();
                self.set_aside(raw, error, reporter);
                Taken::SetAside(key)
            }
        }
    }

    /// An event of a watch. One that sets an object aside still moves the version on.
    pub(super) fn event(&self, event: RawEvent, reporter: &Reporter) -> Option<Delta<T>> {
        match event {
            RawEvent::Added(raw) => Some(self.present(raw, Delta::Added, reporter)),
            RawEvent::Modified(raw) => Some(self.present(raw, Delta::Updated, reporter)),
            RawEvent::Deleted(raw) => Some(Delta::Deleted(Deletion {
                last: self.decode(&raw).ok(),
                key: raw.key,
                version: raw.version,
            })),
            RawEvent::Bookmark(
                Bookmark::Progress(version) | Bookmark::InitialEventsEnd(version),
            ) => Some(Delta::Bookmark(version)),
            RawEvent::Unreadable(unreadable) => {
                self.skip(unreadable, reporter);
                None
            }
        }
    }

    /// Something in which the source found no object.
    pub(super) fn skip(&self, unreadable: Unreadable, reporter: &Reporter) {
        reporter.set_aside();
        (self.on_set_aside)(SetAside {
            key: None,
            version: None,
            raw: unreadable.raw,
            reason: unreadable.reason,
        });
    }

    fn present(
        &self,
        raw: RawObject,
        delta: fn(Arc<Object<T>>) -> Delta<T>,
        reporter: &Reporter,
    ) -> Delta<T> {
        match self.decode(&raw) {
            Ok(object) => delta(object),
            Err(error) => {
                let version = raw.version.clone();
                self.set_aside(raw, error, reporter);
                Delta::Bookmark(version)
            }
        }
    }

    fn decode(&self, raw: &RawObject) -> Result<Arc<Object<T>>, DecodeError> {
        let decoded = catch_unwind(AssertUnwindSafe(|| self.decoder.decode(raw)));
        let decoded = decoded.unwrap_or_else(|_| {
            Err(DecodeError {
                reason: "the decoder panicked".to_owned(),
            })
        });
        decoded.map(Arc::new)
    }

    fn set_aside(&self, raw: RawObject, error: DecodeError, reporter: &Reporter) {
        reporter.set_aside();
        tracing::warn!(key = %raw.key, version = %raw.version, reason = error.reason, "set aside");
        (self.on_set_aside)(SetAside {
            key: Some(raw.key),
            version: Some(raw.version),
            raw: raw.body,
            reason: error.reason,
        });
    }
}

impl<T> Known<T> {
    fn find(&self, raw: &RawObject) -> Option<Arc<Object<T>>> {
        let object = self.0.as_ref()?.get(raw.key.as_str())?;
        (object.version == raw.version && object.uid == raw.uid).then(|| Arc::clone(object))
    }
}
