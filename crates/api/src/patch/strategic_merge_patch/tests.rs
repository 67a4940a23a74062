use serde_json::json;

use super::*;
/// A pod of sorts: containers by name, their ports by number, finalizers as a set.
const TYPES: &str = "\
package test
type Pod
  containers [Container] 1 patch=merge:name
  finalizers [string] 2 patch=merge
  labels {string} 3
  whole {string} 4 patch=replace
  strategy Strategy 5 patch=retainKeys
type Container
  name string 1
  image string 2
  args [string] 3
  ports [Port] 4 patch=merge:containerPort
type Port
  containerPort int32 1
type Strategy
  type string 1
";

fn schema() -> (Schema, TypeId) {
    let schema = Schema::parse(&[TYPES]).unwrap();
    let pod = schema.find("test.Pod").unwrap();
    (schema, pod)
}

fn patched(object: Value, patch: Value) -> Value {
    let (schema, pod) = schema();
    apply(object, &patch, &schema, pod).unwrap()
}

fn refused(object: Value, patch: Value) -> (u16, String) {
    let (schema, pod) = schema();
    let status = apply(object, &patch, &schema, pod).unwrap_err();
    (status.http_code(), status.message)
}

fn containers(names: &[&str]) -> Value {
    let elements = names.iter().map(|name| json!({"name": name}));
    json!({"containers": elements.collect::<Vec<_>>()})
}

fn names(object: &Value) -> Vec<&str> {
    let elements = object["containers"].as_array().unwrap();
    elements
        .iter()
        .map(|element| element["name"].as_str().unwrap())
        .collect()
}

#[test]
fn containers_are_merged_by_name() {
    let object = json!({"containers": [{"name": "c", "image": "nginx", "args": ["a"]}]});
    let patch = json!({"containers": [{"name": "c", "image": "nginx:2"}]});
    let expected = json!({"containers": [{"name": "c", "image": "nginx:2", "args": ["a"]}]});
    assert_eq!(patched(object, patch), expected);
}

#[test]
fn lists_inside_elements_are_merged_too() {
    let object = json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "x": 1}]}]});
    let patch = json!({"containers": [{"name": "c", "ports": [{"containerPort": 81}],
        "args": ["b"]}]});
    let merged = patched(object, patch);
    let ports = json!([{"containerPort": 81}, {"containerPort": 80, "x": 1}]);
    assert_eq!(merged["containers"][0]["ports"], ports);
    assert_eq!(merged["containers"][0]["args"], json!(["b"]));
}

#[test]
fn elements_are_deleted_by_directive() {
    let object = containers(&["c", "d"]);
    let patch = json!({"containers": [
        {"name": "c", "$patch": "delete"}, {"name": "n", "image": "x"},
    ]});
    let merged = patched(object, patch);
    assert_eq!(
        merged["containers"],
        json!([{"name": "n", "image": "x"}, {"name": "d"}])
    );
}

#[test]
fn a_list_is_replaced_by_directive() {
    let patch = json!({"containers": [
        {"$patch": "replace"}, {"name": "n", "$setElementOrder/ports": []},
    ]});
    let merged = patched(containers(&["a", "b"]), patch);
    assert_eq!(merged["containers"], json!([{"name": "n"}]));
}

#[test]
fn an_object_is_replaced_or_emptied_by_directive() {
    let object = json!({"labels": {"a": "1"}, "strategy": {"type": "x", "more": {}}});
    let patch =
        json!({"labels": {"$patch": "replace", "b": "2"}, "strategy": {"$patch": "delete"}});
    assert_eq!(
        patched(object, patch),
        json!({"labels": {"b": "2"}, "strategy": {}})
    );
}

#[test]
fn null_removes() {
    let object = json!({"labels": {"x": "y", "z": "w"}});
    let patch = json!({"labels": {"x": null, "absent": null}, "finalizers": null});
    assert_eq!(patched(object, patch), json!({"labels": {"z": "w"}}));
}

#[test]
fn a_new_value_loses_nulls_and_directives() {
    let patch = json!({
        "labels": {"a": null, "b": "1"},
        "strategy": {"$retainKeys": ["type"], "type": "x"},
        "containers": [{"name": "a", "$patch": "delete"}, {"name": "b"}],
        "gone": {"$patch": "delete"},
    });
    let expected = json!({
        "labels": {"b": "1"},
        "strategy": {"type": "x"},
        "containers": [{"name": "b"}],
    });
    assert_eq!(patched(json!({}), patch), expected);
}

#[test]
fn the_stated_order_wins() {
    let patch = json!({
        "$setElementOrder/containers": [{"name": "q"}, {"name": "n"}],
        "containers": [{"name": "q", "image": "y"}],
    });
    let merged = patched(json!({"containers": [{"name": "n", "image": "x"}]}), patch);
    let expected = json!([{"name": "q", "image": "y"}, {"name": "n", "image": "x"}]);
    assert_eq!(merged["containers"], expected);
}

