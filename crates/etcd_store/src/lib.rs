//! The store over an etcd cluster, for when one machine is not enough.
//!
//! Holds no state of its own: any number of processes may open the same keys of one cluster, and
//! each keeps the contract of [`listwatch_store::contract`] towards all the others. What an etcd
//! server can do is asked, not assumed.

mod options;
mod key_mount;
mod own_keys;
mod breaker;
mod cluster;
mod failure;
mod store;
mod read;
mod commit;
mod changes;
mod progress;
mod leases;
mod compactor;

pub use key_mount::KeyMount;
pub use options::{Compaction, EtcdOptions};
pub use store::{EtcdStore, OpenError};
