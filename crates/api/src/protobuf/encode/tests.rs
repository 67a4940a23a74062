use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::decode::tests::{bytes, double, message, number, read, schema};

fn write(json: &str) -> Result<Vec<u8>, String> {
    let schema = schema();
    let thing = schema.find("test.Thing").unwrap();
    super::super::encode(&schema, thing, json.as_bytes()).map_err(|error| error.to_string())
}

/// The message of a thing in which nothing is set but the given fields, put in by number.
fn thing(mut set: Vec<(u64, Vec<u8>)>) -> Vec<u8> {
    let outer = [number(1, 0), bytes(2, number(1, 0))].concat();
    let int_or_string = [number(1, 0), number(2, 0), bytes(3, "")].concat();
    let always = [
        (1, bytes(1, "")),
        (2, bytes(2, "")),
        (4, number(4, 0)),
        (5, number(5, 0)),
        (6, number(6, 0)),
        (16, bytes(16, "")),
        (19, bytes(19, int_or_string)),
        (21, bytes(21, outer)),
    ];
    for (field, unset) in always {
        if !set.iter().any(|(other, _)| *other == field) {
            set.push((field, unset));
        }
    }
    set.sort_by_key(|(field, _)| *field);
    set.into_iter().flat_map(|(_, bytes)| bytes).collect()
}

#[test]
fn what_go_always_has_is_written_also_when_it_is_not_set() {
    assert_eq!(write("{}"), Ok(thing(Vec::new())));
    assert_eq!(write(r#"{"nickname":null}"#), Ok(thing(Vec::new())));
    let set = vec![(3, bytes(3, "")), (17, bytes(17, time(0, 0)))];
    let json = r#"{"nickname":"","deleted":"1970-01-01T00:00:00Z"}"#;
    assert_eq!(write(json), Ok(thing(set)));
}

fn time(seconds: i64, nanos: i64) -> Vec<u8> {
    [number(1, seconds), number(2, nanos)].concat()
}

#[test]
fn fields_are_written_by_number_and_maps_by_key() {
    let entry = |key, value| bytes(10, [bytes(1, key), bytes(2, value)].concat());
    let labels = [entry("a", "1"), entry("b", "2"), entry("é", "3")].concat();
    let set = vec![(10, labels), (1, bytes(1, "x")), (4, number(4, -7))];
    let json = r#"{"labels":{"\u00e9":"3","b":"2","a":"1"},"count":-7,"name":"x"}"#;
    assert_eq!(write(json), Ok(thing(set)));
}

#[test]
fn fields_without_a_number_and_unknown_ones_are_left_out() {
    let json = r#"{"kind":"Thing","unknown":{"a":[1]}}"#;
    assert_eq!(write(json), Ok(thing(Vec::new())));
}

#[test]
fn times_before_1970_count_forward_within_their_second() {
    let set = vec![
        (16, bytes(16, time(-2, 0))),
        (18, bytes(18, time(-2, 999_999_000))),
    ];
    let json = r#"{
        "created": "1969-12-31T23:59:58Z",
        "renewed": "1969-12-31T23:59:58.999999Z"
    }"#;
    assert_eq!(write(json), Ok(thing(set)));
}

#[test]
fn texts_with_escapes_and_base64_are_written_as_their_bytes() {
    let set = vec![(1, bytes(1, "a\"\n😀")), (8, bytes(8, [0xff, 0]))];
    let json = r#"{"name":"a\"\n\ud83d\ude00","data":"/wA="}"#;
    assert_eq!(write(json), Ok(thing(set)));
}

#[test]
fn numbers_are_doubles_where_the_field_is_one() {
    let set = vec![(7, double(7, 2.0))];
    assert_eq!(write(r#"{"maximum":2}"#), Ok(thing(set)));
    let set = vec![(7, double(7, -0.5))];
    assert_eq!(write(r#"{"maximum":-0.5}"#), Ok(thing(set)));
}

#[test]
fn json_inside_stays_as_it_is() {
    let set = vec![(20, bytes(20, bytes(1, r#"{"b":1, "a":[null]}"#)))];
    assert_eq!(write(r#"{"fields":{"b":1, "a":[null]}}"#), Ok(thing(set)));
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let refusal = |json| write(json).unwrap_err();
    assert_eq!(
        refusal(r#"{"count":"x"}"#),
        "a text where a whole number of 32 bits is expected at line 1 column 12"
    );
    assert_eq!(
        refusal(r#"{"count":2147483648}"#),
        "a whole number where a whole number of 32 bits is expected at line 1 column 19"
    );
    for json in [
        r#"{"name":1}"#,
        r#"{"name":[]}"#,
        r#"{"name":{}}"#,
        r#"{"ready":1}"#,
        r#"{"count":true}"#,
        r#"{"count":1.5}"#,
        r#"{"data":"?"}"#,
        r#"{"created":"soon"}"#,
        r#"{"labels":[]}"#,
        r#"{"parts":{}}"#,
        r#"{"#,
        r#"{} {}"#,
        "",
    ] {
        assert!(write(json).is_err(), "{json}");
    }
}

#[test]
fn nothing_but_an_object_is_a_message() {
    for json in ["null", "1", "[]"] {
        assert!(write(json).is_err(), "{json}");
    }
}

proptest! {
    #[test]
    fn what_was_read_is_written_and_read_again(message in message()) {
        if let Ok(first) = read(&message) {
            let written = write(&first.to_string()).unwrap();
            let second = read(&written).unwrap();
            prop_assert!(contains(&second, &first), "{second}\n{first}");
            prop_assert_eq!(write(&second.to_string()), Ok(written));
        }
    }

    #[test]
    fn any_text_is_written_or_refused(
        message in message(),
        place in any::<usize>(),
        character: char,
    ) {
        let text = read(&message).unwrap_or(json!({"name": "a"})).to_string();
        let mut characters: Vec<char> = text.chars().collect();
        let place = place % characters.len();
        characters[place] = character;
        let _ = write(&characters.into_iter().collect::<String>());
    }
}

/// Whether the members of one value are there in another, which may have more.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part.iter().all(|(name, value)| {
            let found = whole.get(name).unwrap_or(&Value::Null);
            contains(found, value)
        }),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len()
                && whole
                    .iter()
                    .zip(part)
                    .all(|(one, other)| contains(one, other))
        }
        _ => whole == part,
    }
}
