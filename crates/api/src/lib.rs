//! What Kubernetes clients and servers agree on.
//!
//! Read down the modules to follow a request: who an object is, what was asked for, how bodies are
//! read and changed, and what goes back. Nothing here does I/O, is async, or reads a clock.

pub mod resource_version;
pub mod schema;
pub mod selector;
pub mod watch_event;

pub use resource_version::ResourceVersion;
pub use watch_event::EventType;
