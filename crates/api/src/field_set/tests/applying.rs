//! What applying needs: laying over, taking out, judging the shape.

use super::*;

fn merged(live: &Value, applied: &Value) -> Value {
    let (schema, type_id) = schema();
    merge(&schema, type_id, live, applied)
}

fn names(list: &Value) -> String {
    let elements = list.as_array().unwrap().iter();
    let names = elements.map(|element| element["name"].as_str().unwrap());
    names.collect::<Vec<_>>().join(" ")
}

fn containers(names: &str) -> Value {
    let list: Vec<Value> = names
        .split_whitespace()
        .map(|name| json!({"name": name}))
        .collect();
    json!({"spec": {"containers": list}})
}

fn problems(object: &Value) -> Vec<String> {
    let (schema, type_id) = schema();
    let found = check_conformity(&schema, type_id, object);
    found.iter().map(ToString::to_string).collect()
}

fn without(object: Value, removed: Value) -> Value {
    let (schema, type_id) = schema();
    set(removed).removed_from(&schema, type_id, object)
}

#[test]
fn fields_entries_and_elements_are_laid_over_each_other() {
    let live = json!({
        "metadata": {"labels": {"a": "1", "b": "1"}, "finalizers": ["x", "y"]},
        "spec": {
            "replicas": 1,
            "containers": [{"name": "c", "image": "old", "resources": {"limits": {"cpu": "1"}}}],
            "command": ["a", "b"],
            "selector": {"labels": {"a": "b"}},
        },
    });
    let applied = json!({
        "metadata": {"labels": {"b": "2", "c": "3"}, "finalizers": ["y", "z"]},
        "spec": {
            "containers": [{"name": "c", "image": "new"}],
            "command": ["c"],
            "selector": {"labels": {"c": "d"}},
        },
    });
    let expected = json!({
        "metadata": {"labels": {"a": "1", "b": "2", "c": "3"}, "finalizers": ["x", "y", "z"]},
        "spec": {
            "replicas": 1,
            "containers": [{"name": "c", "image": "new", "resources": {"limits": {"cpu": "1"}}}],
            "command": ["c"],
            "selector": {"labels": {"c": "d"}},
        },
    });
    assert_eq!(merged(&live, &applied), expected);
}

#[test]
fn elements_keep_the_applied_order_and_the_others_their_places() {
    for (live, applied, expected) in [
        ("a b c", "c b a", "c b a"),
        ("a b c d", "c x b", "a c d x b"),
        ("a b", "x y", "a b x y"),
        ("a b c", "x b", "a x b c"),
        ("a b c", "b x", "a b c x"),
        ("q n", "c1 c2", "q n c1 c2"),
        ("a", "b a c", "b a c"),
    ] {
        let merged = merged(&containers(live), &containers(applied));
        let found = names(&merged["spec"]["containers"]);
        assert_eq!(found, expected, "{live} | {applied}");
    }
}

#[test]
fn emptiness_that_is_applied_removes_nothing() {
    let live = json!({"data": {"a": "1"}, "spec": {"containers": [{"name": "c"}]}});
    let applied = json!({"data": {}, "spec": {"containers": null}});
    assert_eq!(merged(&live, &applied), live);
}

#[test]
fn emptiness_is_laid_over_nothing_only_where_it_is_written() {
    let live = json!({"metadata": {}, "spec": {}});
    let applied = json!({"metadata": {"labels": {}}, "data": {}, "spec": {"selector": {}}});
    let expected = json!({"metadata": {}, "spec": {"selector": {}}});
    assert_eq!(merged(&live, &applied), expected);
}

#[test]
fn what_is_taken_out_goes_with_all_below_it() {
    let object = json!({
        "data": {"a": "1", "b": "1"},
        "metadata": {"labels": {"l": "1"}, "finalizers": ["x", "y"]},
        "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]},
    });
    let removed = json!({
        "f:data": {"f:a": {}},
        "f:metadata": {"f:labels": {"f:l": {}}, "f:finalizers": {"v:\"x\"": {}}},
        "f:spec": {"f:containers": {
            "k:{\"name\":\"c\"}": {}, "k:{\"name\":\"d\"}": {"f:image": {}},
        }},
    });
    let expected = json!({
        "data": {"b": "1"},
        "metadata": {"labels": null, "finalizers": ["y"]},
        "spec": {"containers": [{"name": "d"}]},
    });
    assert_eq!(without(object, removed), expected);
}

