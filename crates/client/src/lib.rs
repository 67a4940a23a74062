//! Informers for Rust: list, watch, cache, notify, over any source that can list and watch.
//!
//! - [`SharedInformer`] keeps an indexed cache of what a source holds and tells handlers of each
//!   change. Its documentation states the contract.
//! - [`KubernetesSource`] is any Kubernetes API, on kube's client. etcd is a source too, with the
//!   feature `etcd`, and so is whatever implements [`ListerWatcher`].
//! - [`Decoder`] decides what is kept of each object: a `k8s-openapi` type, a small type of one's
//!   own, the bytes, or the bytes [compressed](Packed).
//! - [`Controller`], [`WorkQueue`], [`LeaderElector`] and [`EventRecorder`] make programs of it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use listwatch::{Decoder, SharedInformer, source::ScriptedSource};
//! use serde_json::Value;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let source = ScriptedSource::new(); // or KubernetesSource::all::<Pod>(client)
//! source.put("default/web", r#"{"port": 80}"#);
//!
//! let informer = SharedInformer::new(Arc::new(source.clone()), Decoder::<Value>::json());
//! let by_port = informer.add_index("port", |object| object["port"].as_u64())?;
//! let handler = informer.add_handler(|change| println!("{change}"))?;
//! informer.start()?;
//! handler.synced().await?;
//!
//! let snapshot = informer.cache().snapshot(); // one moment, without locks
//! assert_eq!(snapshot.by_index(&by_port, &80).len(), 1);
//!
//! let version = source.put("default/web", r#"{"port": 8080}"#);
//! let snapshot = informer.read_at_least(&version, std::time::Duration::from_secs(10)).await?;
//! assert!(snapshot.by_index(&by_port, &80).is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! Read down the modules to follow an object from its source to the code that acts on it.

pub mod version;
pub mod object;
pub mod lister_watcher;
pub mod wire;
pub mod source;
pub mod decoder;
pub mod packed;
pub mod delta;
pub mod reflector;
pub mod delta_queue;
pub mod indexed_cache;
pub mod lister;
pub mod notification;
pub mod shared_informer;
pub mod work_queue;
pub mod controller;
pub mod pager;
pub mod retry_watcher;
pub mod until;
pub mod conflict_retry;
#[cfg(feature = "kubernetes")]
pub mod wall_clock;
#[cfg(feature = "kubernetes")]
pub mod leader_election;
#[cfg(feature = "kubernetes")]
pub mod event_recorder;
#[cfg(test)]
mod recorded_metrics;

pub use conflict_retry::{RetryPauses, retry_on_conflict};
pub use controller::{Controller, ControllerError, Next};
pub use decoder::{DecodeError, Decoder, Raw, SetAside};
pub use delta::{Deletion, Delta, Replacement};
pub use delta_queue::DeltaQueue;
#[cfg(feature = "kubernetes")]
pub use event_recorder::{EventRecorder, NewEvent};
pub use indexed_cache::{Cache, CacheWriter, Change, Difference, Index, OwnWrites, Snapshot};
#[cfg(feature = "kubernetes")]
pub use leader_election::{ElectionSettings, FencingToken, LeaderElector, Leadership};
pub use lister::Lister;
pub use lister_watcher::{InitialEvents, ListerWatcher, RawEvent, RawObject, SourceError};
pub use listwatch_api::selector::LabelSelector;
#[cfg(feature = "etcd")]
pub use listwatch_etcd as etcd;
pub use notification::{Deleted, FinalState, Notification, Origin};
pub use object::{Labels, Object, ObjectKey, Uid};
pub use packed::Packed;
pub use pager::{Pager, PagerSettings};
pub use reflector::{Reflector, ReflectorError, ReflectorSettings, ReflectorStatus};
pub use retry_watcher::{RetryWatcher, RetryWatcherSettings};
pub use shared_informer::{
    Bound, Filtered, Handler, HandlerOptions, InformerFactory, InformerKey, Registration,
    SharedInformer, Subscription,
};
#[cfg(feature = "kubernetes")]
pub use source::kubernetes::KubernetesSource;
pub use until::{Condition, Watched, wait_until, wait_until_all};
pub use version::Version;
pub use work_queue::{Permit, Priority, WorkQueue, WorkQueueSettings};
