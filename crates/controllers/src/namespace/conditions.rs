//! What a namespace says of its own end.

use k8s_openapi::{
    api::core::v1::NamespaceCondition,
    apimachinery::pkg::apis::meta::v1::{MicroTime, Time},
    jiff::Timestamp,
};

use super::content::Content;

/// What the status of a condition is, and why.
struct Finding {
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// Brings the conditions up to date; whether anything changed.
pub(super) fn update(
    conditions: &mut Option<Vec<NamespaceCondition>>,
    content: &Content,
    now: &MicroTime,
) -> bool {
    let conditions = conditions.get_or_insert_default();
    let mut has_changed = false;
    for (type_, finding) in findings(content) {
        has_changed |= set(conditions, type_, finding, now);
    }
    has_changed
}

fn set(
    conditions: &mut Vec<NamespaceCondition>,
    type_: &str,
    finding: Finding,
    now: &MicroTime,
) -> bool {
    let now = Timestamp::from_second(now.0.as_second()).expect("whole seconds stay in range");
    let mut condition = NamespaceCondition {
        type_: type_.to_owned(),
        status: finding.status.to_owned(),
        reason: Some(finding.reason.to_owned()),
        message: Some(finding.message),
        last_transition_time: Some(Time(now)),
    };
    let Some(known) = conditions.iter_mut().find(|known| known.type_ == type_) else {
        conditions.push(condition);
        return true;
    };
    if known.status == condition.status {
        condition.last_transition_time = known.last_transition_time.clone();
    }
    let has_changed = *known != condition;
    *known = condition;
    has_changed
}

fn findings(content: &Content) -> [(&'static str, Finding); 5] {
    // Which kinds there are is known here, so the first two never fail.
    let discovery = fine(
        "ResourcesDiscovered",
        "All resources successfully discovered",
    );
    let parsing = fine(
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    );
    [
        ("NamespaceDeletionDiscoveryFailure", discovery),
        ("NamespaceDeletionGroupVersionParsingFailure", parsing),
        ("NamespaceDeletionContentFailure", deletion(content)),
        ("NamespaceContentRemaining", remaining(content)),
        ("NamespaceFinalizersRemaining", finalizers(content)),
    ]
}

fn deletion(content: &Content) -> Finding {
    if content.errors.is_empty() {
        return fine(
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        );
    }
    let mut errors = content.errors.clone();
    errors.sort();
    bad(
        "ContentDeletionFailed",
        format!(
            "Failed to delete all resource types, {} remaining: {}",
            errors.len(),
            errors.join(", ")
        ),
    )
}

fn remaining(content: &Content) -> Finding {
    let left = content.remaining.iter();
    let left: Vec<_> = left
        .map(|(resource, count)| format!("{resource} has {count} resource instances"))
        .collect();
    match left.is_empty() {
        true => fine("ContentRemoved", "All content successfully removed"),
        false => bad(
            "SomeResourcesRemain",
            format!("Some resources are remaining: {}", left.join(", ")),
        ),
    }
}

fn finalizers(content: &Content) -> Finding {
    let left = content.finalizers.iter();
    let left: Vec<_> = left
        .map(|(finalizer, count)| format!("{finalizer} in {count} resource instances"))
        .collect();
    match left.is_empty() {
        true => fine(
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
        false => bad(
            "SomeFinalizersRemain",
            format!(
                "Some content in the namespace has finalizers remaining: {}",
                left.join(", ")
            ),
        ),
    }
}

fn fine(reason: &'static str, message: &str) -> Finding {
    Finding {
        status: "False",
        reason,
        message: message.to_owned(),
    }
}

fn bad(reason: &'static str, message: String) -> Finding {
    Finding {
        status: "True",
        reason,
        message,
    }
}
