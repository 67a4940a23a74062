//! Keys to names of objects.

use bytes::Bytes;
use listwatch_etcd::{Event, KeyValue};

use crate::{Labels, ObjectKey, RawEvent, RawObject, Uid, Version, lister_watcher::Unreadable};

/// What all keys begin with, and how the rest is read.
#[derive(Clone, Debug)]
pub(super) struct KeyNames {
    prefix: String,
}

impl KeyNames {
    pub(super) fn new(prefix: String) -> Self {
        Self { prefix }
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A key as an object.
    pub(super) fn object(&self, stored: KeyValue) -> Result<RawObject, Unreadable> {
        Ok(RawObject {
            key: self.name(&stored.key)?,
            version: Version::Number(stored.mod_revision),
            uid: uid(stored.create_revision),
            labels: Labels::default(),
            body: stored.value,
        })
    }

    /// An event with the revision that it happened at.
    pub(super) fn event(&self, event: Event) -> (u64, RawEvent) {
        match event {
            Event::Put { current, .. } => {
                let revision = current.mod_revision;
                let kind = match current.create_revision == revision {
                    true => RawEvent::Added,
                    false => RawEvent::Modified,
                };
                let event = self.object(current);
                (revision, event.map_or_else(RawEvent::Unreadable, kind))
            }
            Event::Delete {
                key,
                revision,
                previous,
            } => {
                let event = self.deleted(&key, revision, previous);
                (
                    revision,
                    event.map_or_else(RawEvent::Unreadable, RawEvent::Deleted),
                )
            }
        }
    }

    /// What is left of a deleted key; its value is empty where etcd has forgotten it.
    fn deleted(
        &self,
        key: &Bytes,
        revision: u64,
        previous: Option<KeyValue>,
    ) -> Result<RawObject, Unreadable> {
        let previous = previous.unwrap_or_default();
        Ok(RawObject {
            key: self.name(key)?,
            version: Version::Number(revision),
            uid: uid(previous.create_revision),
            labels: Labels::default(),
            body: previous.value,
        })
    }

    fn name(&self, key: &Bytes) -> Result<ObjectKey, Unreadable> {
        let unreadable = |reason: &str| Unreadable {
            raw: key.clone(),
            reason: reason.to_owned(),
        };
        let name = key.strip_prefix(self.prefix.as_bytes());
        let name = name.ok_or_else(|| unreadable("the key has another prefix"))?;
        match std::str::from_utf8(name) {
            Ok("") => Err(unreadable("the key is the prefix itself, and has no name")),
            Ok(name) => Ok(name.into()),
            Err(_) => Err(unreadable("the key is no text")),
        }
    }
}

/// A key that comes back after its deletion is another object.
fn uid(create_revision: u64) -> Option<Uid> {
    (create_revision > 0).then(|| Uid::parse(&create_revision.to_string()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(key: &'static [u8], create_revision: u64, mod_revision: u64) -> KeyValue {
        KeyValue {
            key: Bytes::from_static(key),
            create_revision,
            mod_revision,
            value: Bytes::from_static(b"value"),
            ..KeyValue::default()
        }
    }

    #[test]
    fn an_object_is_named_by_what_follows_the_prefix() {
        let names = KeyNames::new("/registry/pods/".to_owned());
        let object = names
            .object(stored(b"/registry/pods/default/web", 3, 5))
            .unwrap();
        assert_eq!(object.key, ObjectKey::new(Some("default"), "web"));
        assert_eq!(object.version, Version::Number(5));
        assert_eq!(object.uid, uid(3));
        assert_eq!(object.body, "value");
    }

    #[test]
    fn a_key_without_a_readable_name_hides_no_other() {
        let names = KeyNames::new("p/".to_owned());
        for key in [&b"p/"[..], b"p/\xff", b"q/a"] {
            let unreadable = names.object(stored(key, 1, 1)).unwrap_err();
            assert_eq!(unreadable.raw, key);
        }
    }

    #[test]
    fn a_put_is_new_or_a_change_by_its_revisions() {
        let names = KeyNames::new(String::new());
        let put = |create_revision, mod_revision| {
            let current = stored(b"a", create_revision, mod_revision);
            let previous = None;
            names.event(Event::Put { current, previous })
        };
        assert!(matches!(put(4, 4), (4, RawEvent::Added(_))));
        assert!(matches!(put(4, 6), (6, RawEvent::Modified(_))));
    }

    #[test]
    fn a_deleted_key_has_its_last_value_and_the_revision_of_its_end() {
        let names = KeyNames::new(String::new());
        let delete = |previous| {
            let key = Bytes::from_static(b"a");
            let (revision, event) = names.event(Event::Delete {
                key,
                revision: 9,
                previous,
            });
            let RawEvent::Deleted(object) = event else {
                panic!("{event:?}");
            };
            assert_eq!((revision, &object.version), (9, &Version::Number(9)));
            object
        };
        let known = delete(Some(stored(b"a", 4, 6)));
        assert_eq!((&known.body[..], known.uid), (&b"value"[..], uid(4)));
        let forgotten = delete(None);
        assert_eq!((forgotten.body.len(), forgotten.uid), (0, None));
    }
}
