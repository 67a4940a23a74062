//! The Kubernetes API over HTTP.
//!
//! The modules are listed in the order in which a request meets them.

pub mod listener;
pub mod request;
pub mod access;
pub mod verbs;
pub mod discovery;
pub mod openapi;
pub mod registry;
pub mod admission;
pub mod commit;
pub mod watch_cache;
pub mod response;
pub mod metrics;
pub mod clock;
