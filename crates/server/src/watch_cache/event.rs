//! What happened to one object, and its frames, encoded once for all who want them.

use std::sync::Arc;

use bytes::{BufMut, Bytes};
use listwatch_api::{EventType, object::Header};
use listwatch_store::{Key, Revision};
use parking_lot::Mutex;

use super::cached_object::{CachedObject, resource_version};

/// Frames that one event keeps: a few encodings of a few event types. At the bound, frames are
/// built for each watcher.
const FRAMES_MAX: usize = 8;

/// One change of one object.
#[derive(Debug)]
pub struct Event {
    revision: Revision,
    change: Transition,
    frames: Mutex<Frames>,
}

#[derive(Debug)]
enum Transition {
    Created(Arc<CachedObject>),
    Changed {
        object: Arc<CachedObject>,
        previous: Arc<CachedObject>,
    },
    Deleted(Arc<CachedObject>),
}

#[derive(Debug)]
enum Frames {
    /// Recent: whoever builds a frame leaves it here for the others.
    Shared(Vec<(EventType, EncodingId, Bytes)>),
    /// Old: hardly anybody will ask again, so that nothing is kept.
    Cold,
}

/// Tells one way to encode events of a kind from all others: equal only if the frames are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodingId(u64);

impl EncodingId {
    /// The stored form as JSON, which is what [`Event::json_frame`] gives.
    pub const STORED_JSON: Self = Self(0);

    /// Another encoding; zero is [`Self::STORED_JSON`].
    pub const fn new(number: u64) -> Self {
        Self(number)
    }
}

impl Event {
    /// The event that leads from one state of an object to the next; `None` if there is neither.
    pub(super) fn new(
        revision: Revision,
        previous: Option<Arc<CachedObject>>,
        object: Option<Arc<CachedObject>>,
    ) -> Option<Self> {
        let change = match (previous, object) {
            (None, Some(object)) => Transition::Created(object),
            (Some(previous), Some(object)) => Transition::Changed { object, previous },
            (Some(previous), None) => Transition::Deleted(previous),
            (None, None) => return None,
        };
        Some(Self {
            revision,
            change,
            frames: Mutex::new(Frames::Shared(Vec::new())),
        })
    }

    /// The revision of the change, also for a deletion.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The key of the object.
    pub fn key(&self) -> &Key {
        match &self.change {
            Transition::Created(object)
            | Transition::Changed { object, .. }
            | Transition::Deleted(object) => object.key(),
        }
    }

    /// The state after the change; `None` if it was a deletion.
    pub fn object(&self) -> Option<&Arc<CachedObject>> {
        match &self.change {
            Transition::Created(object) | Transition::Changed { object, .. } => Some(object),
            Transition::Deleted(_) => None,
        }
    }

    /// The state before the change; `None` if it was a creation.
    pub fn previous(&self) -> Option<&Arc<CachedObject>> {
        match &self.change {
            Transition::Created(_) => None,
            Transition::Changed { previous, .. } | Transition::Deleted(previous) => Some(previous),
        }
    }

    /// The state to show to someone for whom this is an event of that type: for DELETED the last
    /// one that was selected. It is shown with the revision of the event.
    pub fn content(&self, event_type: EventType) -> &Arc<CachedObject> {
        match (&self.change, event_type) {
            (Transition::Created(object) | Transition::Deleted(object), _) => object,
            (Transition::Changed { previous, .. }, EventType::Deleted) => previous,
            (Transition::Changed { object, .. }, _) => object,
        }
    }

    /// The frame for an event of this type in this encoding, built by the first who asks while the
    /// others wait; `build` must not ask for a frame of the same event.
    pub fn frame(
        &self,
        event_type: EventType,
        encoding: EncodingId,
        build: impl FnOnce() -> Bytes,
    ) -> Bytes {
        let mut frames = self.frames.lock();
        let Frames::Shared(shared) = &mut *frames else {
            drop(frames);
            return build();
        };
        let known = shared.iter().find(|(known_type, known_encoding, _)| {
            *known_type == event_type && *known_encoding == encoding
        });
        if let Some((_, _, frame)) = known {
            return frame.clone();
        }
        let frame = build();
        if shared.len() < FRAMES_MAX {
            shared.push((event_type, encoding, frame.clone()));
        }
        frame
    }

