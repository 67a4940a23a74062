use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::object::to_canonical;

fn stored(object: &Value) -> StoredObject {
    StoredObject::scan(to_canonical(object).into(), &[]).unwrap()
}

fn appended(object: &StoredObject, header: Header<'_>, version: u64) -> String {
    let mut buffer = Vec::new();
    object.append(header, ResourceVersion::new(version), &mut buffer);
    String::from_utf8(buffer).unwrap()
}

#[test]
fn the_resource_version_stands_behind_the_uid() {
    let object = stored(&json!({"kind": "A", "metadata": {"name": "x", "uid": "u", "labels": {}}}));
    assert_eq!(
        appended(&object, Header::Stored, 7),
        r#"{"kind":"A","metadata":{"name":"x","uid":"u","resourceVersion":"7","labels":{}}}"#
    );
}

#[test]
fn the_resource_version_stands_first_without_a_uid() {
    let object = stored(&json!({"metadata": {"name": "x"}}));
    assert_eq!(
        appended(&object, Header::Stored, 0),
        r#"{"metadata":{"resourceVersion":"0","name":"x"}}"#
    );
}

#[test]
fn the_resource_version_stands_alone_in_empty_metadata() {
    let object = stored(&json!({"kind": "A", "apiVersion": "v1", "data": 1}));
    assert_eq!(
        appended(&object, Header::Stored, u64::MAX),
        concat!(
            r#"{"kind":"A","apiVersion":"v1","metadata":"#,
            r#"{"resourceVersion":"18446744073709551615"},"data":1}"#
        )
    );
}

#[test]
fn the_resource_version_stands_last_behind_a_last_uid() {
    let object = stored(&json!({"metadata": {"uid": "u"}}));
    assert_eq!(
        appended(&object, Header::Stored, 5),
        r#"{"metadata":{"uid":"u","resourceVersion":"5"}}"#
    );
}

