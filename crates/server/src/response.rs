//! Objects, lists and events to bytes.

pub mod table;
