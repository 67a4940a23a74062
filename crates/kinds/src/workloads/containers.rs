//! The containers of a pod: those that run, those that run before, and those that look in.

use std::cell::Cell;

use listwatch_api::{FieldError, name};
use serde_json::Value;

use super::env::{Files, check_env, check_env_from};
use super::mounts::{check_devices, check_mounts};
use super::probes::{Probe, check_lifecycle, check_probe};
use super::resources::{ClaimNames, ResourceNames, check_requirements};
use super::security::check_security_context;
use super::volumes::Volumes;
use crate::field::{Field, Members, port_name_problems};

const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const NOT_FOR_INIT: &str = "may not be set for init containers without restartPolicy=Always";
const NOT_FOR_EPHEMERAL: &str = "cannot be set for an Ephemeral Container";
/// What a look into a pod cannot have, in the order in which it is refused.
const NOT_IN_EPHEMERAL: [&str; 9] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// What containers are checked against: the pod around them.
pub(super) struct Surroundings<'v> {
    pub(super) volumes: Volumes<'v>,
    pub(super) claims: ClaimNames<'v>,
    pub(super) spec: &'v Value,
    /// What only few containers have, so that all others are not asked for it again.
    pub(super) rarities: Cell<Rarities>,
}

/// Which rarities were seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rarities {
    pub(super) files: Files,
    pub(super) windows: Windows,
}

/// Whether a container has options for Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Windows {
    Unheard,
    Mentioned,
}

impl Surroundings<'_> {
    fn restart_policy(&self) -> &str {
        self.spec["restartPolicy"].as_str().unwrap_or_default()
    }

    /// Seconds that a pod gets to end, unless what it says makes no sense.
    pub(super) fn grace_seconds(&self) -> Option<i64> {
        self.spec["terminationGracePeriodSeconds"].as_i64()
    }
}

/// Checks the containers that run.
pub(super) fn check_containers(containers: &Field<'_, '_>, around: &Surroundings<'_>) {
    if !containers.need() {
        return;
    }
    let mut names = Vec::new();
    for container in containers.elements() {
        let members = Members::of(container.value());
        let container = container.spread(&members);
        check_common(&container, around);
        let name = container.child("name");
        match names.contains(&name.text()) {
            true => name.duplicate(),
            false => names.push(name.text()),
        }
        check_life(&container, around);
        check_restart_policy(&container);
    }
    check_host_ports(containers.elements());
}

/// Checks the containers that run before, one after the other or beside.
pub(super) fn check_init_containers(spec: &Field<'_, '_>, around: &Surroundings<'_>) {
    let regular = spec.child("containers");
    let mut names: Vec<&str> = regular
        .elements()
        .map(|one| one.child("name").text())
        .collect();
    let containers = spec.child("initContainers");
    for container in containers.elements() {
        check_common(&container, around);
        check_restart_policy(&container);
        let name = container.child("name");
        match names.contains(&name.text()) {
            true => name.duplicate(),
            false if !name.is_empty() => names.push(name.text()),
            false => {}
        }
        // Each runs alone, and Kubernetes counts it as the first.
        let first = containers.index(0);
        check_host_ports(std::iter::once(first.with_value(container.value())));
        let is_sidecar = container.child("restartPolicy").text() == "Always";
        if is_sidecar {
            check_life(&container, around);
        } else {
            for member in [
                "lifecycle",
                "livenessProbe",
                "readinessProbe",
                "startupProbe",
            ] {
                if let Some(member) = container.given(member) {
                    member.forbidden(NOT_FOR_INIT);
                }
            }
            refuse_restarts(&container);
        }
    }
}

fn refuse_restarts(container: &Field<'_, '_>) {
    for policy in container.child("resizePolicy").elements() {
        let policy = policy.child("restartPolicy");
        if policy.text() == "RestartContainer" {
            policy.invalid("must not be set to 'RestartContainer' for non-sidecar initContainers");
        }
    }
}

/// Checks the containers that look into a running pod.
pub(super) fn check_ephemeral_containers(spec: &Field<'_, '_>, around: &Surroundings<'_>) {
    let lists = ["containers", "initContainers"].map(|list| spec.child(list));
    let others = lists.iter().flat_map(Field::elements);
    let others: Vec<&str> = others
        .map(|container| text_of(container.value(), "name"))
        .collect();
    let mut names = others.clone();
    for container in spec.child("ephemeralContainers").elements() {
        check_common(&container, around);
        check_only_in_pods(&container);
        let name = container.child("name");
        match names.contains(&name.text()) {
            true => name.duplicate(),
            false => names.push(name.text()),
        }
        let target = container.child("targetContainerName");
        if !target.is_empty() && !others.contains(&target.text()) {
            target.not_found();
        }
        for member_name in NOT_IN_EPHEMERAL {
            let member = container.child(member_name);
            // A list and `resources` may be there and empty; the others are there to be used.
            let may_be_empty = member.value().is_array() || member_name == "resources";
            if member.is_set() && !(may_be_empty && member.is_empty()) {
                member.forbidden(NOT_FOR_EPHEMERAL);
            }
        }
        for mount in container.child("volumeMounts").elements() {
            for member in ["subPath", "subPathExpr"] {
                if !mount.child(member).is_empty() {
                    mount.child(member).forbidden(NOT_FOR_EPHEMERAL);
                }
            }
        }
    }
}

fn text_of<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

/// What holds for the containers of a pod though not for those of a template.
pub(super) fn check_only_in_pods(container: &Field<'_, '_>) {
    let image = container.child("image");
    if image.text().trim() != image.text() {
        image.invalid("must not have leading or trailing whitespace");
    }
}

