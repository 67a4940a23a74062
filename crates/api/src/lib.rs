//! What Kubernetes clients and servers agree on.
//!
//! Read down the modules to follow a request: who an object is, what was asked for, how bodies are
//! read and changed, and what goes back. Nothing here does I/O, is async, or reads a clock.

pub mod identity;
pub mod resource_version;
pub mod name;
pub mod object;
pub mod selector;
pub mod continue_token;
pub mod query;
pub mod list_options;
pub mod write_options;
pub mod quantity;
pub mod timestamp;
pub mod media_type;
pub mod json;
pub mod yaml;
pub mod schema;
pub mod protobuf;
pub mod cbor;
pub mod patch;
pub mod field_set;
pub mod metadata;
pub mod watch_event;
pub mod field_error;
pub mod status;
pub mod go_text;

pub use continue_token::{ContinueState, ContinueToken};
pub use field_error::{FieldError, FieldErrorKind, FieldPath};
pub use identity::{GroupKind, GroupResource};
pub use list_options::{
    CollectionPath, CollectionRead, Freshness, GetOptions, ListOptions, WatchOptions, WatchStart,
};
pub use quantity::Quantity;
pub use query::Query;
pub use resource_version::ResourceVersion;
pub use status::{Reason, Status, StatusCause, StatusDetails};
pub use watch_event::EventType;
