//! Where an object lies in the store.

use listwatch_store::Key;

use crate::registry::{Definition, Scope};

/// The key of one object: the kind's prefix, the namespace of a namespaced kind, the name.
pub(crate) fn object_key(definition: &Definition, namespace: Option<&str>, name: &str) -> Key {
    let prefix = &definition.storage_prefix;
    match (definition.scope, namespace) {
        (Scope::Namespaced, Some(namespace)) => Key::new(format!("{prefix}{namespace}/{name}")),
        _ => Key::new(format!("{prefix}{name}")),
    }
}
