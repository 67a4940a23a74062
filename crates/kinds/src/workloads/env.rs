//! The variables of a container.

use listwatch_api::name;

use crate::field::{Check, Field, Quantity};

const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// What can be said of a pod though not everywhere.
const OTHER_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const BYTE_DIVISORS: [&str; 13] = [
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];
const SOURCES: &str = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
    `secretKeyRef` or `fileKeyRef`";
/// Bytes that a key of a config map or a secret may have.
const KEY_BYTES_MAX: usize = 253;

/// Checks the variables that are listed one by one, and says whether one is read from a file.
pub(super) fn check_env(variables: &Field<'_, '_>) -> Files {
    let mut files = Files::Unread;
    for variable in variables.elements() {
        variable.child("name").need_named(variable_name_problems);
        if let Some(source) = variable.given("valueFrom") {
            check_value_source(&source, &variable.child("value"));
            if source.child("fileKeyRef").is_set() {
                files = Files::Read;
            }
        }
    }
    files
}

/// Whether variables are read from files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Files {
    Unread,
    Read,
}

/// Checks the sources from which all entries become variables. What is wrong with their number is
/// reported of the whole list.
pub(super) fn check_env_from(sources: &Field<'_, '_>) {
    for source in sources.elements() {
        let prefix = source.child("prefix");
        if !prefix.is_empty() {
            prefix.named(variable_name_problems);
        }
        let mut count = 0;
        for reference in ["configMapRef", "secretRef"] {
            if let Some(reference) = source.given(reference) {
                count += 1;
                let name = reference.child("name");
                if name.need() {
                    let rule = name::NameRule::DnsSubdomain;
                    for problem in rule.check_prefix(name.text()) {
                        name.invalid(&problem);
                    }
                }
            }
        }
        match count {
            0 => sources.invalid_value("", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => sources.invalid_value("", "may not have more than one field specified at a time"),
        }
    }
}

fn check_value_source(source: &Field<'_, '_>, value: &Field<'_, '_>) {
    let rules: [(&str, Check); 5] = [
        ("fieldRef", |reference| {
            check_field_reference(reference, &FIELDS)
        }),
        ("resourceFieldRef", |reference| {
            check_resource_reference(reference, None)
        }),
        ("configMapKeyRef", check_key_reference),
        ("secretKeyRef", check_key_reference),
        ("fileKeyRef", check_file_reference),
    ];
    let mut count = 0;
    for (kind, rule) in rules {
        if let Some(reference) = source.given(kind) {
            count += 1;
            rule(&reference);
        }
    }
    if count == 0 {
        source.invalid_value("", SOURCES);
    } else if !value.is_empty() {
        source.invalid_value("", "may not be specified when `value` is not empty");
    } else if count > 1 {
        source.invalid_value("", "may not have more than one field specified at a time");
    }
}

/// Checks a reference to a field of the pod, which must be one of `supported`.
pub(super) fn check_field_reference(reference: &Field<'_, '_>, supported: &[&str]) {
    let path = reference.child("fieldPath");
    if !reference.child("apiVersion").need() || !path.need() {
        return;
    }
    let problem = |why: String| path.invalid(&format!("error converting fieldPath: {why}"));
    let version = reference.child("apiVersion").text();
    if version != "v1" {
        return problem(format!("unsupported pod version: {version}"));
    }
    let text = path.text();
    match text
        .strip_suffix("']")
        .and_then(|rest| rest.split_once("['"))
    {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            for problem in name::check_qualified_name(&key) {
                reference.invalid_value(&key, &problem);
            }
        }
        Some(("metadata.labels", key)) => {
            for problem in name::check_qualified_name(key) {
                reference.invalid_value(key, &problem);
            }
        }
        Some(_) => problem(format!("field label does not support subscript: {text}")),
        None if supported.contains(&text) || (text == "spec.host" && is_node(supported)) => {}
        None if FIELDS.contains(&text) || OTHER_FIELDS.contains(&text) => {
            path.not_supported(supported);
        }
        None => problem(format!("field label not supported: {text}")),
    }
}

fn is_node(supported: &[&str]) -> bool {
    supported.contains(&"spec.nodeName")
}

/// Checks a reference to an amount that a container asks for; `container` is the member that names
/// the container where that is not the one at hand.
pub(super) fn check_resource_reference(reference: &Field<'_, '_>, container: Option<&str>) {
    let resource = reference.child("resource");
    let (text, is_huge) = (resource.text(), is_huge_page(resource.text()));
    match container.map(|member| reference.child(member)) {
        Some(container) if container.is_empty() => container.required(""),
        _ if text.is_empty() => resource.required(""),
        _ if !RESOURCES.contains(&text) && !is_huge => resource.not_supported(&RESOURCES),
        _ => {}
    }
    let divisor = reference.child("divisor");
    if divisor.quantity() == Quantity::ZERO {
        return;
    }
    let (divisors, kind) = match text {
        "limits.cpu" | "requests.cpu" => (&["1m", "1"][..], "cpu"),
        "limits.memory" | "requests.memory" => (&BYTE_DIVISORS[..], "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            (&BYTE_DIVISORS[..], "local ephemeral storage")
        }
        _ if is_huge => (&BYTE_DIVISORS[..], "hugepages"),
        _ => return,
    };
    if !divisors.contains(&divisor.text()) {
        let list = match kind {
            "cpu" => "1m and 1".to_owned(),
            _ => divisors.join(", "),
        };
        let why = format!("only divisor's values {list} are supported with the {kind} resource");
        divisor.invalid_value(text, &why);
    }
}

fn is_huge_page(resource: &str) -> bool {
    resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-")
}

fn check_key_reference(reference: &Field<'_, '_>) {
    reference.child("name").dns_subdomain();
    reference.child("key").need_named(key_problems);
}

fn check_file_reference(reference: &Field<'_, '_>) {
    reference.child("key").need_named(variable_name_problems);
    reference
        .child("volumeName")
        .need_named(name::check_dns_label);
    let path = reference.child("path");
    if path.need() {
        path.no_backsteps();
    }
}

/// What is wrong with the name of a variable.
fn variable_name_problems(name: &str) -> Vec<String> {
    let is_shown = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'=';
    let why = "a valid environment variable name must consist only of printable ASCII characters \
               other than '='";
    match name.bytes().all(is_shown) {
        true => Vec::new(),
        false => vec![why.to_owned()],
    }
}

/// What is wrong with the key of a config map or a secret.
pub(crate) fn key_problems(key: &str) -> Vec<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let mut problems = Vec::new();
    if key.len() > KEY_BYTES_MAX {
        problems.push(format!("must be no more than {KEY_BYTES_MAX} characters"));
    }
    if key.is_empty() || !key.bytes().all(is_part) {
        let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        let examples = "e.g. 'key.name',  or 'KEY_NAME',  or 'key-name'";
        let pattern = "regex used for validation is '[-._a-zA-Z0-9]+'";
        problems.push(format!("{why} ({examples}, {pattern})"));
    }
    problems.extend(match key {
        "." | ".." => Some(format!("must not be '{key}'")),
        _ if key.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    });
    problems
}
