//! The stages of a pod's life, and what it says of itself in each.

mod work;

use std::time::Duration;

use k8s_openapi::{
    api::core::v1::{
        Container, ContainerState, ContainerStateRunning, ContainerStateTerminated,
        ContainerStateWaiting, ContainerStatus, HostIP, Pod, PodCondition, PodIP, PodStatus,
    },
    apimachinery::pkg::apis::meta::v1::{MicroTime, Time},
};

use crate::moment;

/// With which code the containers of a pod end that do not run for ever; if it says none, as their
/// commands do.
const EXIT_CODE: &str = "listwatch.simulation/exit-code";

/// The address of all nodes.
const HOST_ADDRESS: &str = "192.0.2.1";

/// Why a container waits.
const CREATING: &str = "ContainerCreating";
const NO_IMAGE: &str = "ImagePullBackOff";

/// What a pod waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A node.
    Unplaced,
    /// The node to take notice.
    Placed,
    /// Its containers to start.
    Starting,
    /// Its work to be done.
    Working,
    /// Its containers to end, since it was deleted.
    Ending,
}

impl Stage {
    /// The stage of a pod; `None` if nothing happens to it by itself.
    pub(super) fn of(pod: &Pod) -> Option<Self> {
        let spec = pod.spec.as_ref()?;
        let status = pod.status.as_ref();
        let phase = status
            .and_then(|it| it.phase.as_deref())
            .unwrap_or("Pending");
        if spec.node_name.is_none() {
            let is_going = pod.metadata.deletion_timestamp.is_some();
            return (!is_going && phase == "Pending").then_some(Self::Unplaced);
        }
        if pod.metadata.deletion_timestamp.is_some() {
            return Some(Self::Ending);
        }
        match phase {
            "Pending" if status.is_none_or(|it| it.start_time.is_none()) => Some(Self::Placed),
            "Pending" if spec.containers.iter().any(work::lacks_image) => {
                let is_told = status.is_some_and(says_what_it_lacks);
                (!is_told).then_some(Self::Starting)
            }
            "Pending" => Some(Self::Starting),
            "Running" if spec.restart_policy.as_deref().unwrap_or("Always") != "Always" => {
                work::duration(spec).map(|_| Self::Working)
            }
            _ => None,
        }
    }

    /// How long it lasts.
    pub(super) fn duration(self, pod: &Pod) -> Duration {
        let grace = pod
            .metadata
            .deletion_grace_period_seconds
            .unwrap_or_default();
        let grace = Duration::from_secs(u64::try_from(grace).unwrap_or_default());
        match self {
            Self::Unplaced | Self::Placed => Duration::ZERO,
            Self::Starting => Duration::from_millis(300),
            Self::Working => {
                let spec = pod.spec.as_ref();
                spec.and_then(work::duration).unwrap_or_default()
            }
            Self::Ending => grace.min(Duration::from_millis(500)),
        }
    }
}

/// Writes down that a stage is over.
pub(super) fn advance(pod: &mut Pod, stage: Stage, (now, address): (&MicroTime, &str)) {
    let now = moment::second(now);
    let containers = pod
        .spec
        .as_ref()
        .map_or_else(Vec::new, |spec| spec.containers.clone());
    let exit_code = exit_code(pod);
    let status = pod.status.get_or_insert_default();
    match stage {
        Stage::Placed => take_notice(status, &containers, &now),
        Stage::Starting if containers.iter().any(work::lacks_image) => {
            wait_for_images(status, &containers);
        }
        Stage::Starting => start(status, &containers, (&now, address)),
        Stage::Working => end(status, &now, exit_code),
        Stage::Unplaced | Stage::Ending => {}
    }
}

fn exit_code(pod: &Pod) -> i32 {
    let annotations = pod.metadata.annotations.as_ref();
    let text = annotations.and_then(|annotations| annotations.get(EXIT_CODE));
    let given = text.and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| pod.spec.as_ref().map_or(0, work::exit_code))
}

