//! What makes an API server whole: namespaces that empty, owners that are collected, pods that
//! live.
//!
//! Each controller is a client as any other: it sees the world through informers and changes it
//! through the API of the server in whose process it runs. One server of several on the same store
//! runs them: the others wait for their turn.

mod choice;
mod controllers;
mod objects;
mod moment;
mod selection;
mod share;
mod inventory;
mod worker;
mod namespace;
mod garbage_collector;
mod cluster_authority;
mod namespace_contents;
mod storage_protection;
mod disruption;
mod workloads;
mod services;
mod simulated_nodes;

pub use choice::{Choice, Name, UnknownController};
pub use controllers::{Controllers, Settings, Standing};
