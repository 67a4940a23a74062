//! What replica sets and replication controllers ask for, and say of themselves.

use k8s_openapi::{
    api::{
        apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus},
        core::v1::{
            PodTemplateSpec, ReplicationController, ReplicationControllerCondition,
            ReplicationControllerStatus,
        },
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, MicroTime},
};
use listwatch::SharedInformer;
use serde::Serialize;

use crate::{
    moment,
    workloads::{Workloads, claim::Namespaced, some},
};

/// The condition of one that cannot have its pods.
const FAILURE: &str = "ReplicaFailure";

/// How many pods there are.
pub(in crate::workloads) struct Counts {
    pub(super) replicas: i32,
    pub(super) fully_labeled: i32,
    pub(super) ready: i32,
    pub(super) available: i32,
    pub(super) terminating: i32,
    /// Why not as many as there should be.
    pub(super) failure: Option<String>,
}

/// Something that asks for a number of equal pods.
pub(in crate::workloads) trait Replicated: Namespaced + Serialize {
    fn informer(workloads: &Workloads) -> &SharedInformer<Self>;

    /// How many pods are asked for.
    fn replicas(&self) -> i32;

    fn selector(&self) -> Option<LabelSelector>;

    fn template(&self) -> PodTemplateSpec;

    fn min_ready_seconds(&self) -> i32;

    /// The same with what is now to be said; `None` if that is what it says.
    fn told(&self, counts: &Counts, now: &MicroTime) -> Option<Self>;
}

/// The conditions, with that of failure if there is one, as it was if it says the same.
macro_rules! conditions {
    ($condition:ident, $known:expr, $failure:expr, $now:expr) => {{
        let known = $known.conditions.clone().unwrap_or_default().into_iter();
        let (was, mut others): (Vec<_>, Vec<_>) = known.partition(|it| it.type_ == FAILURE);
        let is = $failure.clone().map(|message| $condition {
            type_: FAILURE.to_owned(),
            status: "True".to_owned(),
            reason: Some("FailedCreate".to_owned()),
            message: Some(message),
            last_transition_time: Some(moment::second($now)),
        });
        if let Some(is) = is {
            let same = was.into_iter().find(|was| was.status == is.status);
            others.push(same.unwrap_or(is));
        }
        Some(others).filter(|conditions| !conditions.is_empty())
    }};
}

impl Replicated for ReplicaSet {
    fn informer(workloads: &Workloads) -> &SharedInformer<Self> {
        &workloads.replica_sets.informer
    }

    fn replicas(&self) -> i32 {
        let spec = self.spec.as_ref();
        spec.and_then(|spec| spec.replicas).unwrap_or(1)
    }

    fn selector(&self) -> Option<LabelSelector> {
        Some(self.spec.as_ref()?.selector.clone())
    }

    fn template(&self) -> PodTemplateSpec {
        let template = self.spec.as_ref().and_then(|spec| spec.template.clone());
        template.unwrap_or_default()
    }

    fn min_ready_seconds(&self) -> i32 {
        let spec = self.spec.as_ref();
        spec.and_then(|spec| spec.min_ready_seconds)
            .unwrap_or_default()
    }

    fn told(&self, counts: &Counts, now: &MicroTime) -> Option<Self> {
        let known = self.status.clone().unwrap_or_default();
        let status = ReplicaSetStatus {
            replicas: counts.replicas,
            fully_labeled_replicas: some(counts.fully_labeled),
            ready_replicas: some(counts.ready),
            available_replicas: some(counts.available),
            terminating_replicas: Some(counts.terminating),
            observed_generation: self.metadata.generation,
            conditions: conditions!(ReplicaSetCondition, known, counts.failure, now),
        };
        (self.status.as_ref() != Some(&status)).then(|| Self {
            status: Some(status),
            ..self.clone()
        })
    }
}

impl Replicated for ReplicationController {
    fn informer(workloads: &Workloads) -> &SharedInformer<Self> {
        &workloads.replication_controllers
    }

    fn replicas(&self) -> i32 {
        let spec = self.spec.as_ref();
        spec.and_then(|spec| spec.replicas).unwrap_or(1)
    }

    fn selector(&self) -> Option<LabelSelector> {
        let labels = self.spec.as_ref()?.selector.clone();
        let labels = labels.filter(|labels| !labels.is_empty())?;
        Some(LabelSelector {
            match_labels: Some(labels),
            match_expressions: None,
        })
    }

    fn template(&self) -> PodTemplateSpec {
        let template = self.spec.as_ref().and_then(|spec| spec.template.clone());
        template.unwrap_or_default()
    }

    fn min_ready_seconds(&self) -> i32 {
        let spec = self.spec.as_ref();
        spec.and_then(|spec| spec.min_ready_seconds)
            .unwrap_or_default()
    }

    fn told(&self, counts: &Counts, now: &MicroTime) -> Option<Self> {
        let known = self.status.clone().unwrap_or_default();
        let status = ReplicationControllerStatus {
            replicas: counts.replicas,
            fully_labeled_replicas: some(counts.fully_labeled),
            ready_replicas: some(counts.ready),
            available_replicas: some(counts.available),
            observed_generation: self.metadata.generation,
            conditions: conditions!(ReplicationControllerCondition, known, counts.failure, now),
        };
        (self.status.as_ref() != Some(&status)).then(|| Self {
            status: Some(status),
            ..self.clone()
        })
    }
}
