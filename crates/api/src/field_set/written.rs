//! Looks into a set of fields where it is written, without reading all of it.
//!
//! It reads what [`super::FieldSet::to_fields_v1`] writes; in any other text it finds less.

use super::Step;
use crate::object::Members;

/// How a set says that a field is in it, beside what is below that field.
const ITSELF: &str = ".";

/// What is written of the field one step away.
pub(super) fn find<'a>(fields: &'a str, step: &Step) -> Option<&'a str> {
    let mut key = Vec::with_capacity(64);
    step.append_key(&mut key);
    let key = &key[1..key.len() - 1];
    let mut members = Members::of(fields);
    members
        .find(|(found, _)| found.as_bytes() == key)
        .map(|(_, value)| value)
}

/// Whether a field of which this is written is in the set.
pub(super) fn is_member(written: &str) -> bool {
    written == "{}" || Members::of(written).any(|(key, _)| key == ITSELF)
}
