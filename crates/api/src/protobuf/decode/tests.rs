use proptest::prelude::*;
use serde_json::json;

use super::*;

const TABLE: &str = "\
package test
type Thing
  kind string - in=TypeMeta
  name string 1
  title! string 2
  nickname? string 3
  count int32 4
  total int64 5
  ready! boolean 6
  maximum? number 7
  data bytes 8
  files {bytes} 9
  labels {string} 10
  amounts {quantity} 11
  extra {[string]} 12
  ports [int32] 13
  parts [Part] 14
  part? Part 15
  created time 16
  deleted? time 17
  renewed? micro-time 18
  target! int-or-string 19
  fields? any 20 go=v1.FieldsV1
  size int32 1 in=Outer:21
  weight int32 1 in=Outer:21/Inner:2
  verbs! [string] 22 go=v1.Verbs
  children {Thing} 23
  not? Thing 24
  items? any 25 go=v1.JSONSchemaPropsOrArray
  additional? any 26 go=v1.JSONSchemaPropsOrBool
  dependencies {any} 27 go=v1.JSONSchemaDependencies
type Part
  name! string 1
  note string 2
";

pub(in super::super) fn schema() -> Schema {
    Schema::parse(&[TABLE]).unwrap()
}

pub(in super::super) fn read(message: &[u8]) -> Result<Value, String> {
    let schema = schema();
    let thing = schema.find("test.Thing").unwrap();
    let members = decode(&schema, thing, message);
    members
        .map(Value::Object)
        .map_err(|error| error.to_string())
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

pub(in super::super) fn number(field: u64, value: i64) -> Vec<u8> {
    [varint(field << 3), varint(value.cast_unsigned())].concat()
}

pub(in super::super) fn bytes(field: u64, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let length = varint(content.len() as u64);
    [varint(field << 3 | 2), length, content.to_vec()].concat()
}

pub(in super::super) fn double(field: u64, value: f64) -> Vec<u8> {
    [varint(field << 3 | 1), value.to_le_bytes().to_vec()].concat()
}

#[test]
fn empty_values_are_left_out_or_kept_as_the_field_says() {
    let message = [
        bytes(1, ""),
        bytes(2, ""),
        bytes(3, ""),
        number(4, 0),
        number(6, 0),
        bytes(8, ""),
        bytes(16, ""),
    ];
    let expected = json!({"title": "", "nickname": "", "ready": false});
    assert_eq!(read(&message.concat()), Ok(expected));
}

#[test]
fn numbers_keep_their_sign_and_their_form() {
    let message = [number(4, -3), number(5, i64::MIN), double(7, 2.0)].concat();
    let expected = json!({"count": -3, "total": i64::MIN, "maximum": 2});
    assert_eq!(read(&message), Ok(expected));
    assert_eq!(read(&double(7, 0.5)), Ok(json!({"maximum": 0.5})));
    let refusal = read(&double(7, f64::NAN)).unwrap_err();
    assert_eq!(refusal, "proto: field maximum is no finite number");
}

#[test]
fn maps_hold_texts_bytes_messages_and_lists() {
    let entry = |key, value| [bytes(1, key), bytes(2, value)].concat();
    let message = [
        bytes(9, entry("f", b"\xff".to_vec())),
        bytes(10, entry("b", b"2".to_vec())),
        bytes(10, entry("a", b"1".to_vec())),
        bytes(10, bytes(1, "unset")),
        bytes(11, entry("cpu", bytes(1, "500m"))),
        bytes(12, entry("who", [bytes(1, "x"), bytes(1, "y")].concat())),
    ];
    let expected = json!({
        "files": {"f": "/w=="},
        "labels": {"a": "1", "b": "2", "unset": ""},
        "amounts": {"cpu": "500m"},
        "extra": {"who": ["x", "y"]},
    });
    assert_eq!(read(&message.concat()), Ok(expected));
}

#[test]
fn lists_of_numbers_may_be_packed() {
    let packed = [varint(3), varint(u64::MAX)].concat();
    let message = [number(13, 1), number(13, 2), bytes(13, packed)].concat();
    assert_eq!(read(&message), Ok(json!({"ports": [1, 2, 3, -1]})));
}

#[test]
fn a_message_that_comes_twice_is_merged_and_a_text_replaced() {
    let message = [
        bytes(15, bytes(1, "a")),
        bytes(15, bytes(2, "b")),
        bytes(1, "first"),
        bytes(1, "second"),
    ];
    let expected = json!({"part": {"name": "a", "note": "b"}, "name": "second"});
    assert_eq!(read(&message.concat()), Ok(expected));
}

#[test]
fn embedded_structs_are_messages_here_and_fields_in_json() {
    let inner = bytes(2, number(1, 5));
    let message = bytes(21, [number(1, 4), inner].concat());
    assert_eq!(read(&message), Ok(json!({"size": 4, "weight": 5})));
}

#[test]
fn times_are_written_in_utc_to_their_precision() {
    let time = [number(1, 1_767_323_045), number(2, 120_999)].concat();
    let message = [bytes(16, &time), bytes(17, ""), bytes(18, &time)].concat();
    let expected = json!({
        "created": "2026-01-02T03:04:05Z",
        "deleted": null,
        "renewed": "2026-01-02T03:04:05.000120Z",
    });
    assert_eq!(read(&message), Ok(expected));
    let first = bytes(17, number(1, -62_135_596_799));
    let expected = json!({"deleted": "0001-01-01T00:00:01Z"});
    assert_eq!(read(&first), Ok(expected));
    let refusal = read(&bytes(17, number(1, i64::MAX))).unwrap_err();
    assert_eq!(refusal, "proto: field deleted is out of range");
}

#[test]
fn a_number_or_a_text_is_what_its_type_says() {
    let target = |kind| {
        bytes(
            19,
            [number(1, kind), number(2, 80), bytes(3, "http")].concat(),
        )
    };
    assert_eq!(read(&target(0)), Ok(json!({"target": 80})));
    assert_eq!(read(&target(1)), Ok(json!({"target": "http"})));
    assert_eq!(read(&target(2)).unwrap_err(), "impossible IntOrString.Type");
}

#[test]
fn json_inside_a_message_is_read_as_json() {
    let message = bytes(20, bytes(1, r#"{"f:a":{}}"#));
    assert_eq!(read(&message), Ok(json!({"fields": {"f:a": {}}})));
    assert_eq!(read(&bytes(20, "")), Ok(json!({"fields": null})));
    let refusal = read(&bytes(20, bytes(1, "{"))).unwrap_err();
    assert!(refusal.starts_with("proto: field fields: "), "{refusal}");
}

#[test]
fn a_list_may_have_a_message_of_its_own() {
    let message = bytes(22, [bytes(1, "get"), bytes(1, "list")].concat());
    assert_eq!(read(&message), Ok(json!({"verbs": ["get", "list"]})));
}

#[test]
fn schemas_stand_beside_lists_booleans_and_names() {
    let schema = bytes(2, "x");
    let entry = |value| [bytes(1, "k"), bytes(2, value)].concat();
    let one = [
        bytes(25, bytes(1, &schema)),
        bytes(26, [number(1, 1), bytes(2, &schema)].concat()),
        bytes(27, entry(bytes(1, &schema))),
    ];
    let expected = json!({
        "items": {"title": "x"},
        "additional": {"title": "x"},
        "dependencies": {"k": {"title": "x"}},
    });
    assert_eq!(read(&one.concat()), Ok(expected));
    let other = [
        bytes(25, [bytes(2, &schema), bytes(2, &schema)].concat()),
        bytes(26, number(1, 1)),
        bytes(27, entry(bytes(2, "n"))),
    ];
    let expected = json!({
        "items": [{"title": "x"}, {"title": "x"}],
        "additional": true,
        "dependencies": {"k": ["n"]},
    });
    assert_eq!(read(&other.concat()), Ok(expected));
}

#[test]
fn unknown_fields_are_skipped_and_wrong_types_refused() {
    let message = [number(99, 1), bytes(98, "x"), bytes(1, "a")].concat();
    assert_eq!(read(&message), Ok(json!({"name": "a"})));
    let refusal = read(&number(1, 1)).unwrap_err();
    assert_eq!(refusal, "proto: wrong wireType = 0 for field Name");
    let refusal = read(&bytes(1, b"\xff")).unwrap_err();
    assert_eq!(refusal, "proto: field name is not valid UTF-8");
}

#[test]
fn a_type_without_numbers_has_no_protobuf_form() {
    let schema = Schema::parse(&["package custom\ntype Widget\n  spec any -\n"]).unwrap();
    let widget = schema.find("custom.Widget").unwrap();
    let refusal = decode(&schema, widget, &[]).unwrap_err().to_string();
    assert_eq!(refusal, "custom.Widget has no protobuf form");
}

#[test]
fn nesting_is_bounded_also_through_json_inside() {
    let nested =
        |count, innermost: Vec<u8>| (0..count).fold(innermost, |inside, _| bytes(24, inside));
    assert!(read(&nested(126, Vec::new())).is_ok());
    let refusal = read(&nested(127, Vec::new())).unwrap_err();
    assert_eq!(refusal, "proto: exceeded max depth");
    let fields = |depth| {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        bytes(20, bytes(1, text))
    };
    assert!(read(&nested(100, fields(26))).is_ok());
    let refusal = read(&nested(100, fields(27))).unwrap_err();
    assert_eq!(refusal, "proto: exceeded max depth");
}

#[test]
fn the_number_of_objects_is_bounded() {
    let message = bytes(14, "").repeat(OBJECTS_MAX);
    assert_eq!(read(&message).unwrap_err(), "proto: too many objects");
}

/// Messages that fit the table at their beginnings, so that mangling reaches every form.
pub(in super::super) fn message() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        (1..30_u64, any::<i64>()).prop_map(|(field, value)| number(field, value)),
        (1..30_u64, any::<Vec<u8>>()).prop_map(|(field, content)| bytes(field, content)),
        (1..30_u64, any::<f64>()).prop_map(|(field, value)| double(field, value)),
        any::<Vec<u8>>(),
    ];
    leaf.prop_recursive(6, 64, 8, |inside| {
        let parts = proptest::collection::vec((1..30_u64, inside), 0..8);
        parts.prop_map(|parts| {
            let fields = parts.iter().map(|(field, content)| bytes(*field, content));
            fields.collect::<Vec<_>>().concat()
        })
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(message in message(), place in any::<usize>(), byte: u8) {
        let _ = read(&message);
        let mut mangled = message;
        if !mangled.is_empty() {
            let place = place % mangled.len();
            mangled[place] = byte;
        }
        if let Ok(value) = read(&mangled) {
            let text = value.to_string();
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
        }
    }
}
