//! Whether an update is worth a run.

#[cfg(feature = "kubernetes")]
use kube::{Resource, ResourceExt};

use crate::Object;

/// The labels are not the same.
pub fn labels_changed<T>(old: &Object<T>, new: &Object<T>) -> bool {
    old.labels != new.labels
}

/// What is wanted of the object changed, rather than its status; also when it is to be deleted.
/// True for kinds that do not count their generations.
#[cfg(feature = "kubernetes")]
pub fn generation_changed<T: Resource>(old: &Object<T>, new: &Object<T>) -> bool {
    let (old, new) = (old.meta(), new.meta());
    let same = old.generation.is_some() && old.generation == new.generation;
    !same || old.deletion_timestamp != new.deletion_timestamp
}

/// The annotations are not the same.
#[cfg(feature = "kubernetes")]
pub fn annotations_changed<T: Resource>(old: &Object<T>, new: &Object<T>) -> bool {
    old.annotations() != new.annotations()
}

/// The finalizers are not the same.
#[cfg(feature = "kubernetes")]
pub fn finalizers_changed<T: Resource>(old: &Object<T>, new: &Object<T>) -> bool {
    old.finalizers() != new.finalizers()
}
