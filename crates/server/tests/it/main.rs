//! The server tested from outside.

mod golden;
mod watch_cache;
