//! Controllers on a server, seen through its API.

#![cfg(test)]

mod contents;
mod custom_resources;
mod disruption;
mod garbage;
mod namespaces;
mod recorded;
mod rollouts;
mod services;
mod stage;
mod standing;
mod storage;
mod workloads;
