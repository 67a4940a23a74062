//! Structural schemas of custom resources: what they prune, fill in and refuse.
//!
//! A definition is checked by [`definition`]; each of its versions becomes a [`Structural`], which
//! then knows all that its schema says about objects. Nothing here does I/O or is async.

mod props;
mod node;
mod checks;
mod pattern;
mod format;
mod prune;
mod defaults;
mod metadata;
mod value_path;
mod correlation;
mod validate;
mod list_types;
mod scale;
mod structure;
mod field_route;
mod rules;
mod structural;
mod apply_types;
mod open_api;
pub mod conversion_review;
pub mod definition;

pub use metadata::{Malformed, coerce_metadata};
pub use structural::Structural;
