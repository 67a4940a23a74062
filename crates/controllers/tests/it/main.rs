//! Controllers on a server, seen through its API.

mod contents;
mod garbage;
mod namespaces;
mod recorded;
mod stage;
mod standing;
