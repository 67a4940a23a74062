use proptest::prelude::*;
use serde_json::json;

use super::*;

fn refused(text: &str) -> String {
    decode(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_field_that_stands_twice_is_reported_and_the_last_one_counts() {
    let text = br#"{"metadata":{"name":"x"},"data":{"a":"1","a":"2","a":"3"},
        "l":[{},{"b":1,"b":2}],"data":{"a":"4"}}"#;
    let document = decode(text).unwrap();
    assert_eq!(document.duplicate_fields, ["data.a", "l[1].b", "data"]);
    assert_eq!(document.value["data"], json!({"a": "4"}));
}

#[test]
fn whole_numbers_are_whole_whatever_their_spelling() {
    let document = decode(b"[1.0, 1e3, -2.50e1, 1.5, -0.0, 1e300, 12345678901234567890]").unwrap();
    let expected = "[1,1000,-25,1.5,0,1e+300,1.2345678901234567e+19]";
    assert_eq!(document.value.to_string(), expected);
}

#[test]
fn only_so_many_duplicates_are_reported() {
    let fields: Vec<String> = (0..1_000).map(|field| format!("\"{field}\":1")).collect();
    let text = format!("{{{},{}}}", fields.join(","), fields.join(","));
    let document = decode(text.as_bytes()).unwrap();
    assert_eq!(document.duplicate_fields.len(), DUPLICATES_MAX);
}

#[test]
fn syntax_errors_are_worded_as_go_words_them() {
    let key = "invalid character 'b' looking for beginning of object key string";
    assert_eq!(refused("{bad"), key);
    assert_eq!(
        refused("{} {}"),
        "invalid character '{' after top-level value"
    );
}

#[test]
fn deep_nesting_is_refused() {
    let text = "[".repeat(128) + &"]".repeat(128);
    assert_eq!(refused(&text), "exceeded max depth");
    let text = "[".repeat(127) + &"]".repeat(127);
    assert!(decode(text.as_bytes()).is_ok());
}

#[test]
fn broken_characters_are_refused() {
    assert!(decode(b"\"\xff\"").is_err());
    assert!(decode(br#""\ud800""#).is_err());
    assert!(decode(b"1e999").is_err());
}

proptest! {
    #[test]
    fn any_text_is_read_as_serde_reads_it_or_refused(text in r#"[\[\]{},:" 0-9a\\u.eE+-]{0,30}"#) {
        let ours = decode(text.as_bytes()).map(|document| document.value).ok();
        let theirs: Option<Value> = serde_json::from_str(&text).ok();
        prop_assert_eq!(ours.is_some(), theirs.is_some());
        if !text.contains(['.', 'e', 'E']) {
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn a_syntax_error_is_found_exactly_when_there_is_one(
        text in r#"(\[|\]|\{|\}|,|:|"a"|"\\|1|0|-| |\.5|e3|true|null){0,12}"#
    ) {
        let good = serde_json::from_str::<Value>(&text).is_ok();
        prop_assert_eq!(syntax::first_error(text.as_bytes()).is_none(), good, "{}", text);
    }
}

#[test]
fn whole_numbers_beyond_64_bits_lose_their_last_digits() {
    let document = decode(br#"{"a":12345678901234567890,"b":9223372036854775807}"#).unwrap();
    let expected = br#"{"metadata":{},"a":12345678901234567000,"b":9223372036854775807}"#;
    assert_eq!(crate::object::to_canonical(&document.value), expected);
}
