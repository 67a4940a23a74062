//! CustomResourceDefinitions themselves: what they leave out and what is wrong with them.

use serde_json::{Map, Value, json};

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
