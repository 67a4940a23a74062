use serde_json::json;

use super::*;

fn definition() -> Value {
    json!({
        "metadata": {"name": "foos.ex.com"},
        "spec": {
            "group": "ex.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "versions": [
                {"name": "v1beta1", "served": true, "storage": false, "deprecated": true},
                {
                    "name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}, "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                    }},
                    "selectableFields": [{"jsonPath": ".spec.color"}],
                },
                {"name": "v2", "served": false, "storage": false},
            ],
        },
        "status": {"acceptedNames": {
            "plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList",
            "shortNames": ["fo"],
        }},
    })
}

fn read(definition: &Value) -> CustomKind {
    CustomKind::read(definition, Revision::new(7), (None, None)).unwrap()
}

#[test]
fn a_kind_is_served_in_the_versions_that_say_so_the_stable_ones_first() {
    let kind = read(&definition());
    let served: Vec<&str> = kind.versions.iter().map(|it| &*it.version).collect();
    assert_eq!(served, ["v1", "v1beta1"]);
    assert_eq!(&*kind.stored_as, "ex.com/v1");
    assert_eq!(&*kind.storage_prefix, "/registry/ex.com/foos/");
}

#[test]
fn a_version_has_the_parts_and_fields_that_it_names() {
    let kind = read(&definition());
    let first = &kind.versions[0];
    let parts: Vec<&str> = first.subresources.iter().map(|it| &*it.name).collect();
    assert_eq!(parts, ["status", "scale"]);
    assert!(first.field_source("spec.color").is_ok());
    assert_eq!(
        first.field_source("spec.nope").unwrap_err(),
        "field label not supported: spec.nope"
    );
    assert_eq!(first.generation, Generation::OutsideStatus);
    assert_eq!(kind.versions[1].generation, Generation::OutsideMetadata);
}

#[test]
fn who_uses_a_deprecated_version_is_told() {
    let kind = read(&definition());
    let warning = |version: usize| {
        kind.versions[version]
            .custom
            .as_ref()
            .unwrap()
            .warning
            .clone()
    };
    assert_eq!(warning(0), None);
    assert_eq!(
        warning(1).as_deref(),
        Some("ex.com/v1beta1 Foo is deprecated")
    );
}

#[test]
fn kinds_come_and_go() {
    let mut kinds = CustomKinds::default();
    kinds.insert(read(&definition()));
    assert!(kinds.find("ex.com", "v1", "foos").is_some());
    assert!(kinds.find("ex.com", "v2", "foos").is_none());
    assert!(kinds.version_exists("ex.com", "v1beta1"));
    let before = kinds.clone();
    kinds.remove("ex.com", "foos");
    assert!(!kinds.group_exists("ex.com"));
    assert!(before.group_exists("ex.com"));
}

#[test]
fn a_definition_that_says_too_little_is_named() {
    let mut definition = definition();
    definition["spec"]["versions"][1]["storage"] = json!(false);
    let error = CustomKind::read(&definition, Revision::new(1), (None, None)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the definition says nothing of a stored version"
    );
}
