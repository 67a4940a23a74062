//! What a pod or a template of pods means where it says nothing.

use serde_json::{Map, Value, json};

use super::image;
use crate::field::Quantity;
use crate::tree::{clear, each, fill, is_empty, part};

const SECONDS_OF_GRACE: i64 = 30;
const FILE_MODE: i64 = 0o644;
const TOKEN_SECONDS: i64 = 3_600;

/// Fills in a pod.
pub(super) fn fill_pod(pod: &mut Value) {
    let spec = own(pod, "spec");
    let grace = part(spec, "terminationGracePeriodSeconds");
    if let Some(grace) = grace.filter(|grace| grace.as_i64() < Some(0)) {
        *grace = json!(1);
    }
    for list in ["containers", "initContainers"] {
        for container in each(spec, list) {
            request_what_is_limited(container);
        }
    }
    fill(spec, "enableServiceLinks", true);
    if spec["hostNetwork"] == true {
        for list in ["containers", "initContainers"] {
            each(spec, list).for_each(publish_ports);
        }
    }
    fill_pod_spec(spec);
    if let Some(status) = part(pod, "status") {
        fill_addresses(status);
    }
}

/// Fills in a template of pods at `field`, whose labels and spec it has.
pub(super) fn fill_template(parent: &mut Value, field: &str) {
    fill_pod_spec(own(own(parent, field), "spec"));
}

/// The member with this name, made where it is missing.
pub(super) fn own<'v>(parent: &'v mut Value, field: &str) -> &'v mut Value {
    fill(parent, field, Map::new());
    &mut parent[field]
}

fn fill_pod_spec(spec: &mut Value) {
    let account = match spec["serviceAccountName"].as_str().unwrap_or_default() {
        "" => spec["serviceAccount"].as_str().unwrap_or_default(),
        name => name,
    };
    if !account.is_empty() {
        let account = json!(account);
        spec["serviceAccount"] = account.clone();
        spec["serviceAccountName"] = account;
    }
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "restartPolicy", "Always");
    fill(spec, "securityContext", Map::new());
    fill(spec, "terminationGracePeriodSeconds", SECONDS_OF_GRACE);
    fill(spec, "schedulerName", "default-scheduler");
    each(spec, "volumes").for_each(fill_volume);
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        each(spec, list).for_each(fill_container);
    }
    round_amounts(spec, "overhead");
    if let Some(resources) = part(spec, "resources") {
        round_requirements(resources);
    }
}

/// One walk along what a container has, where a search for all it may have would take longer.
fn fill_container(container: &mut Value) {
    let Some(members) = container.as_object_mut() else {
        return;
    };
    let mut pull_policy = pull_policy_of("");
    let mut missing = [
        "imagePullPolicy",
        "terminationMessagePath",
        "terminationMessagePolicy",
    ]
    .map(Some);
    for (name, member) in members.iter_mut().filter(|(_, member)| !member.is_null()) {
        match name.as_str() {
            "env" => elements(member).for_each(fill_variable),
            "image" => pull_policy = pull_policy_of(member.as_str().unwrap_or_default()),
            "imagePullPolicy" => note(&mut missing[0], member),
            "lifecycle" => fill_lifecycle(member),
            "livenessProbe" | "readinessProbe" | "startupProbe" => fill_probe(member),
            "ports" => elements(member).for_each(|port| fill(port, "protocol", "TCP")),
            "resources" => round_requirements(member),
            "terminationMessagePath" => note(&mut missing[1], member),
            "terminationMessagePolicy" => note(&mut missing[2], member),
            _ => {}
        }
    }
    let values = [pull_policy, "/dev/termination-log", "File"];
    for (name, value) in missing.into_iter().zip(values) {
        if let Some(name) = name {
            members.insert(name.to_owned(), value.into());
        }
    }
}

/// Forgets that something is missing which is there.
fn note(missing: &mut Option<&str>, member: &Value) {
    if !is_empty(member) {
        *missing = None;
    }
}

fn elements(list: &mut Value) -> impl Iterator<Item = &mut Value> {
    list.as_array_mut().into_iter().flatten()
}

fn pull_policy_of(image: &str) -> &'static str {
    match image::tag(image) {
        Some("latest") => "Always",
        _ => "IfNotPresent",
    }
}

fn fill_variable(variable: &mut Value) {
    let Some(source) = part(variable, "valueFrom") else {
        return;
    };
    fill_field_reference(source);
    if let Some(file) = part(source, "fileKeyRef") {
        fill(file, "optional", false);
    }
}

fn fill_lifecycle(lifecycle: &mut Value) {
    // Nobody has signals of their own yet.
    clear(lifecycle, "stopSignal");
    for hook in ["postStart", "preStop"] {
        if let Some(hook) = part(lifecycle, hook) {
            fill_http_get(hook);
        }
    }
}

fn fill_probe(probe: &mut Value) {
    fill_zero(probe, "timeoutSeconds", 1);
    fill_zero(probe, "periodSeconds", 10);
    fill_zero(probe, "successThreshold", 1);
    fill_zero(probe, "failureThreshold", 3);
    fill_http_get(probe);
    if let Some(call) = part(probe, "grpc") {
        fill(call, "service", "");
    }
}

fn fill_http_get(handler: &mut Value) {
    if let Some(request) = part(handler, "httpGet") {
        fill(request, "path", "/");
        fill(request, "scheme", "HTTP");
    }
}