fn check_common(container: &Field<'_, '_>, around: &Surroundings<'_>) {
    let [
        env,
        env_from,
        image,
        pull_policy,
        name,
        ports,
        resize_policy,
        resources,
        context,
        message_policy,
        devices,
        mounts,
    ] = container.members([
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "name",
        "ports",
        "resizePolicy",
        "resources",
        "securityContext",
        "terminationMessagePolicy",
        "volumeDevices",
        "volumeMounts",
    ]);
    name.need_named(name::check_dns_label);
    image.need();
    message_policy.need_one_of(&["File", "FallbackToLogsOnError"]);
    check_ports(&ports);
    let mut rarities = around.rarities.get();
    if check_env(&env) == Files::Read {
        rarities.files = Files::Read;
    }
    if context.child("windowsOptions").is_set() {
        rarities.windows = Windows::Mentioned;
    }
    around.rarities.set(rarities);
    check_env_from(&env_from);
    check_mounts(&mounts, &devices, &context, &around.volumes);
    check_devices(&devices, &mounts, &around.volumes);
    pull_policy.need_one_of(&super::PULL_POLICIES);
    check_requirements(&resources, ResourceNames::OfContainers, &around.claims);
    check_resize_policy(&resize_policy, around);
    if context.is_set() {
        check_security_context(&context, around.spec);
    }
}

fn check_life(container: &Field<'_, '_>, around: &Surroundings<'_>) {
    let [lifecycle, liveness, readiness, startup] = container.members([
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ]);
    if lifecycle.is_set() {
        check_lifecycle(&lifecycle, around);
    }
    for (probe, kind) in [
        (liveness, Probe::Liveness),
        (readiness, Probe::Readiness),
        (startup, Probe::Startup),
    ] {
        if probe.is_set() {
            check_probe(&probe, kind);
        }
    }
}

fn check_ports(ports: &Field<'_, '_>) {
    let mut names = Vec::new();
    for port in ports.elements() {
        let [own, of_host, name, protocol] =
            port.members(["containerPort", "hostPort", "name", "protocol"]);
        if !name.is_empty() {
            let problems = port_name_problems(name.text());
            problems.iter().for_each(|problem| name.invalid(problem));
            if problems.is_empty() && names.contains(&name.text()) {
                name.duplicate();
            } else if problems.is_empty() {
                names.push(name.text());
            }
        }
        if own.need() {
            own.port_number();
        }
        if !of_host.is_empty() {
            of_host.port_number();
        }
        protocol.need_one_of(&["SCTP", "TCP", "UDP"]);
    }
}

/// No two containers can have the same port of their node.
fn check_host_ports<'v: 'p, 'p>(containers: impl Iterator<Item = Field<'v, 'p>>) {
    let mut taken: Vec<(&str, &str, i64)> = Vec::new();
    for container in containers {
        for port in container.child("ports").elements() {
            let value = port.value();
            let number = value["hostPort"].as_i64().unwrap_or(0);
            if number == 0 {
                continue;
            }
            let claim = (text_of(value, "protocol"), text_of(value, "hostIP"), number);
            if taken.contains(&claim) {
                let shown = format!("{}/{}/{}", claim.0, claim.1, claim.2);
                let place = port.child("hostPort");
                place.report(|path| FieldError::duplicate(path, shown.as_str()));
            } else {
                taken.push(claim);
            }
        }
    }
}

fn check_resize_policy(policies: &Field<'_, '_>, around: &Surroundings<'_>) {
    let mut names = Vec::new();
    for policy in policies.elements() {
        let (resource, restart) = (
            text_of(policy.value(), "resourceName"),
            text_of(policy.value(), "restartPolicy"),
        );
        if names.contains(&resource) {
            policy.report(|path| FieldError::duplicate(path, resource));
        }
        names.push(resource);
        need_one_of(policies, resource, &["cpu", "memory"]);
        need_one_of(policies, restart, &["NotRequired", "RestartContainer"]);
        if around.restart_policy() == "Never" && restart != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            policies.invalid_value(restart, why);
        }
    }
}

/// Reports of the whole list what is wrong with one of its members.
fn need_one_of(list: &Field<'_, '_>, text: &str, supported: &[&str]) {
    match text {
        "" => list.required(""),
        text if !supported.contains(&text) => {
            list.report(|path| FieldError::not_supported(path, text, supported));
        }
        _ => {}
    }
}

fn check_restart_policy(container: &Field<'_, '_>) {
    let [policy, rules] = container.members(["restartPolicy", "restartPolicyRules"]);
    if policy.is_set() {
        policy.one_of(&["Always", "Never", "OnFailure"]);
    } else if rules.is_empty() {
        return;
    } else {
        policy.required("must specify restartPolicy when restart rules are used");
    }
    if rules.count() > RULES_MAX {
        rules.report(|path| FieldError::too_many(path, rules.count(), RULES_MAX));
    }
    for rule in rules.elements() {
        rule.child("action")
            .one_of(&["Restart", "RestartAllContainers"]);
        let codes = rule.child("exitCodes");
        if !codes.is_set() {
            codes.required("must be specified");
            continue;
        }
        codes.child("operator").one_of(&["In", "NotIn"]);
        let values = codes.child("values");
        if values.count() > EXIT_CODES_MAX {
            values.report(|path| FieldError::too_many(path, values.count(), EXIT_CODES_MAX));
        }
    }
}
