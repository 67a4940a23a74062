//! Controllers on a server, seen through its API.

#![cfg(test)]

mod contents;
mod custom_resources;
mod garbage;
mod namespaces;
mod recorded;
mod stage;
mod standing;
mod storage;
mod workloads;
