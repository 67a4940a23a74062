//! The names of a definition, and which groups anybody may define.

use listwatch_api::{FieldError, FieldPath, name};
use serde_json::Value;

use crate::props::Props;

const APPROVED: &str = "api-approved.kubernetes.io";
const APPROVAL_PROCESS: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What is wrong with `spec.names` or `status.acceptedNames`.
pub(super) fn errors(names: Props<'_>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for part in ["plural", "singular"] {
        let text = names.text(part);
        errors.extend(label_error(&path.child(part), text));
    }
    for part in ["kind", "listKind"] {
        let text = names.text(part);
        let problems = name::check_dns_1035_label(&text.to_lowercase());
        if !text.is_empty() && !problems.is_empty() {
            let why = problems.join(",");
            let why = format!("may have mixed case, but should otherwise match: {why}");
            errors.push(FieldError::invalid(&path.child(part), text, &why));
        }
    }
    errors.extend(each_label(names, "shortNames", path));
    let (kind, list_kind) = (names.text("kind"), names.text("listKind"));
    if !kind.is_empty() && kind == list_kind {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(&path.child("listKind"), list_kind, why));
    }
    errors.extend(each_label(names, "categories", path));
    errors
}

fn each_label<'a>(
    names: Props<'a>,
    part: &'a str,
    path: &'a FieldPath,
) -> impl Iterator<Item = FieldError> + 'a {
    let texts = names.texts(part).into_iter().enumerate();
    texts.filter_map(move |(index, text)| {
        let problems = name::check_dns_1035_label(text);
        let path = path.child(part).index(index);
        let why = problems.join(",");
        (!problems.is_empty()).then(|| FieldError::invalid(&path, text, &why))
    })
}

fn label_error(path: &FieldPath, text: &str) -> Option<FieldError> {
    let problems = name::check_dns_1035_label(text);
    let is_wrong = !text.is_empty() && !problems.is_empty();
    is_wrong.then(|| FieldError::invalid(path, text, &problems.join(",")))
}

/// Names that the spec must have, though the status need not.
pub(super) fn missing(names: Props<'_>, path: &FieldPath) -> impl Iterator<Item = FieldError> {
    let parts = ["plural", "singular", "kind", "listKind"].into_iter();
    parts
        .filter(move |part| names.text(part).is_empty())
        .map(|part| FieldError::required(&path.child(part), ""))
}

/// What the group of a definition must look like.
pub(super) fn group_error(group: &str, path: &FieldPath) -> Option<FieldError> {
    if group.is_empty() {
        return Some(FieldError::required(path, ""));
    }
    let problems = name::check_dns_subdomain(group);
    if !problems.is_empty() {
        return Some(FieldError::invalid(path, group, &problems.join(",")));
    }
    let why = "should be a domain with at least one dot";
    (!group.contains('.')).then(|| FieldError::invalid(path, group, why))
}

/// How the definition of a protected group says that its API was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Approval {
    Invalid,
    Approved,
    Bypassed,
    Missing,
}

impl Approval {
    fn of(definition: &Value) -> (Self, &str) {
        let annotations = definition.pointer("/metadata/annotations");
        let text = annotations.and_then(|annotations| annotations.get(APPROVED)?.as_str());
        let text = text.unwrap_or_default();
        let has_host = text.split_once("://").is_some_and(|(scheme, rest)| {
            let host = rest.split('/').next().unwrap_or_default();
            !scheme.is_empty() && !host.is_empty()
        });
        let approval = match text {
            "" => Self::Missing,
            text if text.starts_with("unapproved") => Self::Bypassed,
            _ if has_host => Self::Approved,
            _ => Self::Invalid,
        };
        (approval, text)
    }
}

/// Groups of the Kubernetes community want to know that an API was approved.
pub(super) fn approval_error(next: &Value, before: Option<&Value>) -> Option<FieldError> {
    let group = next.pointer("/spec/group").and_then(Value::as_str)?;
    let is_protected = ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        let rest = group.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let (approval, text) = Approval::of(next);
    let is_unchanged = before.is_some_and(|before| Approval::of(before).0 == approval);
    if !is_protected || is_unchanged {
        return None;
    }
    let path = FieldPath::new("metadata")
        .child("annotations")
        .key(APPROVED);
    let must = format!("protected groups must have approval annotation {APPROVED:?}");
    match approval {
        Approval::Approved | Approval::Bypassed => None,
        Approval::Missing => {
            let why = format!("{must}, {APPROVAL_PROCESS}");
            Some(FieldError::required(&path, &why))
        }
        Approval::Invalid => {
            let why = format!(
                "{must} with either a URL or a reason starting with \"unapproved\", \
                 {APPROVAL_PROCESS}"
            );
            Some(FieldError::invalid(&path, text, &why))
        }
    }
}
