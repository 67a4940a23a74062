//! Changes an object, then judges it.
//!
//! So far little: namespaces get what they always have, content lives in namespaces that exist and
//! are not being deleted, and what would bring down a neighbour is refused. Defaults of all kinds,
//! custom schemas and webhooks join here.

mod defaults;
mod judge;
mod namespace_lifecycle;

pub(crate) use defaults::{apply_defaults, begin_life};
pub(crate) use judge::{judge, looks_beyond_metadata};
pub(crate) use namespace_lifecycle::{Home, find_home, refuse_to_delete};
