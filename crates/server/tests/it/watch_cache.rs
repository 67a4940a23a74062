//! The watch cache, as its readers and watchers see it.

mod concurrency;
mod contract;
mod gated_store;
mod model;
mod scenario;
mod thing;
mod world;
