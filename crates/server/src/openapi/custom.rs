//! The types of custom kinds, as their definitions state them.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use serde_json::{Value, json};

use super::{Dialect, prose, root, schemas::reference};
use crate::{
    discovery::upper_case_sha512,
    registry::{CustomKinds, CustomVersion, Definition},
};

const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// The custom kinds of one version of a group, in the order in which they are described.
pub(super) fn definitions(kinds: &CustomKinds, wanted: &str) -> Vec<Arc<Definition>> {
    let group = wanted.split('/').nth(1).unwrap_or_default();
    let kinds = kinds.of_group(group);
    let versions = kinds.flat_map(|kind| &kind.versions);
    versions
        .filter(|definition| root(definition) == wanted)
        .cloned()
        .collect()
}

/// The custom kinds of all versions of all groups.
pub(super) fn by_root(kinds: &CustomKinds) -> BTreeMap<String, Vec<Arc<Definition>>> {
    let mut roots = BTreeMap::<String, Vec<Arc<Definition>>>::new();
    for definition in kinds.iter().flat_map(|kind| &kind.versions) {
        let known = roots.entry(root(definition)).or_default();
        known.push(Arc::clone(definition));
    }
    roots
}

/// Tells whether the document of these kinds is the one that a client has, without making it.
pub(super) fn hash(definitions: &[Arc<Definition>]) -> String {
    let mut text = String::new();
    for definition in definitions {
        let Definition {
            resource,
            kind,
            list_kind,
            scope,
            subresources,
            ..
        } = &**definition;
        let identity = definition
            .custom
            .as_ref()
            .map(CustomVersion::schema_identity);
        let told = (resource, kind, list_kind, scope, subresources, identity);
        write!(text, "{told:?}").expect("a string takes everything");
    }
    upper_case_sha512(text.as_bytes())
}

/// The name of the type of a custom kind, such as `com.example.v1.Foo`.
pub(super) fn type_name(definition: &Definition) -> Option<String> {
    definition.custom.as_ref()?;
    let mut parts: Vec<&str> = definition.group.split('.').rev().collect();
    parts.extend([&*definition.version, &*definition.kind]);
    Some(parts.join("."))
}

/// The name of the type of lists of it.
pub(super) fn list_name(definition: &Definition) -> Option<String> {
    let name = type_name(definition)?;
    let (types, _) = name.rsplit_once('.')?;
    Some(format!("{types}.{}", definition.list_kind))
}

/// The types of a custom kind: that of its objects and that of lists of them. None for others.
pub(super) fn describe(definition: &Definition, dialect: Dialect) -> Vec<(String, Value)> {
    let (Some(name), Some(list), Some(custom)) = (
        type_name(definition),
        list_name(definition),
        &definition.custom,
    ) else {
        return Vec::new();
    };
    let mut described = match (&custom.structural, dialect) {
        (Some(structural), Dialect::Two) => structural.open_api_v2(),
        (Some(structural), Dialect::Three) => structural.open_api_v3(),
        (None, _) => json!({"type": "object"}),
    };
    explain(&mut described);
    described["x-kubernetes-group-version-kind"] = named(definition, &definition.kind);
    let listed = json!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": reference(&name, dialect)},
            "kind": {"type": "string"},
            "metadata": reference(LIST_META, dialect),
        },
        "x-kubernetes-group-version-kind": named(definition, &definition.list_kind),
    });
    vec![(name, described), (list, listed)]
}

/// Says what the fields are for that every object begins with.
fn explain(described: &mut Value) {
    let explanations = [
        ("apiVersion", prose::API_VERSION),
        ("kind", prose::KIND),
        ("metadata", prose::METADATA),
    ];
    for (name, text) in explanations {
        let properties = described.get_mut("properties");
        let field = properties.and_then(|properties| properties.get_mut(name));
        if let Some(Value::Object(field)) = field {
            field.insert("description".to_owned(), json!(text));
        }
    }
}

fn named(definition: &Definition, kind: &str) -> Value {
    json!([{"group": definition.group, "kind": kind, "version": definition.version}])
}