    /// The frame for an event of this type in this encoding, if somebody has asked before.
    pub(crate) fn known_frame(&self, event_type: EventType, encoding: EncodingId) -> Option<Bytes> {
        let Frames::Shared(shared) = &*self.frames.lock() else {
            return None;
        };
        let mut known = shared.iter();
        let known = known.find(|known| (known.0, known.1) == (event_type, encoding));
        known.map(|(_, _, frame)| frame.clone())
    }

    /// The watch frame `{"type":…,"object":…}` of the stored form, with a line end.
    pub fn json_frame(&self, event_type: EventType) -> Bytes {
        self.frame(event_type, EncodingId::STORED_JSON, || {
            let content = self.content(event_type);
            let mut frame = Vec::with_capacity(frame_len(content));
            append_json_frame(
                event_type,
                content,
                self.revision,
                Header::Stored,
                &mut frame,
            );
            frame.into()
        })
    }

    /// Bytes that only this event keeps from being freed. The state after it is either the present
    /// one, or it is the state before a later event.
    pub(super) fn retained_bytes(&self) -> usize {
        const OVERHEAD: usize = size_of::<Event>() + size_of::<CachedObject>();
        let value = |object: &Arc<CachedObject>| object.stored().value().len();
        OVERHEAD + self.previous().map_or(0, value)
    }

    /// Gives up the shared frames.
    pub(super) fn cool(&self) {
        *self.frames.lock() = Frames::Cold;
    }
}

/// How many bytes a frame of the object takes, or a little less than this.
pub fn frame_len(object: &CachedObject) -> usize {
    const AROUND: usize = "{\"type\":\"MODIFIED\",\"object\":}\n".len();
    object.stored().appended_len() + AROUND
}

/// Appends `{"type":…,"object":…}` and a line end, with the object at that revision.
pub fn append_json_frame(
    event_type: EventType,
    object: &CachedObject,
    revision: Revision,
    header: Header<'_>,
    buffer: &mut impl BufMut,
) {
    buffer.put_slice(b"{\"type\":\"");
    buffer.put_slice(event_type.as_str().as_bytes());
    buffer.put_slice(b"\",\"object\":");
    object
        .stored()
        .append(header, resource_version(revision), buffer);
    buffer.put_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{registry::Scope, watch_cache::KindLayout};

    fn object(revision: u64, value: &str) -> Option<Arc<CachedObject>> {
        let layout = KindLayout::new("/registry/things/", Scope::Namespaced, []);
        let key = Key::new("/registry/things/default/a");
        let value = Bytes::from(value.to_owned());
        let object = CachedObject::read(&layout, key, Revision::new(revision), value);
        Some(Arc::new(object.unwrap()))
    }

    fn change() -> Event {
        let before = object(3, r#"{"kind":"Thing","metadata":{"uid":"u"},"data":1}"#);
        let after = object(5, r#"{"kind":"Thing","metadata":{"uid":"u"},"data":2}"#);
        Event::new(Revision::new(5), before, after).unwrap()
    }

    fn text(frame: &Bytes) -> &str {
        std::str::from_utf8(frame).unwrap()
    }

    #[test]
    fn a_frame_is_one_line_with_the_new_state() {
        assert_eq!(
            text(&change().json_frame(EventType::Modified)),
            concat!(
                r#"{"type":"MODIFIED","object":{"kind":"Thing","metadata":{"uid":"u","#,
                r#""resourceVersion":"5"},"data":2}}"#,
                "\n"
            )
        );
    }

    #[test]
    fn an_object_that_leaves_is_shown_as_it_was_with_the_new_revision() {
        assert_eq!(
            text(&change().json_frame(EventType::Deleted)),
            concat!(
                r#"{"type":"DELETED","object":{"kind":"Thing","metadata":{"uid":"u","#,
                r#""resourceVersion":"5"},"data":1}}"#,
                "\n"
            )
        );
    }

    #[test]
    fn a_frame_is_built_once_for_each_type_and_encoding() {
        let event = change();
        let mut built = 0;
        for (event_type, encoding) in [
            (EventType::Added, EncodingId::new(1)),
            (EventType::Added, EncodingId::new(1)),
            (EventType::Added, EncodingId::new(2)),
            (EventType::Deleted, EncodingId::new(1)),
            (EventType::Added, EncodingId::new(2)),
        ] {
            event.frame(event_type, encoding, || {
                built += 1;
                Bytes::from_static(b"frame")
            });
        }
        assert_eq!(built, 3);
    }

    #[test]
    fn a_frame_fits_into_the_room_made_for_it() {
        let event = change();
        let content = event.content(EventType::Modified);
        assert!(event.json_frame(EventType::Modified).len() <= frame_len(content));
    }
}
