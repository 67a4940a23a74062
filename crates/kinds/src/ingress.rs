//! Ingresses and their classes.

use listwatch_api::name;
use serde_json::{Value, json};

use crate::address;
use crate::field::{Field, check};
use crate::rules::{Change, Rules};
use crate::service::check_host;
use crate::tree::{fill, list, part};

const CLASS: &str = "kubernetes.io/ingress.class";
const CONTROLLER_BYTES_MAX: usize = 250;
const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];

/// Ingresses.
pub(crate) const INGRESSES: Rules = Rules {
    begin: |ingress| ingress["status"] = json!({"loadBalancer": {}}),
    check_new: |ingress| {
        check(ingress, |ingress| {
            check_ingress(ingress, &Value::Null);
            check_class_annotation(ingress);
        })
    },
    check_change: |change| check(change.next, |ingress| check_ingress(ingress, change.before)),
    check_status: |change| check(change.next, |ingress| check_ingress_status(ingress, change)),
    warn: |ingress| {
        let stated = &ingress["metadata"]["annotations"][CLASS];
        match !stated.is_null() && ingress["spec"]["ingressClassName"].is_null() {
            true => vec![format!(
                "annotation {CLASS:?} is deprecated, please use 'spec.ingressClassName' instead"
            )],
            false => Vec::new(),
        }
    },
    ..Rules::NONE
};

/// IngressClasses.
pub(crate) const INGRESS_CLASSES: Rules = Rules {
    default: |class| {
        if let Some(parameters) = part(&mut class["spec"], "parameters") {
            fill(parameters, "scope", "Cluster");
        }
    },
    check_new: |class| check(class, check_class),
    check_change: |change| {
        check(change.next, |class| {
            let before = class.with_value(change.before);
            let (spec, old) = (class.child("spec"), before.child("spec"));
            spec.child("controller").immutable(old.child("controller"));
            check_class(class);
        })
    },
    ..Rules::NONE
};

fn check_class_annotation(ingress: &Field<'_, '_>) {
    let stated = &ingress.value()["metadata"]["annotations"][CLASS];
    let class = &ingress.value()["spec"]["ingressClassName"];
    if !stated.is_null() && !class.is_null() && stated != class {
        let why = "must match `ingressClassName` when both are specified";
        ingress
            .child("annotations")
            .child(CLASS)
            .invalid_value(stated, why);
    }
}

fn check_ingress(ingress: &Field<'_, '_>, before: &Value) {
    let spec = ingress.child("spec");
    let (rules, fallback) = (spec.child("rules"), spec.child("defaultBackend"));
    if rules.is_empty() && !fallback.is_set() {
        let why = "either `defaultBackend` or `rules` must be specified";
        spec.invalid_value(rules.value(), why);
    }
    if fallback.is_set() {
        check_backend(&fallback);
    }
    rules.elements().for_each(|rule| check_rule(&rule));
    let had_bad_secret = list(&before["spec"], "tls").iter().any(|entry| {
        let name = entry["secretName"].as_str().unwrap_or_default();
        !name.is_empty() && !name::check_dns_subdomain(name).is_empty()
    });
    for entry in spec.child("tls").elements() {
        entry
            .child("hosts")
            .elements()
            .for_each(|host| check_host_or_wildcard(&host));
        let secret = entry.child("secretName");
        if !had_bad_secret && !secret.is_empty() {
            secret.dns_subdomain();
        }
    }
    if let Some(class) = spec.given("ingressClassName") {
        class.dns_subdomain();
    }
}

fn check_rule(rule: &Field<'_, '_>) {
    let host = rule.child("host");
    if !host.is_empty() {
        if address::parse(host.text()).is_some() {
            host.invalid("must be a DNS name, not an IP address");
        }
        check_host_or_wildcard(&host);
    }
    if let Some(http) = rule.given("http") {
        let paths = http.child("paths");
        paths.need();
        paths.elements().for_each(|path| check_path(&path));
    }
}

