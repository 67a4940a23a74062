use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::status::Status;

fn decoded(text: &str) -> Value {
    decode(text.as_bytes()).unwrap().value
}

#[test]
fn a_refusal_is_written_as_kubernetes_writes_it() {
    let status = Status::not_acceptable(&[
        "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;stream=watch",
    ]);
    let text = encode(&serde_json::to_value(&status).unwrap());
    let expected = "\
apiVersion: v1
code: 406
kind: Status
message: 'only the following media types are accepted: application/json;stream=watch,
  application/vnd.kubernetes.protobuf;stream=watch'
metadata: {}
reason: NotAcceptable
status: Failure
";
    assert_eq!(text, expected);
}

#[test]
fn blocks_are_laid_out_as_kubernetes_lays_them_out() {
    let value = json!({
        "metadata": {"name": "x", "creationTimestamp": "2026-11-15T06:44:32Z", "labels": {}},
        "list": [1, "two", [3, [4]], {"a": 1, "b": [{"c": null}]}, [], {}],
        "data": {"text": "a\nb\n", "bare": "a\nb", "kept": "a\n\n", "odd": " a\nb"},
        "words": ["true", "1", "", "~", "1.5e3", "0x1F", "1:30", "yes", "null", "v1", "a: b",
            "# a"],
        "quotes": ["it's", "'it'", "tab\t", "é", "- a", "-a", "a:", "100m", "2026-11-15", "😀"],
    });
    let expected = "\
data:
  bare: |-
    a
    b
  kept: |+
    a

  odd: |2-
     a
    b
  text: |
    a
    b
list:
- 1
- two
- - 3
  - - 4
- a: 1
  b:
  - c: null
- []
- {}
metadata:
  creationTimestamp: \"2026-11-15T06:44:32Z\"
  labels: {}
  name: x
quotes:
- it's
- '''it'''
- \"tab\\t\"
- é
- '- a'
- -a
- 'a:'
- 100m
- \"2026-11-15\"
- \"\\U0001F600\"
words:
- \"true\"
- \"1\"
- \"\"
- \"~\"
- \"1.5e3\"
- \"0x1F\"
- \"1:30\"
- \"yes\"
- \"null\"
- v1
- 'a: b'
- '# a'
";
    assert_eq!(encode(&value), expected);
}

#[test]
fn documents_are_read() {
    let text = "a: 1\nb:\n- x\n- yes\n- 1.5\n- ~\n- \"1\"\nc: {d: [e]}\n";
    let expected = json!({"a": 1, "b": ["x", true, 1.5, null, "1"], "c": {"d": ["e"]}});
    assert_eq!(decoded(text), expected);
    assert_eq!(decoded("{\"a\": [1]}"), json!({"a": [1]}));
    assert_eq!(decoded("1: a\ntrue: b\n"), json!({"1": "a", "true": "b"}));
    assert_eq!(
        decoded("a: &x {b: 1}\nc: *x\n"),
        json!({"a": {"b": 1}, "c": {"b": 1}})
    );
}

#[test]
fn fields_that_stand_twice_are_reported() {
    let document = decode(b"a: 1\nb:\n  c: 1\n  c: 2\n").unwrap();
    assert_eq!(document.value, json!({"a": 1, "b": {"c": 2}}));
    let told: Vec<String> = document
        .repeated_keys
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(told, ["line 4: key \"c\" already set in map"]);
}

#[test]
fn what_is_no_yaml_is_refused() {
    for text in [
        "a: [",
        "a: b: c",
        "a: *missing",
        "--- 1\n--- 2\n",
        "a: .inf",
    ] {
        let error = decode(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("yaml: "), "{text:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    assert!(decode(b"\xff: 1").is_err());
}

#[test]
fn bombs_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let alias = format!("*a{}", level - 1);
        let aliases = vec![alias; 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert!(decode(bomb.as_bytes()).is_err());
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    assert!(decode(deep.as_bytes()).is_err());
    let deep: String = (0..1_000).map(|level| " ".repeat(level) + "a:\n").collect();
    assert!(decode(deep.as_bytes()).is_err());
}

fn json_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        r"[a \n\t:#'-]{0,8}",
        "[0-9.eExo_:+-]{0,6}",
        "(true|no|Null|on|<<|\\.inf|-\\.INF|é|😀|\u{85}|\u{2028}|\u{feff}){0,2}",
        "([a-z]{1,9} {1,2}){0,30}[a-z]",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1_000_i32..1_000).prop_map(|number| Value::from(f64::from(number) + 0.125)),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c0-9: #'\\n-]{0,4}|[a-z ]{125,140}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_is_read_as_it_was_written(value in json_value()) {
        let text = encode(&value);
        let read = decode(text.as_bytes());
        prop_assert!(read.is_ok(), "{}\n{:?}", text, read);
        prop_assert_eq!(read.unwrap().value, value, "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in r#"[ab:\-\[\]{},&*!|>'"%#? \n\t]{0,40}"#) {
        let _ = decode(text.as_bytes());
    }
}
