//! Printer columns, subresources, selectable fields and deprecation warnings.

use listwatch_api::field_error::BadValue;
use listwatch_api::{FieldError, FieldPath, go_text};
use serde_json::Value;

use crate::field_route::{self, Brackets, Route, RouteStep};
use crate::props::Props;
use crate::structure;

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// Fields that one version may let be selected by.
const SELECTABLE_FIELDS_MAX: usize = 8;
/// Bytes of a deprecation warning.
const WARNING_BYTES_MAX: usize = 256;

/// What is wrong with the additional columns.
pub(super) fn column_errors(columns: &Value, path: &FieldPath) -> Vec<FieldError> {
    let columns = columns
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Props::of);
    let numbered = columns.enumerate();
    numbered
        .flat_map(|(index, column)| one_column_errors(column, &path.index(index)))
        .collect()
}

fn one_column_errors(column: Props<'_>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if column.text("name").is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    let type_name = column.text("type");
    let why = format!("must be one of {}", COLUMN_TYPES.join(","));
    if type_name.is_empty() {
        errors.push(FieldError::required(&path.child("type"), &why));
    } else if !COLUMN_TYPES.contains(&type_name) {
        errors.push(FieldError::invalid(&path.child("type"), type_name, &why));
    }
    let format = column.text("format");
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let why = format!("must be one of {}", COLUMN_FORMATS.join(","));
        errors.push(FieldError::invalid(&path.child("format"), format, &why));
    }
    let json_path = column.text("jsonPath");
    let path = path.child("JSONPath");
    if json_path.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else {
        errors.extend(simple_path_error(json_path, &path));
    }
    errors
}

fn simple_path_error(text: &str, path: &FieldPath) -> Option<FieldError> {
    let why = "must be a simple json path starting with .";
    (!text.starts_with('.')).then(|| FieldError::invalid(path, text, why))
}

/// What is wrong with the subresources.
pub(super) fn subresource_errors(subresources: Props<'_>, path: &FieldPath) -> Vec<FieldError> {
    let Some(scale) = subresources.schema("scale") else {
        return Vec::new();
    };
    let under = |part: &str, root: &str| {
        let text = scale.text(part);
        let path = path.child("scale").child(part);
        if text.is_empty() {
            return Some(FieldError::required(&path, ""));
        }
        let outside = !text.starts_with(&format!("{root}."));
        let why = format!("should be a json path under {root}");
        let outside = outside.then(|| FieldError::invalid(&path, text, &why));
        simple_path_error(text, &path).or(outside)
    };
    let spec = under("specReplicasPath", ".spec");
    let status = under("statusReplicasPath", ".status");
    let selector = scale.text("labelSelectorPath");
    let path = path.child("scale").child("labelSelectorPath");
    let is_inside = selector.starts_with(".spec.") || selector.starts_with(".status.");
    let outside = (!is_inside).then(|| {
        let why = "should be a json path under either .spec or .status";
        FieldError::invalid(&path, pointed_to(selector), why)
    });
    let selector_error = match selector {
        "" => None,
        selector => simple_path_error(selector, &path).or(outside),
    };
    spec.into_iter()
        .chain(status)
        .chain(selector_error)
        .collect()
}

/// A text that may be absent is shown as JSON.
fn pointed_to(text: &str) -> BadValue {
    BadValue::json(go_text::json(&Value::from(text)))
}

/// What is wrong with a deprecation warning.
pub(super) fn warning_errors(version: Props<'_>, path: &FieldPath) -> Vec<FieldError> {
    let Some(warning) = version.given_text("deprecationWarning") else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    if !version.is_set("deprecated") {
        problems.push("can only be set for deprecated versions".to_owned());
    } else {
        if warning.len() > WARNING_BYTES_MAX {
            problems.push(format!("must be <= {WARNING_BYTES_MAX} characters long"));
        }
        if warning.is_empty() {
            problems.push("must not be an empty string".to_owned());
        }
        let mut characters = warning.char_indices();
        if let Some((index, _)) = characters.find(|(_, one)| !go_text::is_printable(*one)) {
            problems.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at \
                 index {index}"
            ));
        }
    }
    let path = path.child("deprecationWarning");
    let errors = problems
        .iter()
        .map(|problem| FieldError::invalid(&path, pointed_to(warning), problem));
    errors.collect()
}

/// What is wrong with the fields that objects can be selected by. `around` is what has them, `was`
/// what they were.
pub(super) fn selectable_errors(
    fields: &Value,
    schema: Props<'_>,
    around: &FieldPath,
    was: Option<&Value>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(problem) = structure::unsupported::first(schema) {
        let path = around.child("schema").child("openAPIV3Schema");
        errors.push(FieldError::invalid(&path, "", &problem));
    }
    let path = &around.child("selectableFields");
    let mut known: Vec<Route> = Vec::new();
    let stated = fields
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Props::of);
    for (index, field) in stated.enumerate() {
        let text = field.text("jsonPath");
        let path = path.index(index).child("jsonPath");
        if text.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let found = match field_route::follow(text, schema, Brackets::Refused) {
            Ok(found) => found,
            Err(problem) => {
                let why = format!("is an invalid path: {problem}");
                errors.push(FieldError::invalid(&path, text, &why));
                continue;
            }
        };
        if found.route.0.first() == Some(&RouteStep::Field("metadata".to_owned())) {
            let why = "must not point to fields in metadata";
            errors.push(FieldError::invalid(&path, text, why));
        }
        let type_name = found.schema.map(Props::type_name).unwrap_or_default();
        if !matches!(type_name, "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string \
                       fields and strings with formats are allowed.";
            errors.push(FieldError::invalid(&path, text, why));
        }
        match known.contains(&found.route) {
            true => errors.push(FieldError::duplicate(&path, text)),
            false => known.push(found.route),
        }
    }
    if known.len() > SELECTABLE_FIELDS_MAX && was != Some(fields) {
        let error = FieldError::too_many(path, known.len(), SELECTABLE_FIELDS_MAX);
        errors.push(error);
    }
    errors
}