#[test]
fn structs_on_the_way_count_as_named_but_maps_and_lists_do_not() {
    let (schema, type_id) = schema();
    let owned = set(json!({
        "f:data": {"f:a": {}},
        "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {
            "f:resources": {"f:limits": {"f:cpu": {}}},
        }}},
    }));
    let expected = json!({
        "f:data": {".": {}, "f:a": {}},
        "f:spec": {".": {}, "f:containers": {".": {}, "k:{\"name\":\"c\"}": {
            "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}}},
        }}},
    });
    assert_eq!(owned.with_named_fields(&schema, type_id), set(expected));
}

#[test]
fn what_does_not_have_the_shape_is_told_in_the_words_of_kubernetes() {
    for (object, expected) in [
        (json!({"zzz": 1}), ".zzz: field not declared in schema"),
        (
            json!({"data": {"a": 1}}),
            ".data.a: expected string, got &value.valueUnstructured{Value:1}",
        ),
        (
            json!({"spec": {"replicas": "x"}}),
            ".spec.replicas: expected numeric (int or float), got string",
        ),
        (json!({"spec": "x"}), ".spec: expected map, got &{x}"),
        (
            json!({"spec": {"command": {"a": 1}}}),
            ".spec.command: expected list, got &{map[a:1]}",
        ),
        (
            json!({"spec": {"containers": [{"name": "c"}, {"name": "c"}]}}),
            ".spec.containers: duplicate entries for key [name=\"c\"]",
        ),
        (
            json!({"spec": {"containers": [{"name": "c", "image": []}]}}),
            ".spec.containers[name=\"c\"].image: expected string, got \
             &value.valueUnstructured{Value:[]interface {}{}}",
        ),
        (
            json!({"metadata": {"finalizers": [{"a": 1}]}}),
            ".metadata.finalizers: element 0: associative list without keys has an element \
             that's a map type",
        ),
        (
            json!({"spec": {"command": [true]}}),
            ".spec.command[0]: expected string, got &value.valueUnstructured{Value:true}",
        ),
    ] {
        assert_eq!(problems(&object), [expected]);
    }
    assert!(problems(&json!({"spec": null, "data": {"a": null}})).is_empty());
}

fn objects() -> impl Strategy<Value = Value> {
    let words = || prop::collection::btree_map("[a-c]", "[xy]", 0..3);
    let sets = prop::collection::btree_set("[a-c]", 0..3);
    let containers = prop::collection::vec(("[a-d]", "[xy]"), 0..4);
    (words(), words(), sets, containers).prop_map(|(data, labels, finalizers, containers)| {
        let mut seen = std::collections::BTreeSet::new();
        let distinct = containers
            .into_iter()
            .filter(|(name, _)| seen.insert(name.clone()));
        let containers: Vec<Value> = distinct
            .map(|(name, image)| json!({"name": name, "image": image}))
            .collect();
        json!({
            "data": data,
            "metadata": {"labels": labels, "finalizers": finalizers},
            "spec": {"containers": containers},
        })
    })
}

proptest! {
    #[test]
    fn laying_over_twice_is_laying_over_once(live in objects(), applied in objects()) {
        let once = merged(&live, &applied);
        prop_assert_eq!(&merged(&once, &applied), &once);
        prop_assert!(problems(&once).is_empty());
    }

    #[test]
    fn what_differs_is_owned_by_who_states_it(earlier in objects(), later in objects()) {
        let (schema, type_id) = schema();
        let found = compare(&earlier, &later);
        let owned = FieldSet::of_value(&schema, type_id, &later);
        prop_assert!(!found.modified.clone().intersects(&found.added));
        prop_assert!(found.modified.difference(&owned).is_empty());
        prop_assert!(!found.removed.intersects(&owned));
        let backwards = compare(&later, &earlier);
        prop_assert_eq!(found.added, backwards.removed);
    }
}
