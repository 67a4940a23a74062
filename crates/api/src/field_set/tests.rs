use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::schema::{Schema, TypeId};

mod applying;

const TABLE: &str = "\
package p
type Thing
  metadata! Metadata -
  data {string} -
  spec! Spec -
type Metadata
  name string -
  labels {string} -
  finalizers [string] - set
type Spec
  replicas? int32 -
  containers* [Container] - keys=name
  ports [Port] - keys=port,protocol
  command [string] -
  selector? Selector -
  limits {string} - atomic
type Container
  name! string -
  image string -
  resources! Resources -
type Resources
  limits {quantity} -
type Port
  port! int32 -
  protocol string - default=\"TCP\"
type Selector atomic
  labels {string} -
";

fn schema() -> (Schema, TypeId) {
    let schema = Schema::parse(&[TABLE]).unwrap();
    let type_id = schema.find("p.Thing").unwrap();
    (schema, type_id)
}

fn set(fields: Value) -> FieldSet {
    FieldSet::from_fields_v1(&fields).unwrap()
}

fn compare(earlier: &Value, later: &Value) -> Comparison {
    let (schema, type_id) = schema();
    Comparison::between(&schema, type_id, earlier, later)
}

fn fields_of(object: &Value) -> Value {
    let (schema, type_id) = schema();
    let written = FieldSet::of_value(&schema, type_id, object).to_fields_v1();
    serde_json::from_str(&written).unwrap()
}

#[test]
fn a_field_with_nothing_below_is_a_member() {
    let fields = json!({"f:data": {".": {}, "f:a": {}}, "f:spec": {"f:replicas": {}}});
    let set = set(fields.clone());
    assert!(set.contains(&[Step::field("data")]));
    assert!(set.contains(&[Step::field("data"), Step::field("a")]));
    assert!(!set.contains(&[Step::field("spec")]));
    assert!(set.contains(&[Step::field("spec"), Step::field("replicas")]));
    assert_eq!(set.to_fields_v1(), fields.to_string());
}

#[test]
fn keys_are_the_same_whatever_their_order_and_white_space() {
    let one = set(json!({"f:p": {"k:{\"port\": 80, \"name\": \"x\"}": {}}}));
    let other = set(json!({"f:p": {"k:{\"name\":\"x\",\"port\":80}": {}}}));
    assert_eq!(one, other);
}

#[test]
fn keys_of_every_form_are_read() {
    for keys in [
        r#"{"name":"x"}"#,
        r#"{"port":80}"#,
        r#"{"port":0}"#,
        r#"{"ratio":1.5}"#,
        r#"{"name":"a b"}"#,
        r#"{"name":"\"é"}"#,
        r#"{"a":"1","b":true}"#,
        r#"{"name":""}"#,
    ] {
        let keys: Value = serde_json::from_str(keys).unwrap();
        let step = format!("k:{keys}");
        let expected = Step::keys(keys.as_object().unwrap().iter().map(|(k, v)| (&**k, v)));
        let read = set(json!({ step: {} }));
        assert!(read.contains(&[expected]), "{keys}");
    }
    for broken in [
        r#"k:{"a":}"#,
        r#"k:{"a":1"#,
        r#"k:{"a":01}"#,
        r#"k:{"a":x}"#,
    ] {
        assert!(
            FieldSet::from_fields_v1(&json!({ broken: {} })).is_err(),
            "{broken}"
        );
    }
}

#[test]
fn steps_of_another_kind_are_left_out_and_broken_ones_refused() {
    assert_eq!(set(json!({"x:y": {}, "f:a": {}})), set(json!({"f:a": {}})));
    for broken in [
        json!({"a": {}}),
        json!({"k:{": {}}),
        json!({"i:x": {}}),
        json!([]),
    ] {
        assert!(FieldSet::from_fields_v1(&broken).is_err(), "{broken}");
    }
}

