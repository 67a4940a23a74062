//! `apiextensions.k8s.io/v1beta1`, in which Kubernetes still stores custom resource definitions:
//! what all versions share stands beside them and not in each.

use serde_json::{Map, Value, json};

/// The version that is stored and not served.
pub(super) const OLD: &str = "apiextensions.k8s.io/v1beta1";

/// What all versions may share, and what it is called in each.
const SHARED: [(&str, &str); 4] = [
    ("subresources", "subresources"),
    ("validation", "schema"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

pub(super) fn to_first(definition: &mut Map<String, Value>) {
    definition.insert("apiVersion".to_owned(), "apiextensions.k8s.io/v1".into());
    let Some(Value::Object(spec)) = definition.get_mut("spec") else {
        return;
    };
    move_into_versions(spec);
    // There, to leave it out meant yes.
    spec.entry("preserveUnknownFields").or_insert(json!(true));
    if let Some(Value::Object(conversion)) = spec.get_mut("conversion") {
        gather_webhook(conversion);
    }
}

fn move_into_versions(spec: &mut Map<String, Value>) {
    let first = spec.remove("version");
    let versions = spec.entry("versions").or_insert(Value::Null);
    let is_empty = versions.as_array().is_none_or(Vec::is_empty);
    if let Some(name) = first.filter(|_| is_empty) {
        *versions = json!([{"name": name, "served": true, "storage": true}]);
    }
    let shared: Vec<(&str, Value)> = SHARED
        .into_iter()
        .filter_map(|(beside, inside)| Some((inside, spec.remove(beside)?)))
        .filter(|(_, value)| !value.is_null())
        .collect();
    let versions = spec.get_mut("versions").and_then(Value::as_array_mut);
    let versions = versions.into_iter().flatten();
    for version in versions.filter_map(Value::as_object_mut) {
        for (inside, value) in &shared {
            version.insert((*inside).to_owned(), value.clone());
        }
        rename_paths(version);
    }
}

/// A printed column is found by `jsonPath`, which was `JSONPath`.
fn rename_paths(version: &mut Map<String, Value>) {
    let columns = version.get_mut("additionalPrinterColumns");
    let columns = columns.and_then(Value::as_array_mut).into_iter().flatten();
    for column in columns.filter_map(Value::as_object_mut) {
        if let Some(path) = column.remove("JSONPath") {
            column.insert("jsonPath".to_owned(), path);
        }
    }
}

/// How to reach a webhook stands together with what it understands.
fn gather_webhook(conversion: &mut Map<String, Value>) {
    let renamed = [
        ("webhookClientConfig", "clientConfig"),
        ("conversionReviewVersions", "conversionReviewVersions"),
    ];
    let webhook: Map<String, Value> = renamed
        .into_iter()
        .filter_map(|(before, after)| Some((after.to_owned(), conversion.remove(before)?)))
        .filter(|(_, value)| !value.is_null())
        .collect();
    if !webhook.is_empty() {
        conversion.insert("webhook".to_owned(), Value::Object(webhook));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(spec: Value) -> Value {
        let object = json!({"kind": "CustomResourceDefinition", "apiVersion": OLD, "spec": spec});
        let Value::Object(mut members) = object else {
            unreachable!("an object is written above");
        };
        to_first(&mut members);
        assert_eq!(members["apiVersion"], "apiextensions.k8s.io/v1");
        members.remove("spec").unwrap()
    }

    #[test]
    fn what_all_versions_share_moves_into_each() {
        let spec = json!({
            "group": "g", "version": "v1", "preserveUnknownFields": false,
            "versions": [
                {"name": "v1", "served": true, "storage": true},
                {"name": "v2", "served": true, "storage": false},
            ],
            "validation": {"openAPIV3Schema": {"type": "object"}},
            "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "A", "type": "string", "JSONPath": ".a"}],
        });
        let version = |name: &str, storage: bool| {
            json!({
                "name": name, "served": true, "storage": storage,
                "schema": {"openAPIV3Schema": {"type": "object"}},
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".a"}],
            })
        };
        let expected = json!({
            "group": "g", "preserveUnknownFields": false,
            "versions": [version("v1", true), version("v2", false)],
        });
        assert_eq!(converted(spec), expected);
    }

    #[test]
    fn what_each_version_has_for_itself_stays() {
        let own = |path: &str| json!([{"name": "A", "type": "string", path: ".a"}]);
        let spec = json!({
            "preserveUnknownFields": false,
            "versions": [{"name": "v1", "additionalPrinterColumns": own("JSONPath")}],
        });
        let expected = json!({
            "preserveUnknownFields": false,
            "versions": [{"name": "v1", "additionalPrinterColumns": own("jsonPath")}],
        });
        assert_eq!(converted(spec), expected);
    }

    #[test]
    fn a_definition_of_one_version_names_it_alone() {
        let expected = json!({
            "preserveUnknownFields": true,
            "versions": [{"name": "v1", "served": true, "storage": true}],
        });
        assert_eq!(converted(json!({"version": "v1"})), expected);
    }

    #[test]
    fn what_a_webhook_needs_stands_together() {
        let spec = json!({
            "preserveUnknownFields": false, "versions": [],
            "conversion": {
                "strategy": "Webhook", "webhookClientConfig": {"url": "u"},
                "conversionReviewVersions": ["v1"],
            },
        });
        let webhook = json!({"clientConfig": {"url": "u"}, "conversionReviewVersions": ["v1"]});
        let expected = json!({"strategy": "Webhook", "webhook": webhook});
        assert_eq!(converted(spec)["conversion"], expected);
    }
}
