//! What an object has though its author left it out.

use serde_json::{Value, json};

use crate::{
    commit::{metadata_mut, metadata_text},
    registry::Definition,
};

/// Fills in what every new object of the kind has.
pub(crate) fn apply_defaults(definition: &Definition, object: &mut Value) {
    match (&*definition.group, &*definition.resource) {
        ("", "namespaces") => default_namespace(object),
        ("", "pods" | "persistentvolumes" | "persistentvolumeclaims") => {
            object["status"] = json!({"phase": "Pending"});
        }
        _ => {}
    }
}

/// A namespace is active, is held by its content, and carries its name as a label.
fn default_namespace(namespace: &mut Value) {
    namespace["status"] = json!({"phase": "Active"});
    let finalizers = namespace["spec"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if !finalizers.contains(&json!("kubernetes")) {
        let held = finalizers
            .into_iter()
            .chain([json!("kubernetes")])
            .collect::<Vec<_>>();
        namespace["spec"]["finalizers"] = Value::Array(held);
    }
    let Some(name) = metadata_text(namespace, "name").map(str::to_owned) else {
        return;
    };
    let labels = metadata_mut(namespace)
        .entry("labels")
        .or_insert_with(|| json!({}));
    labels["kubernetes.io/metadata.name"] = json!(name);
}
