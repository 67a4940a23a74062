//! A revisioned, ordered, watchable map of bytes.
//!
//! Every commit gets the next [`Revision`]. A reader may ask for the newest state or for the state
//! at any revision that has not been compacted, and may follow all changes after a revision, once
//! each and in order. What survives a restart is the business of the implementation; what a caller
//! may rely on is the [`contract`], which every implementation passes.

mod revision;
mod key;
mod packing;
mod store;
mod expiry;
mod random;
mod clock;
mod memory;
pub mod disk;
mod embedded;
pub mod contract;

pub use clock::WallClock;
pub use embedded::{DiskWork, EmbeddedOptions, EmbeddedStore, OpenError};
pub use key::{Key, KeyRange};
pub use memory::{MemoryHistory, MemoryStore};
pub use packing::pack;
pub use revision::Revision;
pub use store::{
    COMMIT_BYTES_MAX, COMMIT_REQUIREMENTS_MAX, Change, ChangeBatch, Changes, ChangesError, Commit,
    CommitError, Condition, Entry, Follow, Operation, Page, Previous, Put, Read, ReadError,
    Requirement, Store, StoreFuture, Write,
};
