//! Where objects come from: the implementations of [`ListerWatcher`](crate::ListerWatcher).

#[cfg(feature = "kubernetes")]
pub mod kubernetes;
pub mod scripted;

#[cfg(feature = "kubernetes")]
pub use kubernetes::KubernetesSource;
pub use scripted::ScriptedSource;
