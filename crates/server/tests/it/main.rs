//! The server tested from outside.

#[cfg(test)]
mod golden;
#[cfg(test)]
mod protobuf;
#[cfg(test)]
mod watch_cache;
