//! A thin client of etcd v3: ranges, transactions, watches, leases.
//!
//! Errors say what the caller can do. Revisions are numbers without a sign. The protocol's messages
//! are written by hand for what is used, so that a build needs no protobuf compiler.

mod wire;
pub mod error;
pub mod settings;
pub mod version;
pub mod key_range;
pub mod client;
pub mod range;
pub mod write;
pub mod transaction;
pub mod watch;
pub mod lease;
pub mod status;
#[cfg(feature = "testing")]
pub mod testing;

pub use client::{Client, Header};
pub use error::Error;
pub use key_range::KeyRange;
pub use lease::{Lease, LeaseId};
pub use range::{Content, Range, RangeAnswer, ReadAt};
pub use settings::{Credentials, Identity, Settings, Tls};
pub use status::{ProgressRequests, Status};
pub use transaction::TransactionAnswer;
pub use transaction::{Comparison, Condition, Operation, OperationAnswer, Outcome, Transaction};
pub use version::ServerVersion;
pub use watch::{Event, Watch, WatchRequest, WatchUpdate};
pub use wire::KeyValue;
pub use write::{Compaction, Delete, DeleteAnswer, PreviousValues, Put, PutAnswer};
