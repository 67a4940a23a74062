//! Objects, lists and events to bytes.

pub mod members;
pub mod partial_metadata;
pub mod table;