#[test]
fn paths_are_written_as_kubernetes_writes_them() {
    let set = set(json!({
        "f:spec": {
            "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
            "f:a": {},
        },
        "f:data": {},
        "f:f": {"v:\"x\"": {}},
        "f:i": {"i:3": {}},
    }));
    let paths: Vec<String> = set.paths().iter().map(ToString::to_string).collect();
    let expected = [
        ".data",
        ".f[=\"x\"]",
        ".i[3]",
        ".spec.a",
        ".spec.ports[port=80,protocol=\"TCP\"]",
        ".spec.ports[port=80,protocol=\"TCP\"].port",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_new_map_is_owned_with_its_entries() {
    let later = json!({"data": {"a": "1"}});
    let added = compare(&json!({}), &later).added;
    assert_eq!(added, set(json!({"f:data": {".": {}, "f:a": {}}})));
    let more = json!({"data": {"a": "1", "b": "2"}});
    let added = compare(&later, &more).added;
    assert_eq!(added, set(json!({"f:data": {"f:b": {}}})));
}

#[test]
fn structs_and_lists_that_are_always_there_are_owned_by_their_fields() {
    let unset = json!({"metadata": {}, "spec": {"containers": null}});
    let later = json!({"metadata": {}, "spec": {
        "containers": [{"name": "c", "image": "x", "resources": {}}],
    }});
    let expected = json!({"f:spec": {"f:containers": {
        "k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}},
    }}});
    let found = compare(&unset, &later);
    assert_eq!(found.added, set(expected));
    assert!(found.modified.is_empty() && found.removed.is_empty());
}

#[test]
fn elements_are_compared_by_their_keys_with_defaults() {
    let earlier = json!({"spec": {"ports": [{"port": 1}, {"port": 2}]}});
    let later = json!({"spec": {"ports": [{"port": 2}, {"port": 1, "protocol": "TCP"}]}});
    let found = compare(&earlier, &later);
    let step = "k:{\"port\":1,\"protocol\":\"TCP\"}";
    let added = json!({"f:spec": {"f:ports": {step: {"f:protocol": {}}}}});
    assert_eq!(found.added, set(added));
    assert!(found.modified.is_empty() && found.removed.is_empty());
}

#[test]
fn what_is_one_value_is_modified_as_a_whole() {
    let state = |word: &str| {
        json!({"spec": {
            "command": [word], "selector": {"labels": {"a": word}}, "limits": {"a": word},
        }})
    };
    let found = compare(&state("x"), &state("y"));
    let modified = json!({"f:spec": {"f:command": {}, "f:selector": {}, "f:limits": {}}});
    assert_eq!(found.modified, set(modified));
    assert!(found.added.is_empty() && found.removed.is_empty());
}

#[test]
fn values_come_and_go_in_sets() {
    let earlier = json!({"metadata": {"finalizers": ["a", "b"]}});
    let later = json!({"metadata": {"finalizers": ["b", "c"]}});
    let found = compare(&earlier, &later);
    let of = |value: &str| set(json!({"f:metadata": {"f:finalizers": {value: {}}}}));
    assert_eq!((found.added, found.removed), (of("v:\"c\""), of("v:\"a\"")));
}

#[test]
fn elements_that_cannot_be_told_apart_are_one_value() {
    let one = json!({"spec": {"ports": [{"port": 1}]}});
    let two = json!({"spec": {"ports": [{"port": 1}, {"port": 1}]}});
    let step = "k:{\"port\":1,\"protocol\":\"TCP\"}";
    let itself = set(json!({"f:spec": {"f:ports": {step: {}}}}));
    let all = set(json!({"f:spec": {"f:ports": {step: {".": {}, "f:port": {}}}}}));
    let doubled = compare(&one, &two);
    assert_eq!(
        (doubled.added, doubled.removed),
        (itself.clone(), all.clone())
    );
    let single = compare(&two, &one);
    assert_eq!((single.added, single.removed), (all, itself.clone()));
    let three = json!({"spec": {"ports": [{"port": 1}, {"port": 1}, {"port": 1}]}});
    assert_eq!(compare(&two, &three).modified, itself);
    assert!(compare(&two, &two).is_empty());
}

#[test]
fn ignored_fields_are_left_out_with_all_below_them() {
    let earlier = json!({"data": {"a": "1"}, "spec": {"replicas": 1}});
    let later = json!({"data": {"a": "2"}, "spec": {"replicas": 2}});
    let found = compare(&earlier, &later).without(&FieldSet::of_names(&[&["spec"]]));
    assert_eq!(found.modified, set(json!({"f:data": {"f:a": {}}})));
}

#[test]
fn whoever_states_a_value_owns_its_ends() {
    let stated = json!({
        "metadata": {"labels": {"l": "1"}, "finalizers": ["x"]},
        "data": {},
        "spec": {
            "replicas": 2,
            "containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}],
            "ports": [],
            "command": [],
            "selector": {"labels": {"a": "b"}},
        },
    });
    let expected = json!({
        "f:metadata": {"f:labels": {"f:l": {}}, "f:finalizers": {"v:\"x\"": {}}},
        "f:data": {},
        "f:spec": {
            "f:replicas": {},
            "f:containers": {"k:{\"name\":\"c\"}": {
                ".": {}, "f:name": {}, "f:resources": {"f:limits": {"f:cpu": {}}},
            }},
            "f:command": {},
            "f:selector": {},
        },
    });
    assert_eq!(fields_of(&stated), expected);
}

fn steps() -> impl Strategy<Value = Step> {
    let name = "[a-c<\"]{1,2}";
    prop_oneof![
        name.prop_map(|name| Step::field(&name)),
        name.prop_map(|name| Step::keys([("name", &Value::from(name)), ("id", &json!(1))])),
        name.prop_map(|name| Step::value(&Value::from(name))),
        (0usize..3).prop_map(Step::Index),
    ]
}

fn sets() -> impl Strategy<Value = FieldSet> {
    let paths = prop::collection::vec(prop::collection::vec(steps(), 1..4), 0..12);
    paths.prop_map(|paths| {
        let mut set = FieldSet::default();
        paths.iter().for_each(|path| set.insert(path));
        set
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(set in sets()) {
        let written = set.to_fields_v1();
        let read: Value = serde_json::from_str(&written).unwrap();
        let mut canonical = Vec::new();
        crate::object::append_value(&read, &mut canonical);
        prop_assert_eq!(canonical, written.as_bytes());
        prop_assert_eq!(FieldSet::from_fields_v1(&read).unwrap(), set.clone());
        prop_assert_eq!(FieldSet::from_fields_v1_text(&written).unwrap(), set);
    }

    #[test]
    fn a_set_is_what_its_paths_say(set in sets()) {
        let mut again = FieldSet::default();
        for path in set.paths() {
            prop_assert!(set.contains(&path.0));
            again.insert(&path.0);
        }
        prop_assert_eq!(again, set);
    }

    #[test]
    fn union_and_difference_are_those_of_sets(one in sets(), other in sets()) {
        let union = one.clone().union(other.clone());
        prop_assert_eq!(&union, &other.clone().union(one.clone()));
        prop_assert_eq!(&one.clone().union(one.clone()), &one);
        for path in union.paths() {
            let (ours, theirs) = (one.contains(&path.0), other.contains(&path.0));
            prop_assert!(ours || theirs);
            prop_assert_eq!(one.clone().difference(&other).contains(&path.0), ours && !theirs);
            prop_assert_eq!(one.clone().intersection(&other).contains(&path.0), ours && theirs);
        }
        prop_assert_eq!(one.intersects(&other), !one.clone().intersection(&other).is_empty());
        let apart = one.clone().difference(&other).union(one.clone().intersection(&other));
        prop_assert_eq!(apart, one);
    }

    #[test]
    fn what_is_written_answers_as_what_is_read(one in sets(), other in sets()) {
        let written = other.to_fields_v1();
        prop_assert_eq!(one.intersects_written(&written), one.intersects(&other));
        let rest = one.clone().difference(&other);
        prop_assert_eq!(one.is_within_written(&written), rest.is_empty());
    }

    #[test]
    fn nothing_stays_below_a_removed_field(one in sets(), other in sets()) {
        let rest = one.clone().difference_with_all_below(&other);
        for path in one.paths() {
            let is_removed = (1..=path.0.len()).any(|length| other.contains(&path.0[..length]));
            prop_assert_eq!(rest.contains(&path.0), !is_removed);
        }
    }
}
