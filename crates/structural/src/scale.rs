//! The fields that the scale subresource reads and writes.

use listwatch_api::{FieldError, FieldPath};
use serde_json::Value;

use crate::props::Props;

/// Where a custom resource keeps what its scale shows.
#[derive(Debug)]
pub(crate) struct Scale {
    spec_replicas: Box<str>,
    status_replicas: Box<str>,
    label_selector: Option<Box<str>>,
}

impl Scale {
    /// Reads `subresources.scale`.
    pub(crate) fn read(scale: &Value) -> Option<Self> {
        let scale = Props::of(scale)?;
        Some(Self {
            spec_replicas: scale.text("specReplicasPath").into(),
            status_replicas: scale.text("statusReplicasPath").into(),
            label_selector: scale.given_text("labelSelectorPath").map(Box::from),
        })
    }

    /// What is wrong with the replicas that are wanted.
    pub(crate) fn spec_errors(&self, object: &Value) -> Vec<FieldError> {
        replicas_error(&self.spec_replicas, object)
            .into_iter()
            .collect()
    }

    /// What is wrong with the replicas that are, and the selector that finds them.
    pub(crate) fn status_errors(&self, object: &Value) -> Vec<FieldError> {
        let selector = self.label_selector.as_deref();
        let selector_error = selector.and_then(|path| selector_error(path, object));
        replicas_error(&self.status_replicas, object)
            .into_iter()
            .chain(selector_error)
            .collect()
    }
}

fn replicas_error(path: &str, object: &Value) -> Option<FieldError> {
    let field = FieldPath::new(path);
    let replicas = match find(path, object) {
        Ok(None) => return None,
        Ok(Some(value)) => match value.as_i64() {
            Some(replicas) => replicas,
            None => {
                let problem = wrong_type(path, value, "int64");
                return Some(FieldError::invalid(&field, 0_i64, &problem));
            }
        },
        Err(problem) => return Some(FieldError::invalid(&field, 0_i64, &problem)),
    };
    match replicas {
        ..0 => {
            let problem = "should be a non-negative integer";
            Some(FieldError::invalid(&field, replicas, problem))
        }
        replicas if replicas > i64::from(i32::MAX) => {
            let problem = format!("should be less than or equal to {}", i32::MAX);
            Some(FieldError::invalid(&field, replicas, &problem))
        }
        _ => None,
    }
}

fn selector_error(path: &str, object: &Value) -> Option<FieldError> {
    let problem = match find(path, object) {
        Ok(None | Some(Value::String(_))) => return None,
        Ok(Some(value)) => wrong_type(path, value, "string"),
        Err(problem) => problem,
    };
    Some(FieldError::invalid(&FieldPath::new(path), "", &problem))
}

/// The value at a path such as `.spec.replicas`, or why there can be none.
fn find<'a>(path: &str, object: &'a Value) -> Result<Option<&'a Value>, String> {
    let path = path.strip_prefix('.').unwrap_or(path);
    let mut value = object;
    let mut walked = String::new();
    for name in path.split('.') {
        walked.push('.');
        walked.push_str(name);
        let Value::Object(members) = value else {
            return Err(wrong_type(&walked, value, "map[string]interface{}"));
        };
        match members.get(name) {
            None => return Ok(None),
            Some(found) => value = found,
        }
    }
    Ok(Some(value))
}

fn wrong_type(path: &str, value: &Value, wanted: &str) -> String {
    let dot = if path.starts_with('.') { "" } else { "." };
    let shown = listwatch_api::go_text::display(value);
    let found = match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    format!("{dot}{path} accessor error: {shown} is of the type {found}, expected {wanted}")
}
