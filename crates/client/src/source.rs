//! Where objects come from: the implementations of [`ListerWatcher`](crate::ListerWatcher).

#[cfg(feature = "kubernetes")]
pub mod kubernetes;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod recording;
pub mod scripted;

#[cfg(feature = "etcd")]
pub use etcd::EtcdSource;
#[cfg(feature = "kubernetes")]
pub use kubernetes::KubernetesSource;
pub use recording::{Recorder, Replay};
pub use scripted::ScriptedSource;