fn take_notice(status: &mut PodStatus, containers: &[Container], now: &Time) {
    status.phase = Some("Pending".to_owned());
    status.start_time = Some(now.clone());
    status.host_ip = Some(HOST_ADDRESS.to_owned());
    status.host_ips = Some(vec![HostIP {
        ip: HOST_ADDRESS.to_owned(),
    }]);
    for (type_, value) in [
        ("PodReadyToStartContainers", "False"),
        ("Initialized", "True"),
        ("Ready", "False"),
        ("ContainersReady", "False"),
        ("PodScheduled", "True"),
    ] {
        set(status, (type_, value), now);
    }
    let told = containers
        .iter()
        .map(|it| told(it, &waiting(CREATING, None)));
    status.container_statuses = Some(told.collect());
}

/// Some containers wait for their images for ever, and the others with them.
fn wait_for_images(status: &mut PodStatus, containers: &[Container]) {
    let told = containers.iter().map(|container| {
        let image = container.image.as_deref().unwrap_or_default();
        let state = match work::lacks_image(container) {
            true => waiting(NO_IMAGE, Some(format!("Back-off pulling image {image:?}"))),
            false => waiting(CREATING, None),
        };
        told(container, &state)
    });
    status.container_statuses = Some(told.collect());
}

fn says_what_it_lacks(status: &PodStatus) -> bool {
    let states = status.container_statuses.iter().flatten();
    let mut reasons = states.filter_map(|it| it.state.as_ref()?.waiting.as_ref()?.reason.as_ref());
    reasons.any(|reason| reason == NO_IMAGE)
}

fn waiting(reason: &str, message: Option<String>) -> ContainerState {
    ContainerState {
        waiting: Some(ContainerStateWaiting {
            reason: Some(reason.to_owned()),
            message,
        }),
        ..ContainerState::default()
    }
}

fn start(status: &mut PodStatus, containers: &[Container], (now, address): (&Time, &str)) {
    status.phase = Some("Running".to_owned());
    status.pod_ip = Some(address.to_owned());
    status.pod_ips = Some(vec![PodIP {
        ip: address.to_owned(),
    }]);
    for type_ in ["PodReadyToStartContainers", "ContainersReady", "Ready"] {
        set(status, (type_, "True"), now);
    }
    let running = ContainerState {
        running: Some(ContainerStateRunning {
            started_at: Some(now.clone()),
        }),
        ..ContainerState::default()
    };
    let told = containers.iter().map(|container| told(container, &running));
    status.container_statuses = Some(told.collect());
}

fn end(status: &mut PodStatus, now: &Time, exit_code: i32) {
    let (phase, reason) = match exit_code {
        0 => ("Succeeded", "Completed"),
        _ => ("Failed", "Error"),
    };
    status.phase = Some(phase.to_owned());
    for type_ in ["PodReadyToStartContainers", "ContainersReady", "Ready"] {
        set(status, (type_, "False"), now);
    }
    for container in status.container_statuses.iter_mut().flatten() {
        let running = container.state.take().and_then(|state| state.running);
        container.ready = false;
        container.started = Some(false);
        container.state = Some(ContainerState {
            terminated: Some(ContainerStateTerminated {
                exit_code,
                reason: Some(reason.to_owned()),
                started_at: running.and_then(|running| running.started_at),
                finished_at: Some(now.clone()),
                ..ContainerStateTerminated::default()
            }),
            ..ContainerState::default()
        });
    }
}

fn told(container: &Container, state: &ContainerState) -> ContainerStatus {
    let ready = state.running.is_some();
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        image_id: String::new(),
        ready,
        started: Some(ready),
        state: Some(state.clone()),
        ..ContainerStatus::default()
    }
}

fn set(status: &mut PodStatus, (type_, value): (&str, &str), now: &Time) {
    let conditions = status.conditions.get_or_insert_default();
    let reason = matches!((type_, value), ("Ready" | "ContainersReady", "False"))
        .then(|| "ContainersNotReady".to_owned());
    let known = conditions.iter_mut().find(|it| it.type_ == type_);
    match known {
        Some(known) if known.status == value => {}
        Some(known) => {
            known.status = value.to_owned();
            known.reason = reason;
            known.last_transition_time = Some(now.clone());
        }
        None => conditions.push(PodCondition {
            type_: type_.to_owned(),
            status: value.to_owned(),
            reason,
            last_transition_time: Some(now.clone()),
            ..PodCondition::default()
        }),
    }
}