fn check_host_or_wildcard(host: &Field<'_, '_>) {
    let text = host.text();
    if !text.contains('*') {
        return host.dns_subdomain();
    }
    if text.len() > name::SUBDOMAIN_BYTES_MAX {
        host.invalid("must be no more than 253 characters");
    }
    let rest = text.strip_prefix("*.").unwrap_or_default();
    let shortened = &rest[..rest.floor_char_boundary(name::SUBDOMAIN_BYTES_MAX)];
    if !name::check_dns_subdomain(shortened).is_empty() {
        host.invalid(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS \
             subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and \
             end with an alphanumeric character (e.g. '*.example.com', regex used for validation \
             is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        );
    }
}

fn check_path(entry: &Field<'_, '_>) {
    let (kind, path) = (entry.child("pathType"), entry.child("path"));
    if !kind.is_set() {
        return kind.required("pathType must be specified");
    }
    let text = path.text();
    let refuse = |why: &str| path.invalid_value(text, why);
    match kind.text() {
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                refuse("must be an absolute path");
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if text.contains(part) {
                    refuse(&format!("must not contain '{part}'"));
                }
            }
            for end in ["/..", "/."] {
                if text.ends_with(end) {
                    refuse(&format!("cannot end with '{end}'"));
                }
            }
        }
        "ImplementationSpecific" if !text.is_empty() && !text.starts_with('/') => {
            refuse("must be an absolute path");
        }
        "ImplementationSpecific" => {}
        _ => kind.one_of(&PATH_TYPES),
    }
    check_backend(&entry.child("backend"));
}

fn check_backend(backend: &Field<'_, '_>) {
    let (resource, service) = (backend.child("resource"), backend.child("service"));
    match (resource.is_set(), service.is_set()) {
        (true, true) => backend.invalid_value("", "cannot set both resource and service backends"),
        (true, false) => check_reference(&resource),
        (false, true) => check_service_backend(backend, &service),
        (false, false) => backend.invalid_value("", "resource or service backend is required"),
    }
}

fn check_service_backend(backend: &Field<'_, '_>, service: &Field<'_, '_>) {
    service.child("name").need_named(name::check_dns_label);
    let port = service.child("port");
    let (port_name, number) = (port.child("name"), port.child("number"));
    match (port_name.is_empty(), number.is_empty()) {
        (false, false) => backend.invalid_value("", "cannot set both port name & port number"),
        (false, true) => port_name.port_number_or_name(),
        (true, false) => number.port_number(),
        (true, true) => backend.required("port name or number is required"),
    }
}

fn check_reference(reference: &Field<'_, '_>) {
    if let Some(group) = reference.given("apiGroup") {
        group.dns_subdomain();
    }
    reference.child("kind").need_named(name::check_path_segment);
    reference.child("name").need_named(name::check_path_segment);
}

fn check_ingress_status(ingress: &Field<'_, '_>, change: Change<'_>) {
    let status = ingress.child("status");
    let balancer = status.child("loadBalancer");
    let kept = list(&change.before["status"]["loadBalancer"], "ingress");
    for entry in balancer.child("ingress").elements() {
        let address = entry.child("ip");
        if !address.is_empty() && !kept.iter().any(|known| known["ip"] == *address.value()) {
            address.clear_address();
        }
        check_host(&entry.child("hostname"));
    }
}

fn check_class(class: &Field<'_, '_>) {
    let spec = class.child("spec");
    let controller = spec.child("controller");
    controller.at_most_bytes(CONTROLLER_BYTES_MAX);
    check_prefixed_path(&controller);
    let Some(parameters) = spec.given("parameters") else {
        return;
    };
    if let Some(group) = parameters.given("apiGroup") {
        group.dns_subdomain();
    }
    for member in ["kind", "name"] {
        if !parameters.child(member).is_empty() {
            parameters.child(member).named(name::check_path_segment);
        }
    }
    let (scope, namespace) = (parameters.child("scope"), parameters.child("namespace"));
    match (scope.text(), namespace.is_set()) {
        ("Namespace", false) => namespace.required("`parameters.scope` is set to 'Namespace'"),
        ("Namespace", true) => namespace.dns_label(),
        ("Cluster", true) => namespace.forbidden("`parameters.scope` is set to 'Cluster'"),
        _ => scope.one_of(&["Cluster", "Namespace"]),
    }
    for member in ["kind", "name"] {
        parameters.child(member).need();
    }
}

/// Demands a domain and a path, such as `acme.io/foo`.
pub(crate) fn check_prefixed_path(field: &Field<'_, '_>) {
    if !field.need() {
        return;
    }
    let (host, path) = field.text().split_once('/').unwrap_or_default();
    if host.is_empty() || path.is_empty() {
        return field.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")");
    }
    for problem in name::check_dns_subdomain(host) {
        field.invalid_value(host, &problem);
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(is_part) {
        let why = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        field.invalid_value(path, why);
    }
}
