//! What a replica set says of its deployment.

use std::collections::BTreeMap;

use k8s_openapi::{api::apps::v1::Deployment, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use listwatch::Object;

use super::{rollout, wanted};

/// Says how often the template had changed when a set was last the newest.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";

/// The numbers that a set had before.
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";

const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";

/// What a deployment says of itself alone.
const NOT_HANDED_DOWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
];

/// The number of a set, or of a deployment.
pub(super) fn revision(metadata: &ObjectMeta) -> i64 {
    let text = value(metadata, REVISION);
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Whether a set was the newest before, and then was not.
pub(super) fn was_used_before(metadata: &ObjectMeta) -> bool {
    value(metadata, REVISION_HISTORY).is_some()
}

fn value<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a String> {
    metadata.annotations.as_ref()?.get(name)
}

/// What the newest set is to say: what its deployment says, its number, and how large it may get.
pub(super) fn wanted_of(
    deployment: &Object<Deployment>,
    (number, known): (i64, &ObjectMeta),
) -> BTreeMap<String, String> {
    let given = deployment.metadata.annotations.clone().unwrap_or_default();
    let mut annotations: BTreeMap<String, String> = given
        .into_iter()
        .filter(|(name, _)| !NOT_HANDED_DOWN.contains(&name.as_str()))
        .collect();
    let surge = match rollout::strategy(deployment) {
        rollout::Strategy::Recreate => 0,
        rollout::Strategy::Rolling(bounds) => bounds.surge,
    };
    let replicas = wanted(deployment);
    let before = revision(known);
    let mut own = vec![
        (REVISION, number.to_string()),
        (DESIRED_REPLICAS, replicas.to_string()),
        (MAX_REPLICAS, (replicas + surge).to_string()),
    ];
    if before != 0 && before != number {
        let earlier = value(known, REVISION_HISTORY).filter(|text| !text.is_empty());
        let history = match earlier {
            Some(earlier) => format!("{earlier},{before}"),
            None => before.to_string(),
        };
        own.push((REVISION_HISTORY, history));
    }
    annotations.extend(
        own.into_iter()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    annotations
}
