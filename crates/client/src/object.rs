//! An object in the cache: what every source can say of it, and the body in the user's own type.

use std::{borrow::Borrow, fmt, ops::Deref, sync::Arc};

use crate::Version;

/// The name of an object within its kind: `namespace/name`, or `name` without a namespace.
///
/// Ordered as text, so that all objects of one namespace stand together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// The key of an object in a namespace, or of one outside of any.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) if !namespace.is_empty() => [namespace, "/", name].concat().into(),
            Some(_) | None => name.into(),
        }
    }

    /// What stands before the first slash.
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    /// What stands after the first slash, or everything when there is none.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// The whole key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for ObjectKey {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for ObjectKey {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Tells an object from a later one of the same name.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Uid(UidForm);

#[derive(Clone, PartialEq, Eq, Hash)]
enum UidForm {
    /// What Kubernetes uses, kept in place of its 36 characters.
    Uuid([u8; 16]),
    Text(Arc<str>),
}

impl Uid {
    /// The uid with this text; `None` if it is empty.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let form = uuid(text.as_bytes()).map(UidForm::Uuid);
        Some(Self(form.unwrap_or_else(|| UidForm::Text(text.into()))))
    }
}

/// The number in `01234567-89ab-cdef-0123-456789abcdef`, which is written with small letters.
fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.try_into().ok()?;
    let digit = |character: u8| match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    };
    let mut number = [0; 16];
    let mut at = 0;
    for (position, byte) in number.iter_mut().enumerate() {
        if UUID_DASHES_BEFORE.contains(&position) {
            (text[at] == b'-').then_some(())?;
            at += 1;
        }
        *byte = digit(text[at])? << 4 | digit(text[at + 1])?;
        at += 2;
    }
    Some(number)
}

/// The bytes of a UUID that a dash is written before.
const UUID_DASHES_BEFORE: [usize; 4] = [4, 6, 8, 10];

impl fmt::Display for Uid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match &self.0 {
            UidForm::Text(text) => return text.fmt(formatter),
            UidForm::Uuid(number) => number,
        };
        for (position, byte) in number.iter().enumerate() {
            if UUID_DASHES_BEFORE.contains(&position) {
                formatter.write_str("-")?;
            }
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The labels of an object, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Arc<[(Arc<str>, Arc<str>)]>);

impl Labels {
    /// The value of a label.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.binary_search_by(|(label, _)| (**label).cmp(name));
        found.ok().map(|position| &*self.0[position].1)
    }

    /// All labels with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether both are the same in memory.
    #[cfg(test)]
    pub(crate) fn shares_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<N: Into<Arc<str>>, V: Into<Arc<str>>> FromIterator<(N, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(labels: I) -> Self {
        let labels = labels.into_iter();
        let mut labels: Vec<_> = labels
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        labels.sort();
        Self(labels.into())
    }
}

/// One state of one object. Shared as `Arc<Object<T>>` and never changed.
///
/// It dereferences to its body, so that an `Object<Pod>` reads like a `Pod`.
#[derive(Debug)]
pub struct Object<T> {
    /// Its name.
    pub key: ObjectKey,
    /// When it came to be in this state.
    pub version: Version,
    /// Which object of this name it is, where the source tells.
    pub uid: Option<Uid>,
    /// Its labels; none where the source has no labels.
    pub labels: Labels,
    /// What the decoder made of it.
    pub body: T,
}

impl<T> Deref for Object<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_split_at_its_first_slash() {
        let key = ObjectKey::new(Some("default"), "web");
        assert_eq!((key.namespace(), key.name()), (Some("default"), "web"));
        let key = ObjectKey::new(None, "node-1");
        assert_eq!((key.namespace(), key.name()), (None, "node-1"));
        let key = ObjectKey::from("a/b/c");
        assert_eq!((key.namespace(), key.name()), (Some("a"), "b/c"));
    }

    #[test]
    fn a_uid_is_written_as_it_was_read() {
        for text in [
            "01234567-89ab-cdef-0123-456789abcdef",
            "01234567-89AB-CDEF-0123-456789ABCDEF",
            "01234567-89ab-cdef-0123_456789abcdef",
            "01234567-89ab-cdef-0123-456789abcdeg",
            "0123456789abcdef0123456789abcdef0123",
            "7",
        ] {
            assert_eq!(Uid::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Uid::parse(""), None);
    }

    #[test]
    fn labels_are_found_by_name() {
        let labels: Labels = [("tier", "front"), ("app", "web")].into_iter().collect();
        assert_eq!(labels.get("app"), Some("web"));
        assert_eq!(labels.get("zone"), None);
        let names: Vec<_> = labels.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["app", "tier"]);
    }
}
