//! Owner references: complete, and with one controller at most.

use serde_json::Value;

use super::text;
use crate::field_error::{BadValue, FIELD_ERRORS_MAX, FieldError, FieldPath};
use crate::go_text;

/// The order in which Kubernetes writes a reference.
const FIELDS: [&str; 6] = [
    "apiVersion",
    "kind",
    "name",
    "uid",
    "controller",
    "blockOwnerDeletion",
];

/// What is wrong with the owners of an object.
pub(super) fn errors(metadata: &Value, path: &FieldPath) -> Vec<FieldError> {
    let references = metadata["ownerReferences"].as_array();
    let references = references.map(Vec::as_slice).unwrap_or_default();
    let mut errors = Vec::new();
    for (index, reference) in references.iter().enumerate() {
        if errors.len() > FIELD_ERRORS_MAX {
            break;
        }
        errors.extend(reference_errors(reference, &path.index(index)));
    }
    let name = |reference| format!("{}/{}", text(reference, "kind"), text(reference, "name"));
    let mut controllers = references
        .iter()
        .filter(|reference| reference["controller"] == true);
    // A third controller is not reported: the error shows all references, and could do so often.
    if let (Some(first), Some(second)) = (controllers.next(), controllers.next()) {
        errors.push(second_controller(
            references,
            path,
            &name(first),
            &name(second),
        ));
    }
    errors
}

fn second_controller(
    references: &[Value],
    path: &FieldPath,
    first: &str,
    second: &str,
) -> FieldError {
    let why = format!(
        "Only one reference can have Controller set to true. Found \"true\" in references for \
         {first} and {second}"
    );
    let texts: Vec<String> = references.iter().map(reference_text).collect();
    FieldError::invalid(path, BadValue::json(format!("[{}]", texts.join(","))), &why)
}

fn reference_errors(reference: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let api_version = text(reference, "apiVersion");
    let is_malformed = api_version.matches('/').count() > 1 || api_version.ends_with('/');
    if is_malformed {
        let path = path.child("apiVersion");
        let why = "must be <group>/<version> or <version>";
        errors.push(FieldError::invalid(&path, api_version, why));
    }
    for field in ["apiVersion", "kind", "name", "uid"] {
        if text(reference, field).is_empty() {
            errors.push(FieldError::required(
                &path.child(field),
                "must not be empty",
            ));
        }
    }
    if api_version == "v1" && text(reference, "kind") == "Event" {
        let why = "/v1, Kind=Event is disallowed from being an owner";
        let value = BadValue::json(reference_text(reference));
        errors.push(FieldError::invalid(path, value, why));
    }
    errors
}

fn reference_text(reference: &Value) -> String {
    let is_shown = |field: &&&str| {
        let is_flag = matches!(**field, "controller" | "blockOwnerDeletion");
        !(is_flag && reference[**field].is_null())
    };
    let fields: Vec<String> = FIELDS
        .iter()
        .filter(is_shown)
        .map(|field| match &reference[*field] {
            Value::Null => format!("\"{field}\":\"\""),
            value => format!("\"{field}\":{}", go_text::json(value)),
        })
        .collect();
    format!("{{{}}}", fields.join(","))
}
