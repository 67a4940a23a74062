//! The server tested from outside.

mod golden;
mod protobuf;
mod watch_cache;
