//! What clients did and saw, the promises this is held to, and the workloads that record it.
//!
//! A workload runs against a server and yields a [`history::History`]. The [`model::Model`] is the
//! order of writes that the history tells. Each of the [`checkers`] holds one promise against both.

pub mod client;
pub mod selection;
pub mod history;
pub mod model;
pub mod stream;
pub mod checkers;
mod answers;
mod relay;
pub mod target;
pub mod workload;
pub mod trial;
pub mod crash;
pub mod soak;
pub mod cluster;
pub mod informers;
