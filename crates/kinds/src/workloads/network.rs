//! How a pod is called, and how it finds others.

use listwatch_api::FieldError;

use super::pod_spec::Place;
use crate::field::Field;

const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_BYTES_MAX: usize = 2_048;
const HOSTNAME_BYTES_MAX: usize = 64;

/// On its node's network, a container's ports are the node's.
pub(super) fn check_host_ports(spec: &Field<'_, '_>, place: Place) {
    if !spec.child("hostNetwork").is_true() {
        return;
    }
    for container in spec.child("containers").elements() {
        for port in container.child("ports").elements() {
            let numbers = ["hostPort", "containerPort"];
            let [host, own] = numbers.map(|member| port.child(member).integer().unwrap_or(0));
            if (place == Place::Pod || host != 0) && host != own {
                let why = "must match `containerPort` when `hostNetwork` is true";
                port.child("hostPort").invalid_value(host, why);
            }
        }
    }
}

/// Checks where a pod looks names up.
pub(super) fn check_dns(spec: &Field<'_, '_>) {
    let is_alone = spec.child("dnsPolicy").text() == "None";
    let Some(config) = spec.given("dnsConfig") else {
        if is_alone {
            let config = spec.child("dnsConfig");
            config.required("must provide `dnsConfig` when `dnsPolicy` is None");
        }
        return;
    };
    let (servers, searches) = (config.child("nameservers"), config.child("searches"));
    if is_alone && servers.is_empty() {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        return servers.required(why);
    }
    if servers.count() > NAMESERVERS_MAX {
        servers.invalid(&format!(
            "must not have more than {NAMESERVERS_MAX} nameservers"
        ));
    }
    servers.elements().for_each(|server| server.clear_address());
    if searches.count() > SEARCHES_MAX {
        searches.invalid(&format!(
            "must not have more than {SEARCHES_MAX} search paths"
        ));
    }
    let bytes: usize = searches
        .elements()
        .map(|search| search.text().len() + 1)
        .sum();
    if bytes.saturating_sub(1) > SEARCH_BYTES_MAX {
        let limit = format!("must not have more than {SEARCH_BYTES_MAX} characters");
        searches.invalid(&format!("{limit} (including spaces) in the search list"));
    }
    for search in searches.elements().filter(|search| search.text() != ".") {
        let text = search.text().strip_suffix('.').unwrap_or(search.text());
        search_problems(text)
            .iter()
            .for_each(|problem| search.invalid_value(text, problem));
    }
    for option in config.child("options").elements() {
        if option.child("name").is_empty() {
            option.required("must not be empty");
        }
    }
}

fn search_problems(text: &str) -> Vec<String> {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.strip_prefix('_').unwrap_or(label).as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter()
            .all(|end| end.is_some_and(|&byte| is_word(byte)))
            && bytes
                .iter()
                .all(|&byte| is_word(byte) || b"-_".contains(&byte))
    };
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    if !text.split('.').all(is_label) {
        let label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                    characters, '_', '-' or '.', and must start and end with an alphanumeric \
                    character";
        let pattern = format!("regex used for validation is '{label}(\\.{label})*'");
        problems.push(format!("{rule} (e.g. 'example.com', {pattern})"));
    }
    problems
}

/// Checks the names that a pod knows by itself.
pub(super) fn check_host_aliases(aliases: &Field<'_, '_>) {
    for alias in aliases.elements() {
        alias.child("ip").clear_address();
        alias
            .child("hostnames")
            .elements()
            .for_each(|name| name.dns_subdomain());
    }
}

/// Checks the name that a pod has inside.
pub(super) fn check_hostname(spec: &Field<'_, '_>) {
    let Some(name) = spec.given("hostnameOverride") else {
        return;
    };
    for member in ["setHostnameAsFQDN", "hostNetwork"] {
        if spec.child(member).is_true() {
            name.forbidden(&format!("may not be specified when {member} is true"));
        }
    }
    if name.text().len() > HOSTNAME_BYTES_MAX {
        name.report(|path| FieldError::too_long(path, HOSTNAME_BYTES_MAX));
    }
    name.dns_subdomain();
}
