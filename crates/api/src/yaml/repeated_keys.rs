//! On which lines of a text keys stand again. Runs only over texts in which some do.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::go_text;

/// Keys that are told; the others are taken in silence.
const TOLD_MAX: usize = 100;

/// A key that stood in its map before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedKey {
    /// The line on which it stands again, counted from one.
    pub line: u64,
    /// The key.
    pub key: String,
}

impl fmt::Display for RepeatedKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = go_text::quote(&self.key);
        write!(
            formatter,
            "line {}: key {key} already set in map",
            self.line
        )
    }
}

/// The keys that stand again, in the order of the text; none if it cannot be read.
pub(super) fn find(text: &str) -> Vec<RepeatedKey> {
    let found = RefCell::default();
    let read =
        serde_saphyr::with_deserializer_from_str_with_options(text, super::options(), |yaml| {
            Walk { found: &found }.deserialize(yaml)
        });
    match read {
        Ok(()) => found.into_inner(),
        Err(_) => Vec::new(),
    }
}

/// Goes through a value and keeps nothing but repeated keys.
#[derive(Clone, Copy)]
struct Walk<'a> {
    found: &'a RefCell<Vec<RepeatedKey>>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any YAML value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(()) = elements.next_element_seed(self)? {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = members.next_key::<Spanned<String>>()? {
            let line = key.referenced.line();
            let key = key.value;
            let mut found = self.found.borrow_mut();
            if seen.contains(&key) && found.len() < TOLD_MAX {
                let key = key.clone();
                found.push(RepeatedKey { line, key });
            }
            drop(found);
            seen.insert(key);
            members.next_value_seed(self)?;
        }
        Ok(())
    }
}