fn fill_field_reference(source: &mut Value) {
    if let Some(reference) = part(source, "fieldRef") {
        fill(reference, "apiVersion", "v1");
    }
}

fn fill_volume(volume: &mut Value) {
    let Some(members) = volume.as_object_mut() else {
        return;
    };
    if !members
        .iter()
        .any(|(name, value)| name != "name" && !value.is_null())
    {
        members.insert("emptyDir".to_owned(), json!({}));
        return;
    }
    for (source, value) in members {
        fill_volume_source(source, value);
    }
}

fn fill_volume_source(source: &str, value: &mut Value) {
    if !value.is_object() {
        return;
    }
    match source {
        "hostPath" => fill_absent(value, "type", ""),
        "secret" | "configMap" => fill(value, "defaultMode", FILE_MODE),
        "downwardAPI" => {
            fill(value, "defaultMode", FILE_MODE);
            each(value, "items").for_each(fill_field_reference);
        }
        "projected" => fill_projection(value),
        "ephemeral" => {
            let template = part(value, "volumeClaimTemplate");
            if let Some(spec) = template.and_then(|template| part(template, "spec")) {
                fill_claim_spec(spec);
            }
        }
        "image" => {
            let policy = pull_policy_of(value["reference"].as_str().unwrap_or_default());
            fill(value, "pullPolicy", policy);
        }
        "iscsi" => fill(value, "iscsiInterface", "default"),
        "rbd" => {
            fill(value, "pool", "rbd");
            fill(value, "user", "admin");
            fill(value, "keyring", "/etc/ceph/keyring");
        }
        "azureDisk" => {
            fill(value, "cachingMode", "ReadWrite");
            fill(value, "fsType", "ext4");
            fill(value, "readOnly", false);
            fill(value, "kind", "Shared");
        }
        "scaleIO" => {
            fill(value, "storageMode", "ThinProvisioned");
            fill(value, "fsType", "xfs");
        }
        _ => {}
    }
}

fn fill_projection(projection: &mut Value) {
    fill(projection, "defaultMode", FILE_MODE);
    for source in each(projection, "sources") {
        if let Some(files) = part(source, "downwardAPI") {
            each(files, "items").for_each(fill_field_reference);
        }
        if let Some(token) = part(source, "serviceAccountToken") {
            fill(token, "expirationSeconds", TOKEN_SECONDS);
        }
    }
}

/// Fills in the spec of a claim that a template makes.
pub(super) fn fill_claim_spec(spec: &mut Value) {
    fill(spec, "volumeMode", "Filesystem");
    if let Some(resources) = part(spec, "resources") {
        round_requirements(resources);
    }
}

/// An empty text is a value here, so only an absent one is filled in.
fn fill_absent(parent: &mut Value, field: &str, value: &str) {
    if parent[field].is_null() {
        parent[field] = value.into();
    }
}

/// Zero is no value here.
fn fill_zero(parent: &mut Value, field: &str, value: i64) {
    if parent[field].as_i64().unwrap_or(0) == 0 {
        parent[field] = json!(value);
    }
}

fn request_what_is_limited(container: &mut Value) {
    let Some(resources) = part(container, "resources") else {
        return;
    };
    let Some(limits) = resources["limits"].as_object() else {
        return;
    };
    let asked = &resources["requests"];
    let missing = limits
        .iter()
        .filter(|(name, _)| asked[name.as_str()].is_null());
    let missing: Vec<(String, Value)> = missing
        .map(|(name, amount)| (name.clone(), amount.clone()))
        .collect();
    if missing.is_empty() {
        return;
    }
    fill(resources, "requests", Map::new());
    let requests = resources["requests"].as_object_mut();
    requests
        .into_iter()
        .for_each(|requests| requests.extend(missing.iter().cloned()));
}

fn publish_ports(container: &mut Value) {
    for port in each(container, "ports") {
        if let Some(number) = port["containerPort"].as_i64() {
            fill_zero(port, "hostPort", number);
        }
    }
}

fn round_requirements(resources: &mut Value) {
    round_amounts(resources, "limits");
    round_amounts(resources, "requests");
}

/// Nobody can have less than a thousandth.
fn round_amounts(parent: &mut Value, field: &str) {
    let amounts = part(parent, field).and_then(Value::as_object_mut);
    for amount in amounts.into_iter().flat_map(Map::values_mut) {
        let text = amount.as_str().unwrap_or_default();
        // Only texts with these letters, or with many digits after a point, are that fine.
        if !text.ends_with(['n', 'u']) {
            continue;
        }
        if let Ok(quantity) = Quantity::parse(text)
            && !quantity.is_milli()
        {
            let milli = format!("{}m", quantity.milli());
            *amount = json!(listwatch_api::quantity::canonical(&milli).unwrap_or(milli));
        }
    }
}

/// A pod has one address or a list that begins with it; each means the other.
fn fill_addresses(status: &mut Value) {
    let address = status["podIP"].as_str().unwrap_or_default().to_owned();
    let first = status["podIPs"][0]["ip"].as_str().map(str::to_owned);
    match (address.as_str(), first) {
        ("", Some(first)) => status["podIP"] = json!(first),
        ("", None) => {}
        (address, first) if first.as_deref() != Some(address) => {
            status["podIPs"] = json!([{"ip": address}]);
        }
        _ => {}
    }
}
