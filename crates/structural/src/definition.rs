//! CustomResourceDefinitions themselves: what they leave out and what is wrong with them.

use listwatch_api::{FieldError, FieldPath};
use serde_json::{Map, Value, json};

use crate::props::Props;

mod conversion;
mod defaults;
mod hoisted;
mod internal_form;
mod names;
mod parts;
mod schema;
mod spec;
mod warnings;

pub use warnings::{warn_change, warn_new};

/// Fills in what a definition leaves out: the other names, how versions are converted, and at birth
/// the version that objects are stored in.
pub fn default_definition(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        default_names(names);
    }
    let conversion = spec.entry("conversion").or_insert(Value::Null);
    if conversion.is_null() {
        *conversion = json!({"strategy": "None"});
    }
    let port = conversion
        .pointer_mut("/webhook/clientConfig/service")
        .and_then(Value::as_object_mut);
    if let Some(service) = port {
        let port = service.entry("port").or_insert(Value::Null);
        if port.is_null() {
            *port = Value::from(443);
        }
    }
}

fn default_names(names: &mut Map<String, Value>) {
    let text = |names: &Map<String, Value>, name: &str| {
        let text = names.get(name).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let kind = text(names, "kind");
    if text(names, "singular").is_empty() && !kind.is_empty() {
        names.insert("singular".to_owned(), Value::from(kind.to_lowercase()));
    }
    if text(names, "listKind").is_empty() && !kind.is_empty() {
        names.insert("listKind".to_owned(), Value::from(format!("{kind}List")));
    }
}

/// The version that the objects of a definition are stored in.
pub fn storage_version(definition: &Value) -> Option<&str> {
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let is_stored =
        |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
    versions.iter().find(is_stored)?.get("name")?.as_str()
}

/// Adds the storage version to those that objects may be stored in (`status.storedVersions`).
pub fn note_storage_version(definition: &mut Value) {
    let Some(version) = storage_version(definition).map(str::to_owned) else {
        return;
    };
    let Some(members) = definition.as_object_mut() else {
        return;
    };
    let status = members.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else {
        return;
    };
    let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Value::Array(stored) = stored
        && !stored.iter().any(|known| known == version.as_str())
    {
        stored.push(Value::from(version));
    }
}

/// What is wrong with a new definition, beside the shape of its metadata. Its defaults are filled
/// in, and its storage version is noted.
pub fn check_definition(definition: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    errors.extend(name_errors(definition));
    errors.extend(spec::errors(definition, None));
    errors.extend(check_status(definition));
    errors.extend(stored_version_errors(definition));
    errors.extend(names::approval_error(definition, None));
    errors.extend(unknown_kept_error(definition, None));
    errors
}

/// What is wrong with a change of a definition, beside the shape of its metadata.
pub fn check_definition_change(next: &Value, before: &Value) -> Vec<FieldError> {
    let mut errors = spec::errors(next, Some(before));
    errors.extend(immutable_errors(next, before));
    errors.extend(check_status(next));
    errors.extend(stored_version_errors(next));
    errors.extend(names::approval_error(next, Some(before)));
    errors.extend(unknown_kept_error(next, Some(before)));
    errors
}

/// What is wrong with the status of a definition, which is all that is looked at when only the
/// status changes.
pub fn check_status(definition: &Value) -> Vec<FieldError> {
    let accepted = definition.pointer("/status/acceptedNames");
    let path = FieldPath::new("status").child("acceptedNames");
    let accepted = accepted.and_then(Props::of);
    accepted.map_or_else(Vec::new, |accepted| names::errors(accepted, &path))
}

fn text_at<'a>(definition: &'a Value, pointer: &str) -> &'a str {
    let text = definition.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}

fn name_errors(definition: &Value) -> impl Iterator<Item = FieldError> {
    let plural = text_at(definition, "/spec/names/plural");
    let group = text_at(definition, "/spec/group");
    let wanted = format!("{plural}.{group}");
    ["generateName", "name"]
        .into_iter()
        .filter_map(move |part| {
            let name = definition.get("metadata")?.get(part)?.as_str()?;
            let path = FieldPath::new("metadata").child(part);
            let why = r#"must be spec.names.plural+"."+spec.group"#;
            let is_wrong = !name.is_empty() && name != wanted;
            is_wrong.then(|| FieldError::invalid(&path, name, why))
        })
}

/// What decides where objects are kept never changes.
fn immutable_errors(next: &Value, before: &Value) -> Vec<FieldError> {
    let spec = FieldPath::new("spec");
    let names = spec.child("names");
    let conditions = before
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let is_established = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    let when_established = [
        ("/spec/scope", spec.child("scope")),
        ("/spec/names/kind", names.child("kind")),
    ];
    let always = [
        ("/spec/group", spec.child("group")),
        ("/spec/names/plural", names.child("plural")),
    ];
    let watched = when_established.into_iter().filter(|_| is_established);
    let changed = watched.chain(always).filter_map(|(pointer, path)| {
        let now = text_at(next, pointer);
        let why = "field is immutable";
        (now != text_at(before, pointer)).then(|| FieldError::invalid(&path, now, why))
    });
    changed.collect()
}

fn stored_version_errors(definition: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("status").child("storedVersions");
    let stored = definition.pointer("/status/storedVersions");
    let list = stored.and_then(Value::as_array);
    let Some(list) = list.filter(|list| !list.is_empty()) else {
        let none = stored.unwrap_or(&Value::Null);
        let why = "must have at least one stored version";
        return vec![FieldError::invalid(&path, none, why)];
    };
    let versions = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array);
    let versions: Vec<Props<'_>> = versions
        .into_iter()
        .flatten()
        .filter_map(Props::of)
        .collect();
    let is_known = |name: &Value| versions.iter().any(|version| name == version.text("name"));
    let missing = versions.iter().filter_map(|version| {
        let name = version.text("name");
        let is_missing = version.is_set("storage") && !list.iter().any(|known| known == name);
        let why = format!("must have the storage version {name}");
        is_missing.then(|| FieldError::invalid(&path, &Value::from(list.clone()), &why))
    });
    let gone = list.iter().enumerate().filter_map(|(index, name)| {
        let text = name.as_str().unwrap_or_default();
        let why = format!(
            "missing from spec.versions; {text} was previously a storage version, and must remain \
             in spec.versions until a storage migration ensures no data remains persisted in \
             {text} and removes {text} from status.storedVersions"
        );
        (!is_known(name)).then(|| FieldError::invalid(&path.index(index), name, &why))
    });
    missing.chain(gone).collect()
}

fn unknown_kept_error(next: &Value, before: Option<&Value>) -> Option<FieldError> {
    let keeps = |definition: &Value| {
        let flag = definition.pointer("/spec/preserveUnknownFields");
        flag.and_then(Value::as_bool) == Some(true)
    };
    let path = FieldPath::new("spec").child("preserveUnknownFields");
    let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
               spec.versions[*].schema instead";
    let is_new = keeps(next) && !before.is_some_and(keeps);
    is_new.then(|| FieldError::invalid(&path, true, why))
}
