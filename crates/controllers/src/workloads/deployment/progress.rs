//! Whether a deployment gets on: it does, it is done, it is paused, or it hangs.

use k8s_openapi::{
    api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use listwatch::{Next, Object};

use super::{Set, annotations, status::Finding, wanted};
use crate::moment;

/// The condition that tells.
pub(super) const PROGRESSING: &str = "Progressing";

const AVAILABLE: &str = "NewReplicaSetAvailable";
const PAUSED: &str = "DeploymentPaused";
const RESUMED: &str = "DeploymentResumed";
const LATE: &str = "ProgressDeadlineExceeded";

/// A deployment, what it said last, and what is so now.
pub(super) struct Sight<'a> {
    pub(super) deployment: &'a Object<Deployment>,
    /// That of the newest template.
    pub(super) set: Option<&'a Set>,
    pub(super) known: &'a DeploymentStatus,
    pub(super) now: &'a DeploymentStatus,
}

/// After how many seconds without progress it hangs; `None` if it may take for ever.
pub(super) fn deadline(deployment: &Deployment) -> Option<i32> {
    let spec = deployment.spec.as_ref()?;
    spec.progress_deadline_seconds
        .filter(|seconds| *seconds != i32::MAX)
}

fn condition(conditions: Option<&[DeploymentCondition]>) -> Option<&DeploymentCondition> {
    conditions?.iter().find(|it| it.type_ == PROGRESSING)
}

fn finding(status: &'static str, reason: &str, message: String) -> Finding {
    Finding {
        type_: PROGRESSING,
        status,
        reason: reason.to_owned(),
        message,
    }
}

/// What is to be said anew; `None` if nothing is.
pub(super) fn news(sight: &Sight<'_>, deadline: i32, now: &MicroTime) -> Option<Finding> {
    let current = condition(sight.known.conditions.as_deref());
    let reason = current.and_then(|it| it.reason.as_deref());
    let spec = sight.deployment.spec.as_ref();
    match (spec.and_then(|spec| spec.paused), reason) {
        (Some(true), Some(PAUSED | LATE)) => return None,
        (Some(true), _) => {
            return Some(finding(
                "Unknown",
                PAUSED,
                "Deployment is paused".to_owned(),
            ));
        }
        (_, Some(PAUSED)) => {
            let message = "Deployment is resumed".to_owned();
            return Some(finding("Unknown", RESUMED, message));
        }
        (_, _) => {}
    }
    let set = sight.set?;
    let name = format!("{:?}", set.key.name());
    let told = current.and_then(|it| it.message.as_deref());
    let is_new = reason != Some(RESUMED) && told.is_none_or(|told| !told.contains(&name));
    if sight.is_complete() {
        let is_told = !is_new && reason == Some(AVAILABLE);
        let message = format!("ReplicaSet {name} has successfully progressed.");
        return (!is_told).then(|| finding("True", AVAILABLE, message));
    }
    if is_new {
        return Some(match annotations::was_used_before(&set.metadata) {
            true => {
                let message = format!("Found new replica set {name}");
                finding("True", "FoundNewReplicaSet", message)
            }
            false => {
                let message = format!("Created new replica set {name}");
                finding("True", "NewReplicaSetCreated", message)
            }
        });
    }
    if sight.has_moved() {
        let message = format!("ReplicaSet {name} is progressing.");
        return Some(finding("True", "ReplicaSetUpdated", message));
    }
    let since = current.and_then(|it| it.last_update_time.as_ref())?;
    let is_late = moment::left(since, i64::from(deadline), now).is_none();
    (is_late && !matches!(reason, Some(AVAILABLE | LATE))).then(|| {
        let message = format!("ReplicaSet {name} has timed out progressing.");
        finding("False", LATE, message)
    })
}

impl Sight<'_> {
    fn is_complete(&self) -> bool {
        let wanted = wanted(self.deployment);
        let now = self.now;
        let counts = [now.updated_replicas, now.replicas, now.available_replicas];
        counts
            .iter()
            .all(|count| count.unwrap_or_default() == wanted)
    }

    /// Whether there are more new pods or fewer old ones, or more that can be used, than were
    /// told.
    fn has_moved(&self) -> bool {
        let number = |count: Option<i32>| count.unwrap_or_default();
        let old = |it: &DeploymentStatus| number(it.replicas) - number(it.updated_replicas);
        let (known, now) = (self.known, self.now);
        number(now.updated_replicas) > number(known.updated_replicas)
            || old(now) < old(known)
            || number(now.ready_replicas) > number(known.ready_replicas)
            || number(now.available_replicas) > number(known.available_replicas)
    }
}

/// When to look again whether it hangs.
pub(super) fn next(
    conditions: &[DeploymentCondition],
    deadline: Option<i32>,
    now: &MicroTime,
) -> Next {
    let (Some(current), Some(deadline)) = (condition(Some(conditions)), deadline) else {
        return Next::AwaitChange;
    };
    if matches!(current.reason.as_deref(), Some(AVAILABLE | LATE | PAUSED)) {
        return Next::AwaitChange;
    }
    let since = current.last_update_time.as_ref();
    let left = since.and_then(|since| moment::left(since, i64::from(deadline), now));
    left.map_or(Next::AwaitChange, Next::After)
}
