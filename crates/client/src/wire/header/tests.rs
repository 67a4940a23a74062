use proptest::{prelude::*, sample::Index};
use serde_json::{Map, Value};

use super::*;

/// The header as a JSON library sees it.
fn expected(object: &Value) -> [String; 4] {
    ["name", "namespace", "uid", "resourceVersion"].map(|field| {
        object["metadata"][field]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    })
}

fn found(header: &Header<'_>) -> [String; 4] {
    [
        &header.name,
        &header.namespace,
        &header.uid,
        &header.version,
    ]
    .map(|text| text.to_string())
}

fn object(body: &str) -> Result<RawObject, Unreadable> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    RawObject::from_json(body, &mut LabelPool::default())
}

#[test]
fn an_object_is_read_without_its_body() {
    let body = r#" {"kind":"Pod","spec":{"a":["}\""]},"metadata":{"name":"web","namespace":"prod",
        "uid":"u","labels":{"b":"2","a":"1"},"annotations":{"name":"not this"},
        "managedFields":[{"name":"nor this"}],"resourceVersion":"7"},"status":null}"#;
    let object = object(body).unwrap();
    assert_eq!(object.key.as_str(), "prod/web");
    assert_eq!(object.version, Version::Number(7));
    assert_eq!(object.uid, Uid::parse("u"));
    assert_eq!(
        object.labels.iter().collect::<Vec<_>>(),
        [("a", "1"), ("b", "2")]
    );
    assert_eq!(object.body, body);
}

#[test]
fn what_is_missing_is_told() {
    let cases = [
        (r#"{"metadata":{"resourceVersion":"7"}}"#, "it has no name"),
        (r#"{"metadata":{"name":"a"}}"#, "it has no version"),
        (
            r#"{"metadata":{"name":"a","resourceVersion":"0"}}"#,
            "it has no version",
        ),
        (r#"{"metadata":null}"#, "it has no name"),
        (
            r#"{"metadata":{"name":7}}"#,
            "a string was expected in metadata",
        ),
        (
            r#"{"metadata":{"name":"a","resourceVersion":"7"}}}"#,
            "something follows the object",
        ),
        (
            r#"{"metadata":{"name":"\ud800","resourceVersion":"7"}}"#,
            "a bad string",
        ),
        (r#"{"a":>{"b":1}}"#, "a value is missing"),
        (
            r#"{"a":1{"b":1}}"#,
            "neither a comma nor the end of a value",
        ),
        ("[]", "another token was expected"),
        ("", "it ends too early"),
    ];
    for (body, reason) in cases {
        assert_eq!(object(body).unwrap_err().reason, reason, "{body}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_only_where_they_are_read() {
    let with = |before: &[u8], after: &[u8]| {
        let body = [before, b"\xff", after].concat();
        RawObject::from_json(body.into(), &mut LabelPool::default())
    };
    let name = with(br#"{"metadata":{"resourceVersion":"7","name":""#, br#""}}"#);
    assert_eq!(name.unwrap_err().reason, "not UTF-8");
    let label = with(
        br#"{"metadata":{"resourceVersion":"7","name":"a","labels":{"a":""#,
        br#""}}}"#,
    );
    assert_eq!(label.unwrap_err().reason, "not UTF-8");
    let data = with(
        br#"{"metadata":{"resourceVersion":"7","name":"a"},"data":""#,
        br#""}"#,
    );
    assert_eq!(data.unwrap().key.as_str(), "a");
}

#[test]
fn an_object_that_ends_anywhere_too_early_is_refused() {
    let body = r#"{"a":[1,"\"",{}],"metadata":{"name":"n\u0061","labels":{"a":"b"},"x":null}}"#;
    for end in 0..body.len() {
        assert!(Header::scan(&body.as_bytes()[..end]).is_err(), "{end}");
    }
    assert_eq!(Header::scan(body.as_bytes()).unwrap().name, "na");
}

#[test]
fn of_members_of_one_name_the_last_counts() {
    let body = r#"{"metadata":{"name":"a","uid":"u"},"metadata":{"name":"b","name":"c"}}"#;
    let header = Header::scan(body.as_bytes()).unwrap();
    assert_eq!((&*header.name, &*header.uid), ("c", ""));
    assert_eq!(
        found(&header),
        expected(&serde_json::from_str(body).unwrap())
    );
}

#[test]
fn depth_is_no_danger() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    let body = format!(r#"{{"a":{deep},"metadata":{{"b":{deep},"name":"x"}}}}"#);
    assert_eq!(Header::scan(body.as_bytes()).unwrap().name, "x");
    let bomb = r#"{"metadata":{"a":"#.repeat(100_000);
    assert!(Header::scan(bomb.as_bytes()).is_err());
}

fn json(depth: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(depth, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Members in the order given, as `serde_json` would not keep them.
fn write(members: &[(String, String)], space: &str) -> String {
    let members = members.iter().map(|(name, value)| {
        format!(
            "{space}{}{space}:{space}{value}{space}",
            Value::from(name.as_str())
        )
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn others(depth: u32) -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec(
        (
            any::<String>(),
            json(depth).prop_map(|value| value.to_string()),
        ),
        0..5,
    )
}

prop_compose! {
    /// An object with its metadata anywhere, written in any way.
    fn objects()(
        texts in prop::collection::vec(any::<String>(), 4),
        labels in prop::collection::btree_map(any::<String>(), any::<String>(), 0..4),
        mut metadata in others(2),
        mut object in others(3),
        places in prop::collection::vec(any::<Index>(), 6),
        space in prop::sample::select(vec!["", "\n\t "]),
    ) -> String {
        let labels = labels.into_iter().map(|(name, value)| (name, value.into()));
        let labels: Map<_, _> = labels.collect();
        let fields = ["name", "namespace", "uid", "resourceVersion"].into_iter().zip(texts);
        let fields = fields.map(|(field, text)| (field, Value::from(text)));
        let fields = fields.chain([("labels", labels.into())]);
        for ((field, value), place) in fields.zip(&places) {
            metadata.insert(place.index(metadata.len() + 1), (field.to_owned(), value.to_string()));
        }
        let place = places[5].index(object.len() + 1);
        object.insert(place, ("metadata".to_owned(), write(&metadata, space)));
        write(&object, space)
    }
}

proptest! {
    #[test]
    fn any_object_has_the_header_that_a_json_library_sees(
        text in objects(),
        rest in any::<Vec<u8>>(),
    ) {
        let value: Value = serde_json::from_str(&text).unwrap();
        let followed = [text.as_bytes(), &rest].concat();
        let header = Header::scan(&followed).unwrap();
        prop_assert_eq!(header.end, text.len());
        prop_assert_eq!(found(&header), expected(&value));
        let labels = LabelPool::default().labels(header.labels.unwrap()).unwrap();
        let labels = labels.iter().map(|(name, value)| (name.to_owned(), value.into()));
        let labels: Map<_, _> = labels.collect();
        prop_assert_eq!(&Value::from(labels), &value["metadata"]["labels"]);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
        let _ = Header::scan(&bytes);
    }
}