#[test]
fn a_header_can_be_left_out_or_replaced() {
    let object = stored(&json!({"kind": "A", "apiVersion": "v1", "metadata": {"uid": "u"}}));
    assert_eq!(
        appended(&object, Header::Omitted, 5),
        r#"{"metadata":{"uid":"u","resourceVersion":"5"}}"#
    );
    assert_eq!(
        appended(&object, Header::Replaced(br#""kind":"B""#), 5),
        r#"{"kind":"B","metadata":{"uid":"u","resourceVersion":"5"}}"#
    );
}

#[test]
fn metadata_can_be_given_alone() {
    let object = stored(&json!({"kind": "A", "metadata": {"name": "x"}, "spec": {"a": 1}}));
    let mut buffer = Vec::new();
    object.append_metadata_only(br#""kind":"P""#, ResourceVersion::new(3), &mut buffer);
    assert_eq!(
        String::from_utf8(buffer).unwrap(),
        r#"{"kind":"P","metadata":{"resourceVersion":"3","name":"x"}}"#
    );
}

#[test]
fn labels_are_found() {
    let object = stored(&json!({"metadata": {"labels": {"tier": "", "app": "web"}}}));
    let labels: Vec<_> = object.labels().collect();
    assert_eq!(labels, [("app", "web"), ("tier", "")]);
    assert_eq!(object.label("app"), Some("web"));
    assert_eq!(object.label("ap"), None);
    assert_eq!(
        object.label_terms().next(),
        Some(br#"app":"web"#.as_slice())
    );
}

#[test]
fn fields_are_found_as_text() {
    let object = json!({
        "metadata": {"name": "x", "annotations": {"a": "b"}},
        "spec": {"nodeName": "n<1>", "hostNetwork": true, "list": [1], "nothing": null,
                 "deep": {"nodeName": "wrong", "port": 80}},
        "type": "Opaque",
    });
    let paths = [
        MemberPath::new(["spec", "nodeName"]),
        MemberPath::new(["spec", "hostNetwork"]),
        MemberPath::new(["spec", "deep", "port"]),
        MemberPath::new(["type"]),
        MemberPath::new(["metadata", "annotations", "a"]),
        MemberPath::new(["spec", "list"]),
        MemberPath::new(["spec", "nothing"]),
        MemberPath::new(["spec", "deep"]),
        MemberPath::new(["spec"]),
        MemberPath::new(["nodeName"]),
    ];
    let object = StoredObject::scan(to_canonical(&object).into(), &paths).unwrap();
    let found: Vec<_> = (0..paths.len()).map(|index| object.field(index)).collect();
    let mut expected = vec![None; paths.len()];
    expected[0] = Some(r"n\u003c1\u003e");
    expected[1] = Some("true");
    expected[2] = Some("80");
    expected[3] = Some("Opaque");
    expected[4] = Some("b");
    assert_eq!(found, expected);
}

#[test]
fn what_is_not_canonical_is_refused() {
    let refused = |text: &str| StoredObject::scan(text.to_owned().into(), &[]).unwrap_err();
    assert_eq!(refused("null"), LayoutError::NotCanonical { offset: 0 });
    assert_eq!(refused(""), LayoutError::NotCanonical { offset: 0 });
    assert_eq!(refused(r#"{"kind":"A"}"#), LayoutError::MetadataNotFirst);
    assert_eq!(
        refused(r#"{"data":1,"metadata":{}}"#),
        LayoutError::MetadataNotFirst
    );
    assert_eq!(
        refused(r#"{"metadata":{}} "#),
        LayoutError::NotCanonical { offset: 15 }
    );
    assert_eq!(
        refused(r#"{"metadata":{},"a":[}"#),
        LayoutError::NotCanonical { offset: 20 }
    );
    let deep = format!(r#"{{"metadata":{{}},"a":{}"#, "[".repeat(1_000_000));
    assert_eq!(refused(&deep), LayoutError::TooDeep);
    let long = format!(
        r#"{{"metadata":{{"labels":{{"a":"{}"}}}}}}"#,
        "b".repeat(70_000)
    );
    assert_eq!(refused(&long), LayoutError::TooLong);
}

#[test]
fn what_a_parser_would_refuse_is_refused() {
    let scan = |text: &[u8]| StoredObject::scan(Bytes::copy_from_slice(text), &[]);
    for inside in [
        &br#"tru"#[..],
        br#"01"#,
        br#"1."#,
        br#"1e"#,
        br#"-"#,
        br#"1e999"#,
        br#"[1 2]"#,
        br#"[1,]"#,
        br#"{"b"}"#,
        br#"{"b":1,}"#,
        br#"{"b":1]"#,
        br#""\x""#,
        br#""\u12g4""#,
        br#""\ud800""#,
        b"\"a\nb\"",
        b"\"longer than a word\x1f\"",
        b"\"\xff\"",
    ] {
        let text = [br#"{"metadata":{},"a":"#, inside, b"}"].concat();
        assert!(scan(&text).is_err(), "{}", String::from_utf8_lossy(inside));
    }
    for inside in ["-0.5e+7", "[[],{},[{}],null]", r#""\u00e9\/\\""#] {
        let text = format!(r#"{{"metadata":{{}},"a":{inside}}}"#);
        assert!(scan(text.as_bytes()).is_ok(), "{inside}");
    }
}

#[test]
fn a_resource_version_inside_is_refused() {
    let text = r#"{"metadata":{"name":"a","resourceVersion":"7"}}"#;
    let refusal = StoredObject::scan(text.to_owned().into(), &[]).unwrap_err();
    assert_eq!(refusal, LayoutError::NotCanonical { offset: 42 });
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-d\"\\\\<]{0,3}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("name".to_owned()),
        Just("uid".to_owned()),
        Just("annotations".to_owned()),
        "[x-z]{1,2}",
    ];
    let metadata = prop::collection::btree_map(name, json_value(), 0..4);
    let labels = prop::option::of(prop::collection::btree_map(
        "[a-c]{1,3}",
        "[a-c]{0,3}",
        0..4,
    ));
    let rest = prop::collection::btree_map("[a-c]{1,2}", json_value(), 0..4);
    (metadata, labels, rest, any::<bool>()).prop_map(|(metadata, labels, rest, header)| {
        let mut object: serde_json::Map<String, Value> = rest.into_iter().collect();
        let mut metadata: serde_json::Map<String, Value> = metadata.into_iter().collect();
        if let Some(labels) = labels {
            metadata.insert("labels".into(), json!(labels));
        }
        object.insert("metadata".into(), metadata.into());
        if header {
            object.insert("kind".into(), "K".into());
            object.insert("apiVersion".into(), "g/v1".into());
        }
        object.into()
    })
}

proptest! {
    #[test]
    fn splicing_adds_the_resource_version_and_nothing_else(object in object(), version: u64) {
        let text = appended(&stored(&object), Header::Stored, version);
        let mut expected = object;
        expected["metadata"]["resourceVersion"] = version.to_string().into();
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    }

    #[test]
    fn any_field_is_found_where_a_parser_finds_it(object in object(), path in "[a-c]{1,2}") {
        let fields = [MemberPath::new([path.as_str()]), MemberPath::new([path.as_str(), "a"])];
        let found = StoredObject::scan(to_canonical(&object).into(), &fields).unwrap();
        for (index, value) in [&object[&path], &object[&path]["a"]].into_iter().enumerate() {
            let expected = match value {
                Value::Null | Value::Array(_) | Value::Object(_) => None,
                Value::String(text) => {
                    let mut escaped = Vec::new();
                    crate::object::append_escaped(text, &mut escaped);
                    Some(String::from_utf8(escaped).unwrap())
                }
                other => Some(other.to_string()),
            };
            prop_assert_eq!(found.field(index), expected.as_deref());
        }
    }

    #[test]
    fn a_damaged_object_never_panics(object in object(), at: prop::sample::Index, byte: u8) {
        let mut bytes = to_canonical(&object);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let fields = [MemberPath::new(["a", "b"])];
        if let Ok(object) = StoredObject::scan(bytes.into(), &fields) {
            prop_assert!(serde_json::from_slice::<Value>(object.value()).is_ok());
            let mut buffer = Vec::new();
            object.append(Header::Omitted, ResourceVersion::new(1), &mut buffer);
            object.append_metadata_only(b"", ResourceVersion::new(1), &mut buffer);
            prop_assert!(object.labels().count() < 9 && object.field(0).is_none_or(|_| true));
        }
        let cut = to_canonical(&json!({"metadata": {"uid": "\\"}, "a": ["\\"]}));
        for end in 0..cut.len() {
            let part = Bytes::copy_from_slice(&cut[..end]);
            prop_assert!(StoredObject::scan(part, &fields).is_err());
        }
    }
}
