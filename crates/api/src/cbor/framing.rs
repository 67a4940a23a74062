//! What stands around objects: documents, events of a watch, and lists.

use super::head::{Major, put_head, put_self_described, put_text};
use super::{CborError, Typing, encode};
use crate::watch_event::EventType;

/// Bytes that an event has beside its object, at most.
const EVENT_BYTES: usize = 40;

/// A document that is this item.
pub fn document(item: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(item.len() + 3);
    put_self_described(&mut out);
    out.extend_from_slice(item);
    out
}

/// An event about the object that is this item. Events follow each other without anything between.
pub fn event(event_type: EventType, item: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(item.len() + EVENT_BYTES);
    put_self_described(&mut out);
    put_head(Major::Map, 2, &mut out);
    put_text("type", &mut out);
    put_text(event_type.as_str(), &mut out);
    put_text("object", &mut out);
    put_self_described(&mut out);
    out.extend_from_slice(item);
    out
}

/// What stands before and after the items of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFrame {
    /// What is sent before the first item.
    pub before: Vec<u8>,
    /// What is sent after the last item.
    pub after: Vec<u8>,
}

impl ListFrame {
    /// The frame of a list of a kind with this metadata, which is JSON, and so many items.
    pub fn new(
        (api_version, kind): (&str, &str),
        metadata: &[u8],
        count: usize,
    ) -> Result<Self, CborError> {
        let mut before = Vec::new();
        put_self_described(&mut before);
        put_head(Major::Map, 4, &mut before);
        put_text("kind", &mut before);
        put_text(kind, &mut before);
        put_text("items", &mut before);
        put_head(Major::Array, count as u64, &mut before);
        let mut after = Vec::new();
        put_text("metadata", &mut after);
        after.extend(encode(metadata, Typing::Untyped)?);
        put_text("apiVersion", &mut after);
        put_text(api_version, &mut after);
        Ok(Self { before, after })
    }
}
