//! What happened between two states, object by object.

use std::{cmp::Ordering, sync::Arc};

use crate::{Deleted, FinalState, Notification, Object, Origin, Snapshot};

/// What leads a handler from one state to another: first what is gone, then what changed or came,
/// both in the order of keys.
///
/// An object of the same version is the same, whether or not it was decoded again. How a deleted
/// object ended is not known, since its deletion was not seen.
pub(super) fn between<T>(
    before: &Snapshot<T>,
    after: &Snapshot<T>,
    origin: Origin,
) -> Vec<Notification<T>> {
    let (mut gone, mut told) = (Vec::new(), Vec::new());
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.key.cmp(&new.key),
        };
        let old = order.is_le().then(|| before.next()).flatten();
        let new = order.is_ge().then(|| after.next()).flatten();
        match (old, new) {
            (Some(old), Some(new)) if !same_state(old, new) => told.push(updated(old, new)),
            (Some(old), None) => gone.push(deleted(old)),
            (None, Some(new)) => told.push(added(new, origin)),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    gone.append(&mut told);
    gone
}

/// Every object as one that was there when the handler came.
pub(super) fn initial<T>(snapshot: &Snapshot<T>) -> Vec<Notification<T>> {
    let objects = snapshot.iter();
    objects
        .map(|object| added(object, Origin::Initial))
        .collect()
}

/// Every object as an update to the state that it is in.
pub(super) fn again<T>(snapshot: &Snapshot<T>) -> Vec<Notification<T>> {
    let objects = snapshot.iter();
    objects.map(|object| updated(object, object)).collect()
}

/// Whether two states of one object are one, so that a handler who saw one has nothing to learn.
pub(super) fn same_state<T>(old: &Arc<Object<T>>, new: &Arc<Object<T>>) -> bool {
    Arc::ptr_eq(old, new) || (old.version == new.version && old.uid == new.uid)
}

fn added<T>(object: &Arc<Object<T>>, origin: Origin) -> Notification<T> {
    Notification::Added {
        object: Arc::clone(object),
        origin,
    }
}

fn updated<T>(old: &Arc<Object<T>>, new: &Arc<Object<T>>) -> Notification<T> {
    Notification::Updated {
        old: Arc::clone(old),
        new: Arc::clone(new),
    }
}

fn deleted<T>(old: &Arc<Object<T>>) -> Notification<T> {
    Notification::Deleted(Deleted {
        key: old.key.clone(),
        last: Some(Arc::clone(old)),
        final_state: FinalState::Unknown,
    })
}
