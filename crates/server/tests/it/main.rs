//! The server tested from outside.

mod watch_cache;
