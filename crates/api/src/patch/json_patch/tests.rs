use proptest::prelude::*;
use serde_json::json;

use super::*;

fn patched(object: Value, operations: Value) -> Option<Value> {
    JsonPatch::from_value(&operations)
        .unwrap()
        .apply(object)
        .ok()
}

fn one(object: Value, operation: Value) -> Option<Value> {
    patched(object, json!([operation]))
}

#[test]
fn operations_do_what_the_standard_says() {
    let cases = [
        (
            r#"{}"#,
            r#"{"op":"add","path":"/a","value":1}"#,
            r#"{"a":1}"#,
        ),
        (
            r#"{"a":1}"#,
            r#"{"op":"add","path":"/a","value":2}"#,
            r#"{"a":2}"#,
        ),
        ("[1,3]", r#"{"op":"add","path":"/1","value":2}"#, "[1,2,3]"),
        ("[1]", r#"{"op":"add","path":"/-","value":2}"#, "[1,2]"),
        ("[1]", r#"{"op":"add","path":"/1","value":2}"#, "[1,2]"),
        ("[1]", r#"{"op":"add","path":"","value":2}"#, "2"),
        (r#"{"a":1}"#, r#"{"op":"remove","path":"/a"}"#, "{}"),
        ("[1,2]", r#"{"op":"remove","path":"/0"}"#, "[2]"),
        ("[1,2]", r#"{"op":"remove","path":"/-1"}"#, "[1]"),
        (
            r#"{"a":1}"#,
            r#"{"op":"replace","path":"/a","value":2}"#,
            r#"{"a":2}"#,
        ),
        (
            r#"{"a":1}"#,
            r#"{"op":"move","from":"/a","path":"/b"}"#,
            r#"{"b":1}"#,
        ),
        (
            r#"{"a":1}"#,
            r#"{"op":"copy","from":"/a","path":"/b"}"#,
            r#"{"a":1,"b":1}"#,
        ),
        (
            r#"{"a/b~":1}"#,
            r#"{"op":"test","path":"/a~1b~0","value":1}"#,
            r#"{"a/b~":1}"#,
        ),
        (
            r#"{}"#,
            r#"{"op":"test","path":"/a","value":null}"#,
            r#"{}"#,
        ),
    ];
    for (object, operation, expected) in cases {
        let [object, operation, expected] =
            [object, operation, expected].map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(one(object, operation), Some(expected));
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    let object = json!({"a": {"b": 1}, "l": [1], "t": "x"});
    let operations = [
        json!({"op": "test", "path": "/a/b", "value": "nope"}),
        json!({"op": "remove", "path": "/c"}),
        json!({"op": "remove", "path": ""}),
        json!({"op": "replace", "path": "/c/d", "value": 1}),
        json!({"op": "replace", "path": "/l/1", "value": 1}),
        json!({"op": "test", "path": "/c/d", "value": null}),
        json!({"op": "test", "path": "/l/1", "value": null}),
        json!({"op": "add", "path": "/c/d", "value": 1}),
        json!({"op": "add", "path": "/t/d", "value": 1}),
        json!({"op": "add", "path": "/l/3", "value": 1}),
        json!({"op": "add", "path": "/l/x", "value": 1}),
        json!({"op": "remove", "path": "/l/-2"}),
        json!({"op": "move", "from": "/a", "path": "/a/b"}),
        json!({"op": "copy", "from": "/c", "path": "/d"}),
        json!({"op": "add", "path": "a", "value": 1}),
        json!({"op": "replace", "path": "/a"}),
        json!({"op": "jump", "path": "/a"}),
        json!({}),
    ];
    for operation in operations {
        let patch = JsonPatch::from_value(&json!([operation])).unwrap();
        let status = patch.apply(object.clone()).unwrap_err();
        assert_eq!(status, Status::unprocessable(), "{operation}");
    }
}

#[test]
fn malformed_operations_are_refused_in_the_words_of_go() {
    let refused = |value: Value| JsonPatch::from_value(&value).unwrap_err().message;
    let expected = "error decoding patch: json: cannot unmarshal string into Go value of type \
                    handlers.jsonPatchOp";
    assert_eq!(refused(json!(["x"])), expected);
    let expected = "error decoding patch: json: cannot unmarshal number into Go struct field \
                    jsonPatchOp.op of type string";
    assert_eq!(refused(json!([{"op": 1}])), expected);
}

#[test]
fn too_many_operations_are_refused() {
    let operation = json!({"op": "test", "path": "/a"});
    let status = JsonPatch::from_value(&Value::from(vec![operation; 10_001])).unwrap_err();
    let expected = "Request entity too large: The allowed maximum operations in a JSON patch is \
                    10000, got 10001";
    assert_eq!(
        (status.http_code(), status.message.as_str()),
        (413, expected)
    );
}

#[test]
fn copies_cannot_grow_without_end() {
    let copy = json!({"op": "copy", "from": "/l", "path": "/l/-"});
    assert!(patched(json!({"l": [0]}), Value::from(vec![copy.clone(); 10])).is_some());
    assert_eq!(
        patched(json!({"l": [0]}), Value::from(vec![copy; 40])),
        None
    );
}

#[test]
fn nesting_cannot_grow_without_end() {
    let copy = json!({"op": "copy", "from": "", "path": "/a"});
    let deep = patched(json!({"b": 1}), Value::from(vec![copy.clone(); 126])).unwrap();
    assert!(json::decode(deep.to_string().as_bytes()).is_ok());
    assert_eq!(patched(json!({"b": 1}), Value::from(vec![copy; 127])), None);
}

#[test]
fn shifting_long_lists_has_an_end() {
    let object = Value::from(vec![0; 100_000]);
    let insert = json!({"op": "add", "path": "/0", "value": 1});
    assert_eq!(patched(object, Value::from(vec![insert; 1_000])), None);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(null)), (0..3).prop_map(|n| json!(n))];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn operation() -> impl Strategy<Value = Value> {
    let name = "add|remove|replace|move|copy|test";
    let parts = (name, "(/[ab01-]){0,3}", "(/[ab01]){0,2}", json_value());
    parts.prop_map(
        |(name, path, from, value)| json!({"op": name, "path": path, "from": from, "value": value}),
    )
}

proptest! {
    #[test]
    fn any_patch_is_applied_or_refused(
        object in json_value(),
        operations in prop::collection::vec(operation(), 0..5),
    ) {
        let _ = patched(object, Value::from(operations));
    }
}
