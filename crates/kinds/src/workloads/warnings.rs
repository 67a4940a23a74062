//! What the writer of a pod, or of what makes pods, should hear though it is taken.

use listwatch_api::{FieldError, FieldErrorKind, go_text, name};
use serde_json::Value;

use super::each_container;
use crate::address::address_warning;
use crate::field::{Field, Members, check};
use crate::tree::list;

mod overlaps;

const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";
const SECCOMP: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
/// Labels of nodes that others replace, since when, and by which.
const OLD_LABELS: [(&str, &str, &str); 5] = [
    ("beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "v1.17",
        "topology.kubernetes.io/region",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "v1.17",
        "topology.kubernetes.io/zone",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "v1.17",
        "node.kubernetes.io/instance-type",
    ),
];
const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];
/// Volumes that are gone or going, in the order in which they are told.
const OLD_VOLUMES: [(&str, &str, &str); 9] = [
    (
        "photonPersistentDisk",
        "",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    (
        "scaleIO",
        "",
        "deprecated in v1.16, non-functional in v1.22+",
    ),
    (
        "flocker",
        "",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "storageos",
        "storageOS",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "quobyte",
        "",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "glusterfs",
        "",
        "deprecated in v1.25, non-functional in v1.26+",
    ),
    (
        "cephfs",
        "",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
    ("rbd", "", "deprecated in v1.28, non-functional in v1.31+"),
];

/// What is odd about a pod.
pub(super) fn of_pod(pod: &Value) -> Vec<String> {
    told(pod, |pod| {
        recommend_label(pod, "the Pod's hostname");
        tell_pod(pod);
    })
}

/// What is odd about a template of pods.
pub(super) fn of_pod_template(template: &Value) -> Vec<String> {
    told(template, |object| tell_template(&object.child("template")))
}

/// What is odd about something that keeps pods with names of their own choice.
pub(super) fn of_controller(controller: &Value) -> Vec<String> {
    told(controller, |object| {
        recommend_label(object, "Pod names and hostnames");
        tell_template(&object.child("spec").child("template"));
    })
}

/// What is odd about a daemon set.
pub(super) fn of_daemon_set(set: &Value) -> Vec<String> {
    told(set, |object| {
        tell_template(&object.child("spec").child("template"))
    })
}

/// What is odd about a stateful set.
pub(super) fn of_stateful_set(set: &Value) -> Vec<String> {
    told(set, |object| {
        let spec = object.child("spec");
        tell_template(&spec.child("template"));
        for claim in spec.child("volumeClaimTemplates").elements() {
            let requests = claim.child("spec");
            tell_claim(&claim.with_value(requests.value()));
        }
        let limit = spec.child("revisionHistoryLimit");
        if limit.integer().is_some_and(|limit| limit < 0) {
            let why = "a negative value retains all historical revisions; a value >= 0 is";
            limit.remark(&format!("{why} recommended"));
        }
    })
}

/// What is odd about a job.
pub(super) fn of_job(job: &Value) -> Vec<String> {
    told(job, |object| {
        recommend_label(object, "Pod names and hostnames");
        tell_job(&object.child("spec"));
    })
}

/// What is odd about a repeated job.
pub(super) fn of_cron_job(job: &Value) -> Vec<String> {
    told(job, |object| {
        recommend_label(object, "Pod names and hostnames");
        tell_job(&object.child("spec").child("jobTemplate").child("spec"));
    })
}

fn told(object: &Value, tell: impl FnOnce(&Field<'_, '_>)) -> Vec<String> {
    let remarks = check(object, |object| tell(object));
    let texts = remarks
        .into_iter()
        .map(|remark| match remark.field.as_str() {
            "" => remark.body,
            _ => remark.to_string(),
        });
    texts.collect()
}

impl Field<'_, '_> {
    /// Says something of this field to whoever writes it.
    fn remark(&self, text: &str) {
        self.report(|path| FieldError {
            field: path.to_string(),
            kind: FieldErrorKind::Invalid,
            body: text.to_owned(),
        });
    }
}

fn recommend_label(object: &Field<'_, '_>, what: &str) {
    let metadata = object.child("metadata");
    let problems = name::check_dns_label(metadata.child("name").text());
    if !problems.is_empty() {
        let why = "which can result in surprising behavior; a DNS label is recommended";
        let list = problems.join(" ");
        metadata
            .child("name")
            .remark(&format!("this is used in {what}, {why}: [{list}]"));
    }
}

fn tell_job(spec: &Field<'_, '_>) {
    let of = |member| spec.child(member).integer().unwrap_or(0);
    let is_indexed = spec.child("completionMode").text() == "Indexed";
    if is_indexed && of("completions") > 100_000 && of("parallelism") > 10_000 {
        spec.remark(
            "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism \
             higher than 10^4, Kubernetes might not be able to track completedIndexes when a big \
             number of indexes fail",
        );
    }
    tell_template(&spec.child("template"));
}

fn tell_template(template: &Field<'_, '_>) {
    if template.is_set() {
        tell_pod(template);
    }
}

/// Tells of a pod or of a template, which has the same parts.
fn tell_pod(pod: &Field<'_, '_>) {
    let spec = pod.child("spec");
    let members = Members::of(spec.value());
    let spec = spec.spread(&members);
    tell_placement(&spec);
    let metadata = pod.child("metadata");
    let annotations = metadata.child("annotations");
    for (key, why) in OLD_ANNOTATIONS {
        if annotations.key(key).is_set() {
            annotations.key(key).remark(why);
        }
    }
    tell_volumes(&spec.child("volumes"));
    overlaps::tell(&spec.child("volumes"));
    tell_duplicates(&spec, "hostAliases", "ip");
    tell_duplicates(&spec, "imagePullSecrets", "name");
    for secret in spec.child("imagePullSecrets").elements() {
        if secret.child("name").is_empty() {
            secret.child("name").remark("invalid empty name \"\"");
        }
    }
    tell_fractions(&spec.child("overhead"));
    let context = spec.child("securityContext");
    let of_pod = annotations.key("seccomp.security.alpha.kubernetes.io/pod");
    if of_pod.is_set() && !context.child("seccompProfile").is_set() {
        of_pod.remark(SECCOMP);
    }
    each_container(&spec, |container| tell_container(container, &annotations));
    tell_ports(&spec);
    let grace = spec.child("terminationGracePeriodSeconds");
    if grace.integer().is_some_and(|seconds| seconds < 0) {
        grace.remark("must be >= 0; negative values are invalid and will be treated as 1");
    }
    tell_terms(&spec.child("affinity"));
    tell_addresses(&spec);
}

fn old_label(label: &str) -> Option<String> {
    let (_, since, new) = OLD_LABELS.iter().find(|(old, ..)| *old == label)?;
    Some(format!("deprecated since {since}; use \"{new}\" instead"))
}

fn tell_placement(spec: &Field<'_, '_>) {
    for (label, entry) in spec.child("nodeSelector").entries() {
        if let Some(why) = old_label(label) {
            entry.remark(&why);
        }
    }
    let affinity = spec.child("affinity");
    let nodes = affinity.child("nodeAffinity");
    let required = nodes.child("requiredDuringSchedulingIgnoredDuringExecution");
    for term in required.child("nodeSelectorTerms").elements() {
        tell_expressions(&term);
    }
    let preferred = nodes.child("preferredDuringSchedulingIgnoredDuringExecution");
    for preferred in preferred.elements() {
        let preference = preferred.child("preference");
        tell_expressions(&preference);
        for expression in preference.child("matchExpressions").elements() {
            for value in expression.child("values").elements() {
                for problem in name::check_label_value(value.text()) {
                    value.remark(&format!("{} is invalid, {problem}", value.text()));
                }
            }
        }
    }
    for constraint in spec.child("topologySpreadConstraints").elements() {
        let key = constraint.child("topologyKey");
        if let Some(why) = old_label(key.text()) {
            key.remark(&format!("{} is {why}", key.text()));
        }
        if !constraint.child("labelSelector").is_set() {
            constraint.child("labelSelector").remark(NO_SELECTOR);
        }
    }
}

fn tell_expressions(term: &Field<'_, '_>) {
    for expression in term.child("matchExpressions").elements() {
        let key = expression.child("key");
        if let Some(why) = old_label(key.text()) {
            key.remark(&format!("{} is {why}", key.text()));
        }
    }
}

fn tell_volumes(volumes: &Field<'_, '_>) {
    for volume in volumes.elements() {
        for (kind, shown, why) in OLD_VOLUMES {
            if volume.child(kind).is_set() {
                volume
                    .child(if shown.is_empty() { kind } else { shown })
                    .remark(why);
            }
        }
        let ephemeral = volume.child("ephemeral");
        let template = ephemeral.child("volumeClaimTemplate");
        tell_claim(&template.child("spec"));
    }
}

fn tell_claim(spec: &Field<'_, '_>) {
    let resources = spec.child("resources");
    for list in ["requests", "limits"] {
        tell_fraction(&resources.child(list).key("storage"));
    }
}

fn tell_fraction(amount: &Field<'_, '_>) {
    if amount.is_set() && amount.quantity().whole().is_none() {
        let text = go_text::quote(amount.text());
        amount.remark(&format!(
            "fractional byte value {text} is invalid, must be an integer"
        ));
    }
}

fn tell_fractions(amounts: &Field<'_, '_>) {
    for resource in ["memory", "ephemeral-storage"] {
        tell_fraction(&amounts.key(resource));
    }
}

fn tell_duplicates(spec: &Field<'_, '_>, list: &str, member: &str) {
    let mut seen = Vec::new();
    for element in spec.child(list).elements() {
        let text = element.value()[member].as_str().unwrap_or_default();
        if seen.contains(&text) {
            let quoted = go_text::quote(text);
            element
                .child(member)
                .remark(&format!("duplicate {member} {quoted}"));
        } else {
            seen.push(text);
        }
    }
}

fn tell_container(container: &Field<'_, '_>, annotations: &Field<'_, '_>) {
    let members = Members::of(container.value());
    let container = container.spread(&members);
    let name = container.child("name").text();
    let context = container.child("securityContext");
    let of_container = |(key, _): &(&str, Field<'_, '_>)| {
        key.strip_prefix("container.seccomp.security.alpha.kubernetes.io/") == Some(name)
    };
    let annotation = annotations.entries().find(of_container);
    if let Some((_, annotation)) = annotation
        && !context.child("seccompProfile").is_set()
    {
        annotation.remark(SECCOMP);
    }
    let resources = container.child("resources");
    let [limits, requests] = resources.members(["limits", "requests"]);
    for resource in ["memory", "ephemeral-storage"] {
        for list in [&limits, &requests] {
            tell_fraction(&list.key(resource));
        }
    }
    let mut seen = Vec::new();
    for variable in container.child("env").elements() {
        let name = variable.value()["name"].as_str().unwrap_or_default();
        if !seen.contains(&name) {
            seen.push(name);
            continue;
        }
        let old = format!("$({name})");
        let value = variable.child("value");
        let hides = !value.text().contains(&old) || value.text() == old;
        if hides || variable.child("valueFrom").is_set() {
            let quoted = go_text::quote(name);
            let why = "which may be dropped when using apply";
            variable.remark(&format!("hides previous definition of {quoted}, {why}"));
        }
    }
}

/// A port, and the way to it: a list of containers, one of them, and its place there.
struct Port<'v> {
    place: (&'static str, usize, usize),
    value: &'v Value,
}

impl Port<'_> {
    fn path(&self, spec: &Field<'_, '_>) -> String {
        let (list, container, port) = self.place;
        let list = spec.child(list);
        let container = list.index(container);
        container.child("ports").index(port).path().to_string()
    }

    fn number(&self, member: &str) -> i64 {
        self.value[member].as_i64().unwrap_or(0)
    }

    fn text(&self, member: &str) -> &str {
        self.value[member].as_str().unwrap_or_default()
    }

    fn clash(&self, other: &Self) -> Option<&'static str> {
        let is_other = self.number("containerPort") != other.number("containerPort")
            || self.text("protocol") != other.text("protocol");
        let [own, theirs] = [self.number("hostPort"), other.number("hostPort")];
        let [here, there] = [self.text("hostIP"), other.text("hostIP")];
        match () {
            () if is_other => None,
            () if own == theirs && here == there => Some("duplicate"),
            () if own == 0 || theirs == 0 => Some("overlapping"),
            () if own == theirs && here.is_empty() != there.is_empty() => {
                Some("dangerously ambiguous")
            }
            () => None,
        }
    }
}

