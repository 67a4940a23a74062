//! What the clients of one run know between them: the time, and what they have been shown.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use listwatch_api::ResourceVersion;
use parking_lot::Mutex;

use crate::history::{Moment, ObjectKey, ObjectVersion, Origin, Token};

/// Versions remembered for lists and watches to go back to. At the bound a random one makes room.
const VERSIONS_KEPT_MAX: usize = 4096;

/// What the clients of one run know between them.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    moments: AtomicU64,
    tokens: AtomicU64,
    objects: Mutex<BTreeMap<ObjectKey, ObjectVersion>>,
    versions: Mutex<Vec<(ResourceVersion, Origin)>>,
}

impl Ledger {
    /// The next moment, later than all before.
    pub(crate) fn now(&self) -> Moment {
        Moment(self.moments.fetch_add(1, Ordering::SeqCst))
    }

    pub(crate) fn next_token(&self) -> Token {
        Token(self.tokens.fetch_add(1, Ordering::SeqCst))
    }

    /// Remembers the newest state of an object that anybody has written.
    pub(crate) fn stored(&self, object: &ObjectVersion) {
        let mut objects = self.objects.lock();
        let newer = objects
            .get(&object.key)
            .is_none_or(|known| known.version < object.version);
        if newer {
            objects.insert(object.key.clone(), object.clone());
        }
    }

    pub(crate) fn gone(&self, key: &ObjectKey) {
        self.objects.lock().remove(key);
    }

    pub(crate) fn object(&self, key: &ObjectKey) -> Option<ObjectVersion> {
        self.objects.lock().get(key).cloned()
    }

    /// Remembers a version that a client was shown, to go on from later.
    pub(crate) fn heard_of(
        &self,
        version: ResourceVersion,
        origin: Origin,
        random: &mut fastrand::Rng,
    ) {
        let mut versions = self.versions.lock();
        if versions.len() == VERSIONS_KEPT_MAX {
            versions.swap_remove(random.usize(..VERSIONS_KEPT_MAX));
        }
        versions.push((version, origin));
    }

    /// A version that some client was shown before.
    pub(crate) fn some_version(
        &self,
        random: &mut fastrand::Rng,
    ) -> Option<(ResourceVersion, Origin)> {
        let versions = self.versions.lock();
        let index = random.usize(..versions.len().max(1));
        versions.get(index).copied()
    }
}
