//! Pods: how many containers are ready, and the one word that says what the pod is doing.

use jiff::Timestamp;
use listwatch_api::timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{NONE, age, each, labels},
};

pub(super) const PRINTERS: Printers = &[("pods", pod), ("podtemplates", pod_template)];

fn pod(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let summary = Summary::of(object);
    cells![
        object.name(),
        format!("{}/{}", summary.ready, container_count(object)),
        summary.reason,
        summary.restarts.display(now),
        age(object, now),
        address(object),
        object.get("spec.nodeName").text_or(NONE),
        object.get("status.nominatedNodeName").text_or(NONE),
        readiness_gates(object),
    ]
}

fn pod_template(object: Field<'_>, _now: Timestamp) -> Vec<Value> {
    let containers = object.get("template.spec.containers");
    cells![
        object.name(),
        each(containers, "name"),
        each(containers, "image"),
        labels(object.get("template.metadata.labels")),
    ]
}

/// Why nothing more is to be expected of a pod, if so.
pub(super) fn completion(object: Field<'_>) -> Option<&'static str> {
    match object.get("status.phase").text() {
        "Succeeded" => Some("Succeeded"),
        "Failed" => Some("Failed"),
        _ => None,
    }
}

/// What the statuses of the containers add up to.
struct Summary {
    ready: usize,
    reason: String,
    restarts: Restarts,
}

/// How far the init containers have come.
enum Initialization {
    Done,
    /// One of them is running, waiting or has failed.
    Stuck {
        reason: String,
    },
}

#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    latest: Option<Timestamp>,
}

impl Summary {
    fn of(object: Field<'_>) -> Self {
        let mut summary = Self {
            ready: 0,
            reason: phase_or_reason(object),
            restarts: Restarts::default(),
        };
        let mut sidecar_restarts = Restarts::default();
        let initialized = match summary.count_init_containers(object, &mut sidecar_restarts) {
            Initialization::Done => true,
            Initialization::Stuck { reason } => {
                summary.reason = reason;
                object.get("status.conditions").has_condition("Initialized")
            }
        };
        if initialized {
            summary.restarts = sidecar_restarts;
            summary.count_containers(object);
        }
        if let Some(reason) = deletion_reason(object) {
            summary.reason = reason.to_owned();
        }
        summary
    }

    fn count_init_containers(
        &mut self,
        object: Field<'_>,
        sidecar_restarts: &mut Restarts,
    ) -> Initialization {
        for (index, status) in object
            .get("status.initContainerStatuses")
            .items()
            .enumerate()
        {
            self.restarts.add(status);
            let is_sidecar = is_sidecar(object, status.member("name").text());
            if is_sidecar {
                sidecar_restarts.add(status);
            }
            let terminated = status.get("state.terminated");
            if terminated.is_set() && terminated.member("exitCode").integer() == 0 {
                continue;
            }
            if is_sidecar && status.member("started").is_true() {
                self.ready += usize::from(status.member("ready").is_true());
                continue;
            }
            let reason = init_reason(object, status, index);
            return Initialization::Stuck { reason };
        }
        Initialization::Done
    }

    fn count_containers(&mut self, object: Field<'_>) {
        let mut some_run = false;
        for status in object.get("status.containerStatuses").items().rev() {
            self.restarts.add(status);
            if let Some(reason) = stopped_reason(status) {
                self.reason = reason;
            } else if status.member("ready").is_true() && status.get("state.running").is_set() {
                some_run = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" && some_run {
            let is_ready = object.get("status.conditions").has_condition("Ready");
            self.reason = if is_ready { "Running" } else { "NotReady" }.to_owned();
        }
    }
}

impl Restarts {
    fn add(&mut self, status: Field<'_>) {
        let count = status.member("restartCount").integer();
        self.count = self.count.saturating_add(count);
        let finished = status.get("lastState.terminated.finishedAt").timestamp();
        self.latest = self.latest.max(finished);
    }

    fn display(self, now: Timestamp) -> String {
        match self.latest {
            Some(latest) if self.count != 0 => {
                format!("{} ({} ago)", self.count, timestamp::age(latest, now))
            }
            _ => self.count.to_string(),
        }
    }
}

fn phase_or_reason(object: Field<'_>) -> String {
    let conditions = object.get("status.conditions");
    let is_gated = |condition: Field<'_>| {
        condition.member("type").is("PodScheduled")
            && condition.member("reason").is("SchedulingGated")
    };
    if conditions.items().any(is_gated) {
        return "SchedulingGated".to_owned();
    }
    let phase = object.get("status.phase").text();
    object.get("status.reason").text_or(phase).to_owned()
}

fn init_reason(object: Field<'_>, status: Field<'_>, index: usize) -> String {
    if status.get("state.terminated").is_set() {
        return format!("Init:{}", terminated_reason(status));
    }
    match status.get("state.waiting.reason").text() {
        "" | "PodInitializing" => {
            format!("Init:{index}/{}", object.get("spec.initContainers").count())
        }
        reason => format!("Init:{reason}"),
    }
}

/// Why a container is not running, if it is not.
fn stopped_reason(status: Field<'_>) -> Option<String> {
    match status.get("state.waiting.reason").text() {
        "" if status.get("state.terminated").is_set() => Some(terminated_reason(status)),
        "" => None,
        reason => Some(reason.to_owned()),
    }
}

fn terminated_reason(status: Field<'_>) -> String {
    let terminated = status.get("state.terminated");
    let signal = terminated.member("signal").integer();
    match terminated.member("reason").text() {
        "" if signal != 0 => format!("Signal:{signal}"),
        "" => format!("ExitCode:{}", terminated.member("exitCode").integer()),
        reason => reason.to_owned(),
    }
}

fn deletion_reason(object: Field<'_>) -> Option<&'static str> {
    if !object.is_being_deleted() {
        None
    } else if object.get("status.reason").is("NodeLost") {
        Some("Unknown")
    } else if completion(object).is_none() {
        Some("Terminating")
    } else {
        None
    }
}

/// Init containers that go on running beside the others count as containers.
fn container_count(object: Field<'_>) -> usize {
    let init_containers = object.get("spec.initContainers").items();
    let sidecars =
        init_containers.filter(|container| container.member("restartPolicy").is("Always"));
    object.get("spec.containers").count() + sidecars.count()
}

fn is_sidecar(object: Field<'_>, name: &str) -> bool {
    let mut init_containers = object.get("spec.initContainers").items().rev();
    init_containers
        .find(|container| container.member("name").text() == name)
        .is_some_and(|container| container.member("restartPolicy").is("Always"))
}

fn address(object: Field<'_>) -> &str {
    let address = object.get("status.podIP").text_or(NONE);
    object
        .get("status.podIPs")
        .first()
        .member("ip")
        .text_or(address)
}

fn readiness_gates(object: Field<'_>) -> String {
    let gates = object.get("spec.readinessGates");
    if gates.count() == 0 {
        return NONE.to_owned();
    }
    let conditions = object.get("status.conditions");
    let open = gates
        .items()
        .filter(|gate| conditions.has_condition(gate.member("conditionType").text()));
    format!("{}/{}", open.count(), gates.count())
}

#[cfg(test)]
mod tests;
