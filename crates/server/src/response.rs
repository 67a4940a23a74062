//! Objects, lists and events to bytes.

pub mod partial_metadata;
pub mod table;
