//! What an object has though its author left it out: defaults, which the author owns as if stated,
//! and the state in which its life begins, which nobody owns.

use serde_json::{Value, json};

use crate::{
    commit::{metadata_mut, metadata_text},
    registry::Definition,
};

/// Fills in what leaving it out means.
pub(crate) fn apply_defaults(definition: &Definition, object: &mut Value) {
    if let ("", "namespaces") = (&*definition.group, &*definition.resource) {
        label_namespace(object);
    }
}

/// Fills in what the server gives every new object of the kind.
pub(crate) fn begin_life(definition: &Definition, object: &mut Value) {
    match (&*definition.group, &*definition.resource) {
        ("", "namespaces") => begin_namespace(object),
        ("", "pods" | "persistentvolumes" | "persistentvolumeclaims") => {
            object["status"] = json!({"phase": "Pending"});
        }
        _ => {}
    }
}

/// A namespace is active, and is held by its content.
fn begin_namespace(namespace: &mut Value) {
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
}

/// A namespace carries its name as a label.
fn label_namespace(namespace: &mut Value) {
    let Some(name) = metadata_text(namespace, "name").map(str::to_owned) else {
        return;
    };
    let labels = metadata_mut(namespace)
        .entry("labels")
        .or_insert_with(|| json!({}));
    labels["kubernetes.io/metadata.name"] = json!(name);
}
