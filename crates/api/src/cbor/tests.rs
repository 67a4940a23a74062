//! Held against what Kubernetes' own code writes and says, recorded by `conformance/cbor`, and
//! against what strangers may send.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::watch_event::EventType;

const ITEMS: &str = include_str!("recorded/items.jsonl");
const TEXTS: &str = include_str!("recorded/texts.jsonl");

#[derive(Deserialize)]
struct Item {
    cbor: String,
    #[serde(default)]
    json: Value,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Text {
    json: Value,
    cbor: String,
    event: String,
}

fn lines<'a, T: Deserialize<'a>>(recorded: &'a str) -> Vec<T> {
    let lines = recorded.lines().map(serde_json::from_str);
    lines.map(|line| line.expect("it was recorded")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    let bytes = digits.map(|digits| std::str::from_utf8(digits).unwrap());
    bytes
        .map(|digits| u8::from_str_radix(digits, 16).unwrap())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number that Go writes with a sign before its nothing.
fn without_negative_zero(value: Value) -> Value {
    match value.as_f64() {
        Some(0.0) => json!(0),
        _ => value,
    }
}

fn refusal(bytes: &[u8]) -> String {
    decode(bytes).unwrap_err().to_string()
}

fn encode_untyped(value: &Value) -> Vec<u8> {
    encode(value.to_string().as_bytes(), Typing::Untyped).unwrap()
}

#[test]
fn items_are_read_and_refused_as_kubernetes_does() {
    let items: Vec<Item> = lines(ITEMS);
    assert!(items.len() > 150);
    for item in items {
        let read = decode(&from_hex(&item.cbor)).map_err(|error| error.to_string());
        let expected = match item.error {
            Some(error) => Err(error),
            None => Ok(canonical_numbers(without_negative_zero(item.json))),
        };
        assert_eq!(read, expected, "{}", item.cbor);
    }
}

/// Whole numbers that the reader of the record takes for fractions.
fn canonical_numbers(value: Value) -> Value {
    match &value {
        Value::Number(number) if number.is_f64() => {
            crate::json::number(number.as_f64().unwrap_or_default())
        }
        _ => value,
    }
}

#[test]
fn objects_and_events_are_written_as_kubernetes_does() {
    for line in lines::<Text>(TEXTS) {
        let item = encode_untyped(&line.json);
        assert_eq!(hex(&document(&item)), line.cbor, "{}", line.json);
        assert_eq!(hex(&event(EventType::Added, &item)), line.event);
        assert_eq!(decode(&document(&item)), Ok(line.json));
    }
}

#[test]
fn lists_are_written_as_the_map_that_they_are() {
    let metadata = br#"{"resourceVersion":"7","continue":"next"}"#;
    let frame = ListFrame::new(("v1", "ConfigMapList"), metadata, 2).unwrap();
    let items = [json!({"a": 1}), json!({"b": 2})].map(|item| encode_untyped(&item));
    let list = [frame.before, items.concat(), frame.after].concat();
    let expected = json!({
        "kind": "ConfigMapList", "apiVersion": "v1", "items": [{"a": 1}, {"b": 2}],
        "metadata": {"resourceVersion": "7", "continue": "next"},
    });
    assert_eq!(decode(&list), Ok(expected.clone()));
    assert_eq!(list, document(&encode_untyped(&expected)));
}

#[test]
fn a_sequence_is_taken_apart_into_its_items() {
    let items = [json!({"a": [1, {}]}), json!("x"), json!(null)];
    let items = items.map(|item| document(&encode_untyped(&item)));
    let sequence = items.concat();
    let mut rest = &sequence[..];
    for item in &items {
        let (first, others) = rest.split_at(item_length(rest).unwrap());
        assert_eq!(first, item);
        rest = others;
    }
    assert!(rest.is_empty());
}

#[test]
fn what_is_too_deep_is_refused_without_going_there() {
    for head in [
        &[0x81][..],
        &[0x9f],
        &[0xa1, 0x41, b'a'],
        &[0xbf, 0x41, b'a'],
        &[0xc6],
    ] {
        let deep = [head.repeat(10_000), vec![0]].concat();
        let expected = "cbor: exceeded max nested level 127";
        assert_eq!(refusal(&deep), expected, "{head:x?}");
    }
    let bearable = [[0x81].repeat(DEPTH_MAX), vec![0]].concat();
    assert!(decode(&bearable).is_ok());
}

#[test]
fn announced_lengths_take_no_memory() {
    for head in [
        &[0x9a, 0x7f, 0xff, 0xff, 0xff][..],
        &[0xba, 0, 0x1f, 0xff, 0xff],
        &[0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x7a, 0xff, 0xff, 0xff, 0xff],
    ] {
        assert_eq!(refusal(head), "unexpected EOF", "{head:x?}");
    }
}

#[test]
fn more_values_than_json_could_bring_are_refused() {
    let many = [vec![0x9f], vec![0; VALUES_MAX], vec![0xff]].concat();
    let expected = format!("cbor: exceeded max number of values {VALUES_MAX}");
    assert_eq!(refusal(&many), expected);
}

#[test]
fn every_document_that_is_cut_off_is_refused() {
    let value = json!({"a": [1, -300, 0.5, "text", null, {"b": true}], "c": "x".repeat(300)});
    let whole = document(&encode_untyped(&value));
    for length in 1..whole.len() {
        assert_eq!(refusal(&whole[..length]), "unexpected EOF", "{length}");
    }
}

#[test]
fn what_is_wrong_inside_an_object_is_told_apart_from_what_is_no_cbor() {
    let is_malformed = |text: &str| matches!(decode(&from_hex(text)), Err(CborError::Malformed(_)));
    assert!(is_malformed("a14161") && is_malformed("ff") && is_malformed("f97e00"));
    let repeated = "a2416101416102";
    assert!(!is_malformed(repeated) && !is_malformed("61ff") && !is_malformed("f7"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(crate::json::number),
        any::<f32>().prop_map(|number| crate::json::number(number.into())),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 200, 30, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..30).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..30)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn json_comes_back_as_it_was(value in any_json()) {
        let item = encode_untyped(&value);
        prop_assert_eq!(item_length(&item), Ok(item.len()));
        prop_assert_eq!(decode(&item), Ok(value));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(value) = decode(&bytes) {
            let again = encode_untyped(&value);
            prop_assert_eq!(decode(&again), Ok(value));
        }
    }

    #[test]
    fn a_damaged_document_is_read_or_refused(
        value in any_json(), place in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut item = document(&encode_untyped(&value));
        let place = place.index(item.len());
        item[place] = byte;
        let _ = decode(&item);
    }
}