#[test]
fn elements_that_only_the_server_knows_keep_their_neighbours() {
    let order =
        |names: &[&str]| json!({"$setElementOrder/containers": containers(names)["containers"]});
    let object = containers(&["a", "b", "c", "d"]);
    assert_eq!(
        names(&patched(object.clone(), order(&["d", "b"]))),
        ["a", "c", "d", "b"]
    );
    assert_eq!(
        names(&patched(object.clone(), order(&["b", "d"]))),
        ["a", "b", "c", "d"]
    );
    assert_eq!(names(&patched(object, order(&[]))), ["a", "b", "c", "d"]);
}

#[test]
fn without_a_stated_order_the_patch_leads() {
    let patch = containers(&["new", "b"]);
    assert_eq!(
        names(&patched(containers(&["a", "b", "c"]), patch)),
        ["new", "a", "b", "c"]
    );
}

#[test]
fn plain_values_are_merged_as_a_set() {
    let object = json!({"finalizers": ["a/b", "e/f"]});
    let patch = json!({"finalizers": ["c/d", "e/f"]});
    assert_eq!(
        patched(object, patch),
        json!({"finalizers": ["c/d", "a/b", "e/f"]})
    );
}

#[test]
fn plain_values_are_deleted_by_directive() {
    let object = json!({"finalizers": ["a/b", "x/y"]});
    let patch = json!({"$deleteFromPrimitiveList/finalizers": ["a/b"], "finalizers": ["c/d"]});
    assert_eq!(
        patched(object, patch.clone()),
        json!({"finalizers": ["c/d", "x/y"]})
    );
    assert_eq!(patched(json!({}), patch), json!({"finalizers": ["c/d"]}));
}

#[test]
fn only_retained_keys_stay() {
    let object = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"max": 1}}});
    let patch = json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}});
    assert_eq!(
        patched(object.clone(), patch),
        json!({"strategy": {"type": "Recreate"}})
    );
    let bad = (400, "invalid patch format of retainKeys".to_owned());
    let patch = json!({"strategy": {"$retainKeys": ["type"], "other": 1}});
    assert_eq!(refused(object.clone(), patch), bad);
    assert_eq!(
        refused(object, json!({"strategy": {"$retainKeys": 1}})),
        bad
    );
}

#[test]
fn a_field_with_the_replace_strategy_is_replaced() {
    let object = json!({"whole": {"a": "1"}});
    assert_eq!(
        patched(object, json!({"whole": {"b": "2"}})),
        json!({"whole": {"b": "2"}})
    );
}

#[test]
fn fields_that_the_schema_does_not_know_are_merged_plainly() {
    let object = json!({"unknown": {"a": 1, "l": [1]}});
    let patch = json!({"unknown": {"b": 2, "l": [2]}});
    assert_eq!(
        patched(object, patch),
        json!({"unknown": {"a": 1, "b": 2, "l": [2]}})
    );
}

#[test]
fn malformed_patches_are_refused() {
    let object = || containers(&["a"]);
    let key = "map: map[image:x] does not contain declared merge key: name".to_owned();
    assert_eq!(
        refused(object(), json!({"containers": [{"image": "x"}]})),
        (400, key)
    );
    let directive = "unknown patch type: jump in map: map[a:1]".to_owned();
    assert_eq!(
        refused(object(), json!({"$patch": "jump", "a": 1})),
        (400, directive)
    );
    let order = "invalid patch format of setElementOrder list".to_owned();
    assert_eq!(
        refused(object(), json!({"$setElementOrder": []})),
        (400, order)
    );
    let list = "invalid patch format of primitive list".to_owned();
    assert_eq!(
        refused(object(), json!({"$deleteFromPrimitiveList": []})),
        (400, list)
    );
    let kind = "expected a []interface {}, but received a string".to_owned();
    assert_eq!(
        refused(object(), json!({"$setElementOrder/containers": "x"})),
        (400, kind)
    );
    let mixed = "list element types are not identical".to_owned();
    assert_eq!(
        refused(object(), json!({"containers": ["x"]})),
        (400, mixed)
    );
    assert_eq!(refused(object(), json!({"containers": [[]]})).0, 422);
    let patch = json!({
        "$setElementOrder/containers": [{"name": "x"}],
        "containers": [{"name": "y"}],
    });
    let expected = "The order in patch list:\n[map[name:y]]\n doesn't match $setElementOrder \
                    list:\n[map[name:x]]\n";
    assert_eq!(refused(object(), patch), (400, expected.to_owned()));
}

#[test]
fn twenty_thousand_elements_are_merged() {
    let names: Vec<String> = (0..20_000).map(|number| format!("c{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let merged = patched(containers(&names), containers(&names));
    assert_eq!(merged["containers"].as_array().unwrap().len(), 20_000);
}
