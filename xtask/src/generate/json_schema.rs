//! Reads the published JSON schema: the shape of every field, and how it merges.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::META;

const REFERENCE: &str = "#/$defs/";

/// The schema of each type by its full name.
pub(super) type Types = BTreeMap<String, Value>;

pub(super) fn read(path: &Path) -> Result<Types> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut document: Value = serde_json::from_str(&text)?;
    let mut types: Types = serde_json::from_value(document["$defs"].take())?;
    types.extend(unpublished());
    Ok(types)
}

/// Types that Kubernetes speaks though its schema leaves them out.
fn unpublished() -> [(String, Value); 2] {
    let reference = |name: &str| json!({"$ref": format!("{REFERENCE}{META}.{name}")});
    let kind = |metadata: &str| {
        json!({"properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": reference(metadata),
        }})
    };
    let mut list = kind("ListMeta");
    list["properties"]["items"] =
        json!({"type": "array", "items": reference("PartialObjectMetadata")});
    list["required"] = json!(["items"]);
    [
        (format!("{META}.PartialObjectMetadata"), kind("ObjectMeta")),
        (format!("{META}.PartialObjectMetadataList"), list),
    ]
}

/// All types with fields of their own that the roots lead to.
pub(super) fn reachable(types: &Types, roots: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&str> = roots.iter().map(String::as_str).collect();
    while let Some(name) = waiting.pop() {
        if special_shape(name).is_some() || !found.insert(name.to_owned()) {
            continue;
        }
        let properties = types[name]["properties"].as_object();
        waiting.extend(
            properties
                .into_iter()
                .flatten()
                .filter_map(|(_, property)| {
                    let element = [
                        property,
                        &property["items"],
                        &property["additionalProperties"],
                    ];
                    element.into_iter().find_map(reference)
                }),
        );
    }
    found
}

/// The shape of a property, as the tables write it.
pub(super) fn shape(property: &Value, package: &str) -> String {
    if let Some(name) = reference(property) {
        let local = name
            .strip_prefix(package)
            .and_then(|name| name.strip_prefix('.'));
        return special_shape(name).or(local).unwrap_or(name).to_owned();
    }
    match (json_type(property), property["format"].as_str()) {
        ("array", _) => format!("[{}]", shape(&property["items"], package)),
        ("object", _) if property["additionalProperties"].is_object() => {
            format!("{{{}}}", shape(&property["additionalProperties"], package))
        }
        ("string", Some("byte")) => "bytes".to_owned(),
        ("integer", Some("int32")) => "int32".to_owned(),
        ("integer", _) => "int64".to_owned(),
        ("number", _) => "number".to_owned(),
        ("boolean", _) => "boolean".to_owned(),
        ("string", _) => "string".to_owned(),
        _ => "any".to_owned(),
    }
}

/// How the elements of a list are told apart, whether a map is one value, how a patch merges.
pub(super) fn merging(property: &Value) -> Vec<String> {
    let mut words = Vec::new();
    let strategy = property["x-kubernetes-patch-strategy"].as_str();
    let key = property["x-kubernetes-patch-merge-key"].as_str();
    let merges = strategy.is_some_and(|strategy| strategy.contains("merge"));
    match property["x-kubernetes-list-type"].as_str() {
        Some("set") => words.push("set".to_owned()),
        Some("map") => words.push(format!("keys={}", list_map_keys(property).join(","))),
        Some(_) => {}
        None if merges => words.push(key.map_or("set".to_owned(), |key| format!("keys={key}"))),
        None => {}
    }
    if property["x-kubernetes-map-type"] == "atomic" {
        words.push("atomic".to_owned());
    }
    match (strategy, key) {
        (Some(strategy), Some(key)) => words.push(format!("patch={strategy}:{key}")),
        (Some(strategy), None) => words.push(format!("patch={strategy}")),
        (None, _) => {}
    }
    words
}

fn list_map_keys(property: &Value) -> Vec<&str> {
    let keys = property["x-kubernetes-list-map-keys"].as_array();
    keys.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn reference(property: &Value) -> Option<&str> {
    property["$ref"].as_str()?.strip_prefix(REFERENCE)
}

/// The first type named, leaving out `null`.
fn json_type(property: &Value) -> &str {
    let named = match &property["type"] {
        Value::Array(names) => names.first().and_then(Value::as_str),
        name => name.as_str(),
    };
    named.unwrap_or("any")
}

/// Types that say in JSON something else than their fields.
fn special_shape(name: &str) -> Option<&'static str> {
    let shape = match name.strip_prefix("io.k8s.")? {
        "apimachinery.pkg.api.resource.Quantity" => "quantity",
        "apimachinery.pkg.util.intstr.IntOrString" => "int-or-string",
        "apimachinery.pkg.apis.meta.v1.Time" => "time",
        "apimachinery.pkg.apis.meta.v1.MicroTime" => "micro-time",
        "apimachinery.pkg.apis.meta.v1.FieldsV1"
        | "apimachinery.pkg.apis.meta.v1.Patch"
        | "apimachinery.pkg.runtime.RawExtension"
        | "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON"
        | "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray"
        | "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool"
        | "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray" => "any",
        _ => return None,
    };
    Some(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_a_type_is_told_apart_as_its_patches_do() {
        let property = json!({
            "x-kubernetes-patch-strategy": "merge,retainKeys",
            "x-kubernetes-patch-merge-key": "name",
        });
        assert_eq!(
            merging(&property),
            ["keys=name", "patch=merge,retainKeys:name"]
        );
    }

    #[test]
    fn nested_shapes_read_from_the_outside_in() {
        let property = json!({"type": ["object", "null"], "additionalProperties": {
            "type": "array", "items": {"$ref": "#/$defs/io.k8s.api.core.v1.Pod"},
        }});
        assert_eq!(shape(&property, "io.k8s.api.core.v1"), "{[Pod]}");
        assert_eq!(
            shape(&property, "io.k8s.api.apps.v1"),
            "{[io.k8s.api.core.v1.Pod]}"
        );
    }
}
