use serde_json::json;

use super::*;

fn texts(object: &Value, rules: impl FnOnce(&Field<'_, '_>)) -> Vec<String> {
    check(object, |root| rules(root))
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_wrong_field_is_named_by_the_way_to_it() {
    let object = json!({"spec": {"list": [{"name": "A"}], "map": {"k": -1}}});
    let errors = texts(&object, |root| {
        let spec = root.child("spec");
        spec.child("list")
            .elements()
            .for_each(|element| element.child("image").required(""));
        spec.child("map")
            .entries()
            .for_each(|(_, entry)| entry.non_negative());
        root.forbidden("not here");
    });
    let expected = [
        "spec.list[0].image: Required value",
        "spec.map[k]: Invalid value: -1: must be greater than or equal to 0",
        "<nil>: Forbidden: not here",
    ];
    assert_eq!(errors, expected);
}

#[test]
fn members_are_found_together_as_they_are_one_by_one() {
    let object = json!({"d": 4, "b": 2, "name": 5, "a": 1});
    check(&object, |root| {
        let found = root.members(["a", "c", "d", "name", "z"]);
        for (field, name) in found.iter().zip(["a", "c", "d", "name", "z"]) {
            assert_eq!(field.value(), root.child(name).value(), "{name}");
            assert_eq!(field.path().to_string(), name);
        }
    });
}

#[test]
fn an_absent_field_is_empty() {
    let object = json!({"zero": 0, "none": "", "some": "x"});
    check(&object, |root| {
        assert!(root.child("zero").is_empty());
        assert!(root.child("none").is_empty());
        assert!(root.child("absent").is_empty());
        assert!(!root.child("some").is_empty());
        assert!(root.given("none").is_some());
        assert!(root.given("absent").is_none());
    });
}

#[test]
fn a_choice_is_one_of_those_there_are() {
    let object = json!({"policy": "Maybe"});
    let errors = texts(&object, |root| {
        root.child("policy").need_one_of(&["Always", "Never"]);
        root.child("other").need_one_of(&["Always"]);
        root.child("other").one_of(&["Always"]);
    });
    let expected = [
        r#"policy: Unsupported value: "Maybe": supported values: "Always", "Never""#,
        "other: Required value",
        r#"other: Unsupported value: "": supported values: "Always""#,
    ];
    assert_eq!(errors, expected);
}

#[test]
fn a_port_has_a_number_or_a_name() {
    let object = json!({"good": "http", "zero": 0, "bad": "a--"});
    let errors = texts(&object, |root| {
        root.child("good").port_number_or_name();
        root.child("zero").port_number_or_name();
        root.child("bad").port_number_or_name();
    });
    let expected = [
        "zero: Invalid value: 0: must be between 1 and 65535, inclusive",
        r#"bad: Invalid value: "a--": must not contain consecutive hyphens"#,
        r#"bad: Invalid value: "a--": must not begin or end with a hyphen"#,
    ];
    assert_eq!(errors, expected);
}

#[test]
fn a_selector_says_what_it_wants() {
    let labels = json!({"a": "b"});
    let selector = |operator, values: &[&str]| {
        let expression = json!({"key": "a", "operator": operator, "values": values});
        json!({"matchExpressions": [expression]})
    };
    assert_eq!(selects(&Value::Null, &labels), Selection::Rejects);
    assert_eq!(selects(&json!({}), &labels), Selection::Selects);
    assert_eq!(
        selects(&json!({"matchLabels": {"a": "c"}}), &labels),
        Selection::Rejects
    );
    assert_eq!(
        selects(&selector("In", &["b"]), &labels),
        Selection::Selects
    );
    assert_eq!(
        selects(&selector("NotIn", &["b"]), &labels),
        Selection::Rejects
    );
    assert_eq!(
        selects(&selector("Exists", &[]), &labels),
        Selection::Selects
    );
    assert_eq!(
        selects(&selector("Exists", &["b"]), &labels),
        Selection::Malformed
    );
    assert_eq!(
        selects(&selector("Maybe", &[]), &labels),
        Selection::Malformed
    );
}
