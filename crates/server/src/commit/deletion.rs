//! What a DELETE does to an object: remove it, mark it, or nothing more.

use std::time::Duration;

use jiff::Timestamp;
use listwatch_api::{
    timestamp,
    write_options::{DeleteOptions, Propagation, PropagationPolicy},
};
use serde_json::{Value, json};

use super::metadata::{finalizers, grow_generation, metadata_mut, number, text};
use crate::{custom, registry::Definition};

/// The finalizer that keeps an object until its dependents have been orphaned.
const ORPHAN_FINALIZER: &str = "orphan";
/// The finalizer that keeps an object until its dependents are gone.
const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
/// How long a pod may take to stop when nobody says otherwise.
const POD_GRACE_SECONDS: u64 = 30;

/// What becomes of an object that a client wants deleted.
#[derive(Debug, PartialEq)]
pub(crate) enum Deletion {
    /// It goes at once.
    Remove,
    /// It stays, marked, until its finalizers are gone and its grace period is acknowledged.
    Mark(Value),
    /// It was marked before, and nothing about that changes.
    Pending,
}

/// Judges a deletion. Pure: the caller commits what it says.
pub(crate) fn decide(
    definition: &Definition,
    current: &Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> Deletion {
    let mut next = current.clone();
    if custom::is_definition(definition) && text(current, "deletionTimestamp").is_none() {
        custom::hold(&mut next, &timestamp::format_seconds(now));
    }
    apply_propagation(&mut next, options.propagation);
    let grace = match graceful(definition, current, options) {
        Grace::Pending => return unless_equal(current, next, Deletion::Pending),
        Grace::Immediate => None,
        Grace::Period { seconds, begun } => Some((seconds, begun)),
    };
    if let Some((seconds, begun)) = grace {
        mark_graceful(&mut next, seconds, begun.unwrap_or(now));
        return Deletion::Mark(next);
    }
    if finalizers(&next).is_empty() && !holds_finalizers_in_spec(definition, &next) {
        return Deletion::Remove;
    }
    mark_now(definition, &mut next, now);
    unless_equal(current, next, Deletion::Pending)
}

/// Whether an object that was marked may go now: nothing holds it any more.
pub(crate) fn is_complete(definition: &Definition, object: &Value) -> bool {
    text(object, "deletionTimestamp").is_some()
        && number(object, "deletionGracePeriodSeconds").unwrap_or_default() == 0
        && finalizers(object).is_empty()
        && !holds_finalizers_in_spec(definition, object)
}

fn unless_equal(current: &Value, next: Value, otherwise: Deletion) -> Deletion {
    if *current == next {
        otherwise
    } else {
        Deletion::Mark(next)
    }
}

enum Grace {
    Immediate,
    /// Marked before, and asked for nothing shorter.
    Pending,
    /// `begun` is when an earlier deletion began, whose period is now shortened.
    Period {
        seconds: u64,
        begun: Option<Timestamp>,
    },
}

fn graceful(definition: &Definition, current: &Value, options: &DeleteOptions) -> Grace {
    if let Some(deadline) = text(current, "deletionTimestamp") {
        let granted = number(current, "deletionGracePeriodSeconds").unwrap_or_default();
        let granted = u64::try_from(granted).unwrap_or_default();
        return match options.grace_period_seconds {
            _ if granted == 0 => Grace::Immediate,
            Some(0) => Grace::Immediate,
            Some(seconds) if seconds < granted => {
                let deadline = deadline.parse::<Timestamp>().ok();
                let begun = deadline.map(|deadline| deadline - Duration::from_secs(granted));
                Grace::Period { seconds, begun }
            }
            _ => Grace::Pending,
        };
    }
    match grace_seconds(definition, current, options) {
        0 => Grace::Immediate,
        seconds => Grace::Period {
            seconds,
            begun: None,
        },
    }
}

/// Only pods that run somewhere need time to stop.
fn grace_seconds(definition: &Definition, pod: &Value, options: &DeleteOptions) -> u64 {
    if !definition.group.is_empty() || &*definition.resource != "pods" {
        return 0;
    }
    let is_scheduled = pod["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    let has_ended = matches!(
        pod["status"]["phase"].as_str(),
        Some("Failed" | "Succeeded")
    );
    if !is_scheduled || has_ended {
        return 0;
    }
    let stated = pod["spec"]["terminationGracePeriodSeconds"].as_i64();
    // Less than nothing is the least that is still something.
    let stated = stated.map(|seconds| u64::try_from(seconds).unwrap_or(1));
    options
        .grace_period_seconds
        .or(stated)
        .unwrap_or(POD_GRACE_SECONDS)
}

fn mark_graceful(object: &mut Value, seconds: u64, begun: Timestamp) {
    if text(object, "deletionTimestamp").is_none() {
        grow_generation(object);
    }
    let deadline = timestamp::format_seconds(begun + Duration::from_secs(seconds));
    let metadata = metadata_mut(object);
    metadata.insert("deletionTimestamp".to_owned(), json!(deadline));
    metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(seconds));
}

fn mark_now(definition: &Definition, object: &mut Value, now: Timestamp) {
    if is_namespace(definition) {
        mark_namespace(object, now);
        return;
    }
    if custom::is_definition(definition) {
        let deleted_at = || json!(timestamp::format_seconds(now));
        let metadata = metadata_mut(object);
        metadata
            .entry("deletionTimestamp")
            .or_insert_with(deleted_at);
        return;
    }
    let marked = text(object, "deletionTimestamp").and_then(|text| text.parse::<Timestamp>().ok());
    if marked.is_none() {
        grow_generation(object);
    }
    let metadata = metadata_mut(object);
    if marked.is_none_or(|marked| marked > now) {
        let now = timestamp::format_seconds(now);
        metadata.insert("deletionTimestamp".to_owned(), json!(now));
    }
    metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
}

fn mark_namespace(namespace: &mut Value, now: Timestamp) {
    namespace["status"]["phase"] = json!("Terminating");
    let metadata = metadata_mut(namespace);
    metadata
        .entry("deletionTimestamp")
        .or_insert_with(|| json!(timestamp::format_seconds(now)));
}

/// Whether more than the metadata decides when an object of this kind is gone.
pub(crate) fn looks_beyond_metadata(definition: &Definition) -> bool {
    is_namespace(definition)
}

fn is_namespace(definition: &Definition) -> bool {
    definition.group.is_empty() && &*definition.resource == "namespaces"
}

/// A namespace has finalizers of its own kind, which the content inside it answers to.
fn holds_finalizers_in_spec(definition: &Definition, object: &Value) -> bool {
    is_namespace(definition)
        && object["spec"]["finalizers"]
            .as_array()
            .is_some_and(|listed| !listed.is_empty())
}

fn apply_propagation(object: &mut Value, propagation: Propagation) {
    let wanted = match propagation {
        Propagation::Default => return,
        Propagation::OrphanDependents(true) | Propagation::Policy(PropagationPolicy::Orphan) => {
            Some(ORPHAN_FINALIZER)
        }
        Propagation::Policy(PropagationPolicy::Foreground) => Some(FOREGROUND_FINALIZER),
        Propagation::OrphanDependents(false)
        | Propagation::Policy(PropagationPolicy::Background) => None,
    };
    let kept = finalizers(object)
        .into_iter()
        .filter(|name| ![ORPHAN_FINALIZER, FOREGROUND_FINALIZER].contains(name))
        .chain(wanted)
        .map(Value::from)
        .collect::<Vec<_>>();
    let metadata = metadata_mut(object);
    if kept.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), Value::Array(kept));
    }
}
