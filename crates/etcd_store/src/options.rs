//! What whoever opens the store may choose.

use std::time::Duration;

use listwatch_etcd::Settings;

use crate::KeyMount;

/// Where the cluster is and what is kept there.
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    /// How to reach the cluster.
    pub connection: Settings,
    /// Which keys of it are ours.
    pub keys: KeyMount,
    /// Who forgets the past.
    pub compaction: Compaction,
}

/// Who lets etcd forget the past. Somebody must, or its database grows until it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// Those who have opened these keys, one of them each time. After one interval at the least and
    /// two at the most, what is past is forgotten.
    Every(Duration),
    /// Somebody else.
    ByOthers,
}