fn tell_ports(spec: &Field<'_, '_>) {
    let ports = ports_of(spec);
    for (index, port) in ports.iter().enumerate() {
        for other in &ports[..index] {
            if let Some(word) = port.clash(other) {
                let text = format!("{word} port definition with {}", other.path(spec));
                remark_of(spec, port, &text);
            }
        }
    }
    for (index, port) in ports.iter().enumerate() {
        let name = port.text("name");
        let mut earlier = ports[..index].iter();
        let other = earlier.find(|other| !name.is_empty() && other.text("name") == name);
        if let Some(other) = other.map(|other| other.path(spec)) {
            let quoted = go_text::quote(name);
            let why = "services and probes that select ports by name will use";
            let text = format!("duplicate port name {quoted} with {other}, {why} {other}");
            remark_of(spec, port, &text);
        }
    }
}

fn remark_of(spec: &Field<'_, '_>, port: &Port<'_>, text: &str) {
    let (list, container, index) = port.place;
    let list = spec.child(list);
    let container = list.index(container);
    container.child("ports").index(index).remark(text);
}

fn ports_of<'v>(spec: &Field<'v, '_>) -> Vec<Port<'v>> {
    let mut ports = Vec::new();
    for name in ["initContainers", "containers", "ephemeralContainers"] {
        let containers = list(spec.value(), name).iter().enumerate();
        for (container, value) in containers {
            for (index, value) in list(value, "ports").iter().enumerate() {
                ports.push(Port {
                    place: (name, container, index),
                    value,
                });
            }
        }
    }
    ports
}

fn tell_terms(affinity: &Field<'_, '_>) {
    for direction in ["podAffinity", "podAntiAffinity"] {
        let direction = affinity.child(direction);
        let required = direction.child("requiredDuringSchedulingIgnoredDuringExecution");
        for term in required.elements() {
            if !term.child("labelSelector").is_set() {
                term.child("labelSelector").remark(NO_SELECTOR);
            }
        }
        let preferred = direction.child("preferredDuringSchedulingIgnoredDuringExecution");
        for preferred in preferred.elements() {
            let term = preferred.child("podAffinityTerm");
            if !term.child("labelSelector").is_set() {
                term.child("labelSelector").remark(NO_SELECTOR);
            }
        }
    }
}

fn tell_addresses(spec: &Field<'_, '_>) {
    let tell = |address: &Field<'_, '_>| {
        if let Some(warning) = address_warning("", address.text()) {
            address.remark(warning.trim_start_matches(": "));
        }
    };
    let config = spec.child("dnsConfig");
    config
        .child("nameservers")
        .elements()
        .for_each(|server| tell(&server));
    for alias in spec.child("hostAliases").elements() {
        tell(&alias.child("ip"));
    }
}
