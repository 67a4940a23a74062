//! What a pod must look like, by itself or in a template.

use std::cell::Cell;

use listwatch_api::{FieldError, name};
use serde_json::Value;

use super::containers::{
    Rarities, Surroundings, Windows, check_containers, check_ephemeral_containers,
    check_init_containers,
};
use super::each_container;
use super::env::Files;
use super::network::{check_dns, check_host_aliases, check_host_ports, check_hostname};
use super::resources::{
    ClaimNames, ResourceNames, check_pod_claims, check_pod_resources, check_requirements,
};
use super::scheduling::{check_affinity, check_gates, check_spread, check_tolerations};
use super::security::{check_host_process, check_linux, check_pod_security_context, check_windows};
use super::volumes::check_volumes;
use crate::field::{Field, check_labels};

/// Where a spec stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a pod.
    Pod,
    /// In a template, where some things may be left open.
    Template,
}

/// Checks a pod's spec; `metadata` is the pod's or the template's.
pub(super) fn check_pod_spec(spec: &Field<'_, '_>, metadata: &Value, place: Place) {
    let grace = spec.child("terminationGracePeriodSeconds");
    if !grace.is_set() {
        grace.required("");
    }
    let volumes = check_volumes(&spec.child("volumes"), metadata);
    let claims = spec.child("resourceClaims");
    let names = claims.elements().map(|claim| claim.child("name").text());
    let around = Surroundings {
        volumes,
        claims: ClaimNames(names.filter(|name| !name.is_empty()).collect()),
        spec: spec.value(),
        rarities: Cell::new(Rarities {
            files: Files::Unread,
            windows: Windows::Unheard,
        }),
    };
    check_pod_claims(&claims);
    check_containers(&spec.child("containers"), &around);
    check_init_containers(spec, &around);
    check_ephemeral_containers(spec, &around);
    check_pod_resources(spec, &around.claims);
    check_host_ports(spec, place);
    check_placement(spec);
    let context = spec.child("securityContext");
    let rarities = around.rarities.get();
    if rarities.windows == Windows::Mentioned || context.child("windowsOptions").is_set() {
        check_host_process(spec);
    }
    check_host_users(spec);
    check_hostname(spec);
    check_names(spec);
    check_others(spec);
    if rarities.files == Files::Read {
        check_file_volumes(spec);
    }
}

/// How a pod goes on, how it looks names up, and where it goes.
fn check_placement(spec: &Field<'_, '_>) {
    let [
        affinity,
        dns_policy,
        selector,
        ready,
        restarts,
        gates,
        shared,
        spread,
    ] = spec.members([
        "affinity",
        "dnsPolicy",
        "nodeSelector",
        "readinessGates",
        "restartPolicy",
        "schedulingGates",
        "shareProcessNamespace",
        "topologySpreadConstraints",
    ]);
    restarts.need_one_of(&["Always", "OnFailure", "Never"]);
    dns_policy.need_one_of(&["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    check_labels(&selector);
    check_pod_security_context(spec);
    if shared.is_true() && spec.child("hostPID").is_true() {
        shared.invalid("ShareProcessNamespace and HostPID cannot both be enabled");
    }
    if affinity.is_set() {
        check_affinity(&affinity);
    }
    check_dns(spec);
    for gate in ready.elements() {
        gate.child("conditionType").qualified_name();
    }
    check_gates(&gates);
    check_spread(&spread);
}

fn check_host_users(spec: &Field<'_, '_>) {
    if spec.child("hostUsers").value() != &Value::Bool(false) {
        return;
    }
    let why = "when `hostUsers` is false";
    if spec.child("hostNetwork").is_true() {
        spec.child("hostNetwork").forbidden(why);
    }
    for (member, shown) in [("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.child(member).is_true() {
            spec.child(shown).forbidden(why);
        }
    }
    each_container(spec, |container| {
        if !container.child("volumeDevices").is_empty() {
            container.child("volumeDevices").forbidden(why);
        }
    });
}

/// Members that name something, if they are there.
fn check_names(spec: &Field<'_, '_>) {
    let [
        deadline,
        aliases,
        hostname,
        node,
        priority,
        class,
        account,
        subdomain,
        tolerations,
    ] = spec.members([
        "activeDeadlineSeconds",
        "hostAliases",
        "hostname",
        "nodeName",
        "priorityClassName",
        "runtimeClassName",
        "serviceAccountName",
        "subdomain",
        "tolerations",
    ]);
    let name_if_any = |field: &Field<'_, '_>, rule: fn(&str) -> Vec<String>| {
        if !field.is_empty() {
            field.named(rule);
        }
    };
    name_if_any(&account, name::check_dns_subdomain);
    name_if_any(&node, name::check_dns_subdomain);
    deadline.within(1, i64::from(i32::MAX));
    name_if_any(&hostname, name::check_dns_label);
    name_if_any(&subdomain, name::check_dns_label);
    check_tolerations(&tolerations);
    check_host_aliases(&aliases);
    name_if_any(&priority, name::check_dns_subdomain);
    if class.is_set() {
        class.dns_subdomain();
    }
}

fn check_others(spec: &Field<'_, '_>) {
    if let Some(policy) = spec.given("preemptionPolicy") {
        policy.need_one_of(&["PreemptLowerPriority", "Never"]);
    }
    check_overhead(spec);
    if let Some(system) = spec.given("os") {
        match system.child("name").text() {
            "" => system.child("name").required(""),
            "linux" => check_linux(spec),
            "windows" => check_windows(spec),
            other => {
                let known = ["linux", "windows"];
                system.report(|path| FieldError::not_supported(path, other, &known));
            }
        }
    }
    if let Some(group) = spec.given("schedulingGroup") {
        let name = group.child("podGroupName");
        match name.is_set() {
            true => name.dns_subdomain(),
            false => name.invalid("must specify one of: `podGroupName`"),
        }
    }
}

/// What a pod costs beyond its containers counts as a limit.
fn check_overhead(spec: &Field<'_, '_>) {
    let Some(overhead) = spec.given("overhead") else {
        return;
    };
    let limits = serde_json::json!({"limits": overhead.value()});
    let none = ClaimNames(Vec::new());
    check_requirements(
        &overhead.with_value(&limits),
        ResourceNames::OfContainers,
        &none,
    );
}

/// Variables are read from files of directories that the pod begins with.
fn check_file_volumes(spec: &Field<'_, '_>) {
    let volumes = spec.child("volumes");
    each_container(spec, |container| {
        for variable in container.child("env").elements() {
            let source = variable.child("valueFrom");
            let Some(reference) = source.given("fileKeyRef") else {
                continue;
            };
            let name = reference.child("volumeName");
            let mut named = volumes
                .elements()
                .filter(|one| one.child("name").text() == name.text());
            match named.next() {
                None => name.report(|path| FieldError::not_found(path, name.text())),
                Some(volume) if !volume.child("emptyDir").is_set() => {
                    name.invalid("referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    });
}
