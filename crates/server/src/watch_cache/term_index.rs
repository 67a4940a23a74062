//! Which objects carry a label or an indexed field value: an inverted index, persistent like the
//! objects themselves.

use std::{iter::Peekable, slice, sync::Arc};

use listwatch_store::{Key, KeyRange};

use super::{
    cached_object::CachedObject,
    counted_tree::{CountedTree, Iter, Keyed},
    kind_layout::{KindLayout, Lookup},
};

/// Up to this many keys a list is one flat array; most values are carried by few objects.
const FLAT_MAX: usize = 16;

/// A label or a field with its value, as bytes that name it uniquely and sort by label key.
///
/// ```text
/// label app=web              0 app":"web       as it stands in the stored object
/// third field, value n1      3 n1
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Term(Vec<u8>);

impl Term {
    /// The label with this value.
    pub(super) fn label(key: &str, value: &str) -> Self {
        let mut term = Self::label_key(key);
        term.0.extend_from_slice(value.as_bytes());
        term
    }

    /// What the terms of a label begin with, whatever its value.
    pub(super) fn label_key(key: &str) -> Self {
        let mut bytes = vec![0];
        bytes.extend_from_slice(key.as_bytes());
        bytes.extend_from_slice(br#"":""#);
        Self(bytes)
    }

    /// The field with this value, escaped as it is stored.
    pub(super) fn field(index: usize, value: &str) -> Self {
        let mut term = Self(Vec::new());
        term.set_field(index, value);
        term
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn set_label(&mut self, label: &[u8]) {
        self.0.clear();
        self.0.push(0);
        self.0.extend_from_slice(label);
    }

    fn set_field(&mut self, index: usize, value: &str) {
        let number = u8::try_from(index + 1).expect("a kind has few selectable fields");
        self.0.clear();
        self.0.push(number);
        self.0.extend_from_slice(value.as_bytes());
    }
}

/// Calls `visit` with each term of the object, one after the other in the same buffer.
pub(super) fn visit_terms(
    object: &CachedObject,
    layout: &KindLayout,
    mut visit: impl FnMut(&[u8]),
) {
    let mut term = Term(Vec::with_capacity(64));
    for label in object.stored().label_terms() {
        term.set_label(label);
        visit(term.as_bytes());
    }
    for (index, field) in layout.fields().iter().enumerate() {
        if field.lookup == Lookup::Index {
            term.set_field(index, layout.value(object.stored(), index));
            visit(term.as_bytes());
        }
    }
}

/// Whether both states of an object have the same terms.
fn same_terms(left: &CachedObject, right: &CachedObject, layout: &KindLayout) -> bool {
    let (left, right) = (left.stored(), right.stored());
    let indexed = layout.fields().iter().enumerate();
    left.label_terms().eq(right.label_terms())
        && indexed
            .filter(|(_, field)| field.lookup == Lookup::Index)
            .all(|(index, _)| layout.value(left, index) == layout.value(right, index))
}

/// For each term the keys of the objects that have it.
#[derive(Clone)]
pub(super) struct TermIndex(CountedTree<Entry>);

#[derive(Clone)]
struct Entry {
    term: Key,
    keys: Keys,
}

impl Keyed for Entry {
    fn key(&self) -> &Key {
        &self.term
    }
}

impl TermIndex {
    pub(super) fn new() -> Self {
        Self(CountedTree::new())
    }

    /// Puts `new` in the place of `old`, two states of one object.
    pub(super) fn replace(
        &mut self,
        old: Option<&CachedObject>,
        new: Option<&CachedObject>,
        layout: &KindLayout,
    ) {
        if let (Some(old), Some(new)) = (old, new)
            && same_terms(old, new, layout)
        {
            return;
        }
        if let Some(object) = old {
            visit_terms(object, layout, |term| self.remove(term, object.key()));
        }
        if let Some(object) = new {
            visit_terms(object, layout, |term| self.insert(term, object.key()));
        }
    }

    /// The keys that have the term.
    pub(super) fn keys(&self, term: &Term) -> Option<&Keys> {
        self.0.get(term.as_bytes()).map(|entry| &entry.keys)
    }

    /// The keys of each of the terms that begin with this one.
    pub(super) fn keys_beginning(&self, term: &Term) -> impl Iterator<Item = &Keys> {
        self.0
            .iter_from(term.as_bytes())
            .take_while(|entry| entry.term.as_bytes().starts_with(term.as_bytes()))
            .map(|entry| &entry.keys)
    }

    fn insert(&mut self, term: &[u8], key: &Key) {
        match self.0.get_mut(term) {
            Some(entry) => entry.keys.insert(key),
            None => drop(self.0.insert(Entry {
                term: Key::new(term),
                keys: Keys::One(key.clone()),
            })),
        }
    }

    fn remove(&mut self, term: &[u8], key: &Key) {
        let Some(entry) = self.0.get_mut(term) else {
            return;
        };
        entry.keys.remove(key);
        if entry.keys.len() == 0 {
            self.0.remove(term);
        }
    }
}

/// Keys in order.
#[derive(Clone)]
pub(super) enum Keys {
    /// Of a value that no other object has.
    One(Key),
    /// A few, copied as a whole when one comes or goes.
    Flat(Arc<[Key]>),
    /// Many.
    Tree(CountedTree<Key>),
}

impl Keys {
    /// These, which are sorted.
    fn of(mut keys: Vec<Key>) -> Self {
        match keys.len() {
            1 => Self::One(keys.remove(0)),
            0..=FLAT_MAX => Self::Flat(keys.into()),
            _ => Self::Tree(CountedTree::from_sorted(&keys)),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Flat(keys) => keys.len(),
            Self::Tree(keys) => keys.len(),
        }
    }

    /// How many lie in the range.
    pub(super) fn count(&self, range: &KeyRange) -> usize {
        let end = range.end.as_deref();
        end.map_or(self.len(), |end| self.rank(end))
            .saturating_sub(self.rank(&range.start))
    }

    /// Those not less than `start`.
    pub(super) fn iter_from(&self, start: &[u8]) -> KeysIter<'_> {
        let flat = match self {
            Self::One(key) => slice::from_ref(key),
            Self::Flat(keys) => keys,
            Self::Tree(keys) => return KeysIter::Tree(keys.iter_from(start)),
        };
        KeysIter::Flat(flat[self.rank(start)..].iter())
    }

    fn rank(&self, key: &[u8]) -> usize {
        match self {
            Self::One(only) => usize::from(only.as_bytes() < key),
            Self::Flat(keys) => keys.partition_point(|candidate| candidate.as_bytes() < key),
            Self::Tree(keys) => keys.rank(key),
        }
    }

    fn insert(&mut self, key: &Key) {
        match self {
            Self::Tree(keys) => drop(keys.insert(key.clone())),
            Self::One(_) | Self::Flat(_) => {
                let mut keys = Vec::with_capacity(self.len() + 1);
                keys.extend(self.iter_from(b"").cloned());
                if let Err(at) = keys.binary_search(key) {
                    keys.insert(at, key.clone());
                    *self = Self::of(keys);
                }
            }
        }
    }

    fn remove(&mut self, key: &Key) {
        match self {
            Self::One(_) | Self::Flat(_) => {
                let others = self.iter_from(b"").filter(|other| *other != key);
                *self = Self::of(others.cloned().collect());
            }
            Self::Tree(keys) => {
                keys.remove(key.as_bytes());
                if keys.len() <= FLAT_MAX / 2 {
                    *self = Self::of(keys.iter_from(b"").cloned().collect());
                }
            }
        }
    }
}

/// A walk through keys.
pub(super) enum KeysIter<'a> {
    Flat(slice::Iter<'a, Key>),
    Tree(Iter<'a, Key>),
}

impl<'a> Iterator for KeysIter<'a> {
    type Item = &'a Key;

    fn next(&mut self) -> Option<&'a Key> {
        match self {
            Self::Flat(keys) => keys.next(),
            Self::Tree(keys) => keys.next(),
        }
    }
}

/// Several walks as one, in order. An object has one value of a label or field, so the walks of one
/// requirement never meet.
pub(super) struct Merged<'a>(Vec<Peekable<KeysIter<'a>>>);

impl<'a> Merged<'a> {
    pub(super) fn new(lists: &[&'a Keys], start: &[u8]) -> Self {
        Self(
            lists
                .iter()
                .map(|keys| keys.iter_from(start).peekable())
                .collect(),
        )
    }
}

impl<'a> Iterator for Merged<'a> {
    type Item = &'a Key;

    fn next(&mut self) -> Option<&'a Key> {
        let heads = self.0.iter_mut().enumerate();
        let least = heads
            .filter_map(|(index, walk)| walk.peek().map(|key| (*key, index)))
            .min()?;
        self.0[least.1].next()
    }
}
