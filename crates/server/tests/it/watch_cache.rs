//! The watch cache, as its readers and watchers see it.

mod concurrency;
mod contract;
mod gated_store;
mod heartbeat;
mod model;
mod reload;
mod scenario;
mod sharing;
mod thing;
mod world;
