//! What a schema does to objects, from the outside.

use listwatch_api::field_error::aggregate;
use listwatch_api::field_set::FieldSet;
use listwatch_structural::Structural;
use serde_json::{Value, json};

fn colors() -> Structural {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["color"],
                "properties": {
                    "color": {"type": "string", "enum": ["red", "blue"]},
                    "replicas": {"type": "integer", "default": 3, "maximum": 10},
                    "free": {"x-kubernetes-preserve-unknown-fields": true, "type": "object"},
                    "ports": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string"},
                                "port": {"type": "integer"}
                            }
                        }
                    }
                }
            }
        }
    });
    Structural::parse(&schema).expect("it is structural")
}

fn errors(schema: &Structural, object: &Value) -> String {
    aggregate(&schema.validate(object))
}

#[test]
fn unknown_fields_go_and_are_named() {
    let mut object = json!({
        "apiVersion": "ex.com/v1", "kind": "Foo", "metadata": {"name": "a"}, "junk": 1,
        "spec": {"color": "red", "zzz": 1, "free": {"x": {"y": 1}},
            "ports": [{"name": "a", "x": 1}]}
    });
    let unknown = colors().prune(&mut object);
    assert_eq!(unknown, ["junk", "spec.ports[0].x", "spec.zzz"]);
    let expected = json!({
        "apiVersion": "ex.com/v1", "kind": "Foo", "metadata": {"name": "a"},
        "spec": {"color": "red", "free": {"x": {"y": 1}}, "ports": [{"name": "a"}]}
    });
    assert_eq!(object, expected);
}

#[test]
fn defaults_replace_what_is_absent_or_null() {
    let mut object = json!({"spec": {"color": "red", "replicas": null}});
    colors().prune(&mut object);
    colors().default(&mut object);
    assert_eq!(object["spec"]["replicas"], 3);
    let mut object = json!({"spec": {"color": null}});
    colors().prune(&mut object);
    colors().default(&mut object);
    assert_eq!(object, json!({"spec": {"replicas": 3}}));
}

#[test]
fn what_is_wrong_is_said_in_the_words_of_kubernetes() {
    let green = errors(
        &colors(),
        &json!({"spec": {"color": "green", "replicas": 11}}),
    );
    let expected = r#"[spec.color: Unsupported value: "green": supported values: "red", "blue", "#;
    let expected = format!(
        "{expected}spec.replicas: Invalid value: 11: spec.replicas in body should be less than or \
         equal to 10]"
    );
    assert_eq!(green, expected);
    let none = errors(&colors(), &json!({"spec": {}}));
    assert_eq!(none, "spec.color: Required value");
    let text = errors(
        &colors(),
        &json!({"spec": {"color": "red", "replicas": "3"}}),
    );
    let expected = r#"spec.replicas in body must be of type integer: "string""#;
    let expected = format!("spec.replicas: Invalid value: \"string\": {expected}");
    assert_eq!(text, expected);
}

#[test]
fn elements_with_the_same_keys_are_duplicates() {
    let object = json!({"spec": {"color": "red", "ports": [{"name": "a"}, {"name": "a"}]}});
    let expected = r#"spec.ports[1]: Duplicate value: {"name":"a"}"#;
    assert_eq!(errors(&colors(), &object), expected);
}

#[test]
fn what_was_wrong_and_has_not_changed_is_let_be() {
    let before = json!({"spec": {"color": "green", "replicas": 1}});
    let next = json!({"spec": {"color": "green", "replicas": 2}});
    assert_eq!(colors().validate_change(&next, &before), []);
    let next = json!({"spec": {"color": "brown", "replicas": 1}});
    assert_eq!(colors().validate_change(&next, &before).len(), 1);
}

#[test]
fn managers_own_fields_by_the_schema() {
    let types = colors().types("com.ex.v1.Foo");
    let object = json!({
        "apiVersion": "ex.com/v1", "kind": "Foo", "metadata": {"labels": {"a": "b"}},
        "spec": {"color": "red", "free": {"x": {"y": 1}, "l": [1]}, "ports": [{"name": "a"}]}
    });
    let type_id = types.find("com.ex.v1.Foo").unwrap();
    let fields = FieldSet::of_value(&types, type_id, &object).to_fields_v1();
    let expected = json!({
        "f:apiVersion": {}, "f:kind": {}, "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {
            "f:color": {},
            "f:free": {"f:l": {}, "f:x": {".": {}, "f:y": {}}},
            "f:ports": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}
        }
    });
    assert_eq!(serde_json::from_str::<Value>(&fields).unwrap(), expected);
}
