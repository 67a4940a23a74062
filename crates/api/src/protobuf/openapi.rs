//! An OpenAPI 2.0 document as the message that kubectl and client-go ask for.
//!
//! The shapes are those of gnostic's `openapi.v2.Document`. One walk over the JSON text writes the
//! message; no tree of the document, which is large, is ever made.

use std::borrow::Cow;

use super::ProtobufError;
use crate::object::{Elements, Members, unquote};
use crate::yaml;

/// Objects within each other, at the most; schemas of custom resources may be deep.
const DEPTH_MAX: usize = 256;

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;

/// How the members of a JSON object are written.
struct Shape {
    members: &'static [(&'static str, u32, Form)],
    /// The number under which members that begin with `x-` are gathered; others are left out.
    extensions: Option<u32>,
}

/// How one member is written.
enum Form {
    Text,
    Flag,
    Whole,
    Double,
    Texts,
    /// Any value, as YAML.
    Any,
    Anys,
    One(&'static Shape),
    Many(&'static Shape),
    /// A message with one message in it, under this number.
    Wrapped(u32, &'static Shape),
    /// A message with one entry, under this number, for each member of the object.
    Named(u32, &'static Shape),
    /// One text or several, in a message of their own.
    Type,
    /// One schema or several, in a message of their own.
    Items,
    /// A schema or a boolean.
    Additional,
    Parameters,
    Responses,
}

use Form::{
    Additional, Any, Anys, Double, Flag, Items, Many, Named, One, Parameters, Responses, Text,
    Texts, Type, Whole, Wrapped,
};

static DOCUMENT: Shape = Shape {
    members: &[
        ("swagger", 1, Text),
        ("info", 2, One(&INFO)),
        ("host", 3, Text),
        ("basePath", 4, Text),
        ("schemes", 5, Texts),
        ("consumes", 6, Texts),
        ("produces", 7, Texts),
        ("paths", 8, Named(2, &PATH)),
        ("definitions", 9, Named(1, &SCHEMA)),
    ],
    extensions: Some(16),
};

static INFO: Shape = Shape {
    members: &[
        ("title", 1, Text),
        ("version", 2, Text),
        ("description", 3, Text),
    ],
    extensions: Some(7),
};

static PATH: Shape = Shape {
    members: &[
        ("$ref", 1, Text),
        ("get", 2, One(&OPERATION)),
        ("put", 3, One(&OPERATION)),
        ("post", 4, One(&OPERATION)),
        ("delete", 5, One(&OPERATION)),
        ("options", 6, One(&OPERATION)),
        ("head", 7, One(&OPERATION)),
        ("patch", 8, One(&OPERATION)),
        ("parameters", 9, Parameters),
    ],
    extensions: Some(10),
};

static OPERATION: Shape = Shape {
    members: &[
        ("tags", 1, Texts),
        ("summary", 2, Text),
        ("description", 3, Text),
        ("operationId", 5, Text),
        ("produces", 6, Texts),
        ("consumes", 7, Texts),
        ("parameters", 8, Parameters),
        ("responses", 9, Responses),
        ("schemes", 10, Texts),
        ("deprecated", 11, Flag),
    ],
    extensions: Some(13),
};

static BODY_PARAMETER: Shape = Shape {
    members: &[
        ("description", 1, Text),
        ("name", 2, Text),
        ("in", 3, Text),
        ("required", 4, Flag),
        ("schema", 5, One(&SCHEMA)),
    ],
    extensions: Some(6),
};

/// In a header or in a path.
static PLACED_PARAMETER: Shape = Shape {
    members: &[
        ("required", 1, Flag),
        ("in", 2, Text),
        ("description", 3, Text),
        ("name", 4, Text),
        ("type", 5, Text),
        ("format", 6, Text),
        ("default", 9, Any),
        ("uniqueItems", 19, Flag),
        ("enum", 20, Anys),
    ],
    extensions: Some(22),
};

static QUERY_PARAMETER: Shape = Shape {
    members: &[
        ("required", 1, Flag),
        ("in", 2, Text),
        ("description", 3, Text),
        ("name", 4, Text),
        ("allowEmptyValue", 5, Flag),
        ("type", 6, Text),
        ("format", 7, Text),
        ("default", 10, Any),
        ("uniqueItems", 20, Flag),
        ("enum", 21, Anys),
    ],
    extensions: Some(23),
};

static REFERENCE: Shape = Shape {
    members: &[("$ref", 1, Text), ("description", 2, Text)],
    extensions: None,
};

static RESPONSE: Shape = Shape {
    members: &[("description", 1, Text), ("schema", 2, Wrapped(1, &SCHEMA))],
    extensions: Some(5),
};

static SCHEMA: Shape = Shape {
    members: &[
        ("$ref", 1, Text),
        ("format", 2, Text),
        ("title", 3, Text),
        ("description", 4, Text),
        ("default", 5, Any),
        ("multipleOf", 6, Double),
        ("maximum", 7, Double),
        ("exclusiveMaximum", 8, Flag),
        ("minimum", 9, Double),
        ("exclusiveMinimum", 10, Flag),
        ("maxLength", 11, Whole),
        ("minLength", 12, Whole),
        ("pattern", 13, Text),
        ("maxItems", 14, Whole),
        ("minItems", 15, Whole),
        ("uniqueItems", 16, Flag),
        ("maxProperties", 17, Whole),
        ("minProperties", 18, Whole),
        ("required", 19, Texts),
        ("enum", 20, Anys),
        ("additionalProperties", 21, Additional),
        ("type", 22, Type),
        ("items", 23, Items),
        ("allOf", 24, Many(&SCHEMA)),
        ("properties", 25, Named(1, &SCHEMA)),
        ("discriminator", 26, Text),
        ("readOnly", 27, Flag),
        ("example", 30, Any),
    ],
    extensions: Some(31),
};

/// Writes the compact JSON text of an OpenAPI 2.0 document as a message.
pub fn encode_openapi(json: &[u8]) -> Result<Vec<u8>, ProtobufError> {
    let text = std::str::from_utf8(json).map_err(|_| ProtobufError::new("not UTF-8"))?;
    let mut out = Vec::with_capacity(json.len());
    object(&DOCUMENT, text, &mut out, 0)?;
    Ok(out)
}

/// Writes the members of an object, those first that have a place.
fn object(shape: &Shape, json: &str, out: &mut Vec<u8>, depth: usize) -> Result<(), ProtobufError> {
    if depth > DEPTH_MAX {
        return Err(ProtobufError::new("objects are too deep within each other"));
    }
    let mut members = Members::of(json);
    for (name, value) in members.by_ref() {
        let known = shape.members.iter().find(|(known, _, _)| *known == name);
        if let Some((_, number, form)) = known {
            member(form, *number, value, out, depth + 1)?;
        } else if let Some(number) = shape.extensions.filter(|_| name.starts_with("x-")) {
            extension(number, name, value, out);
        }
    }
    match members.is_complete() {
        true => Ok(()),
        false => Err(ProtobufError::new("not an object in compact JSON")),
    }
}

fn member(
    form: &Form,
    number: u32,
    json: &str,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), ProtobufError> {
    match form {
        Text => text(number, json, out),
        Flag if json == "true" => {
            tag(number, VARINT, out);
            out.push(1);
        }
        Flag => {}
        Whole => {
            let value: i64 = json.parse().unwrap_or_default();
            if value != 0 {
                tag(number, VARINT, out);
                varint(value.cast_unsigned(), out);
            }
        }
        Double => {
            let value: f64 = json.parse().unwrap_or_default();
            if value != 0.0 {
                tag(number, FIXED64, out);
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        Texts => Elements::of(json).for_each(|element| repeated_text(number, element, out)),
        Any => delimited(number, out, |out| {
            any(json, out);
            Ok(())
        })?,
        Anys => {
            for element in Elements::of(json) {
                member(&Any, number, element, out, depth)?;
            }
        }
        One(shape) => delimited(number, out, |out| object(shape, json, out, depth))?,
        Many(shape) => {
            for element in Elements::of(json) {
                delimited(number, out, |out| object(shape, element, out, depth))?;
            }
        }
        Wrapped(inner, shape) => delimited(number, out, |out| {
            delimited(*inner, out, |out| object(shape, json, out, depth))
        })?,
        Named(inner, shape) => delimited(number, out, |out| {
            named(*inner, json, out, |value, out| {
                object(shape, value, out, depth)
            })
        })?,
        Type | Items | Additional | Parameters | Responses => {
            choice(form, number, json, out, depth)?;
        }
    }
    Ok(())
}

/// Writes a member that comes in several forms.
fn choice(
    form: &Form,
    number: u32,
    json: &str,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), ProtobufError> {
    let is_list = json.starts_with('[');
    match form {
        Type if is_list => delimited(number, out, |out| {
            Elements::of(json).for_each(|element| repeated_text(1, element, out));
            Ok(())
        }),
        Type => delimited(number, out, |out| {
            repeated_text(1, json, out);
            Ok(())
        }),
        Items if is_list => delimited(number, out, |out| {
            member(&Many(&SCHEMA), 1, json, out, depth)
        }),
        Items => delimited(number, out, |out| {
            member(&One(&SCHEMA), 1, json, out, depth)
        }),
        Additional => delimited(number, out, |out| match json {
            // Which of both it is must be told also when it is false.
            "true" | "false" => {
                out.extend([2 << 3, u8::from(json == "true")]);
                Ok(())
            }
            _ => member(&One(&SCHEMA), 1, json, out, depth),
        }),
        Parameters => Elements::of(json)
            .try_for_each(|element| delimited(number, out, |out| parameter(element, out, depth))),
        _ => delimited(number, out, |out| {
            named(1, json, out, |value, out| {
                let is_reference = has_reference(value);
                let (number, shape) = match is_reference {
                    true => (2, &REFERENCE),
                    false => (1, &RESPONSE),
                };
                delimited(number, out, |out| object(shape, value, out, depth))
            })
        }),
    }
}

/// Writes a parameter as what its place makes of it.
fn parameter(json: &str, out: &mut Vec<u8>, depth: usize) -> Result<(), ProtobufError> {
    if has_reference(json) {
        return delimited(2, out, |out| object(&REFERENCE, json, out, depth));
    }
    let place = Members::of(json).find(|(name, _)| *name == "in");
    let (number, shape) = match place.map(|(_, place)| place) {
        Some("\"body\"") => {
            return delimited(1, out, |out| {
                delimited(1, out, |out| object(&BODY_PARAMETER, json, out, depth))
            });
        }
        Some("\"header\"") => (1, &PLACED_PARAMETER),
        Some("\"path\"") => (4, &PLACED_PARAMETER),
        _ => (3, &QUERY_PARAMETER),
    };
    delimited(1, out, |out| {
        delimited(2, out, |out| {
            delimited(number, out, |out| object(shape, json, out, depth))
        })
    })
}

fn has_reference(json: &str) -> bool {
    Members::of(json).any(|(name, _)| name == "$ref")
}

/// Writes an entry with name and value for each member of an object.
fn named(
    number: u32,
    json: &str,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&str, &mut Vec<u8>) -> Result<(), ProtobufError>,
) -> Result<(), ProtobufError> {
    Members::of(json).try_for_each(|(name, value)| {
        delimited(number, out, |out| {
            bytes(1, unescaped(name).as_bytes(), out);
            delimited(2, out, |out| write(value, out))
        })
    })
}

fn extension(number: u32, name: &str, json: &str, out: &mut Vec<u8>) {
    let mut entry = Vec::new();
    bytes(1, unescaped(name).as_bytes(), &mut entry);
    let mut value = Vec::new();
    any(json, &mut value);
    bytes(2, &value, &mut entry);
    bytes(number, &entry, out);
}

/// Any value, as YAML.
fn any(json: &str, out: &mut Vec<u8>) {
    let value = serde_json::from_str(json).unwrap_or_default();
    bytes(2, yaml::encode(&value).as_bytes(), out);
}

fn text(number: u32, json: &str, out: &mut Vec<u8>) {
    if json != "\"\"" {
        repeated_text(number, json, out);
    }
}

fn repeated_text(number: u32, json: &str, out: &mut Vec<u8>) {
    let text = unquote(json).unwrap_or_default();
    bytes(number, text.as_bytes(), out);
}

/// The name of a member, of which the text is as it stands between its quotes.
fn unescaped(name: &str) -> Cow<'_, str> {
    if !name.contains('\\') {
        return Cow::Borrowed(name);
    }
    let text = unquote(&format!("\"{name}\"")).map(Cow::into_owned);
    text.map_or(Cow::Borrowed(name), Cow::Owned)
}

fn bytes(number: u32, content: &[u8], out: &mut Vec<u8>) {
    tag(number, BYTES, out);
    varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

/// Writes a message as a field of another.
fn delimited(
    number: u32,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), ProtobufError>,
) -> Result<(), ProtobufError> {
    let mut content = Vec::new();
    write(&mut content)?;
    bytes(number, &content, out);
    Ok(())
}

fn tag(number: u32, wire_type: u32, out: &mut Vec<u8>) {
    varint(u64::from(number << 3 | wire_type), out);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(json: &str) -> Vec<u8> {
        encode_openapi(json.as_bytes()).unwrap()
    }

    #[test]
    fn a_document_says_its_version_and_title() {
        let message = encode(r#"{"swagger":"2.0","info":{"title":"K","version":"v1"}}"#);
        assert_eq!(message, b"\x0a\x032.0\x12\x07\x0a\x01K\x12\x02v1");
    }

    #[test]
    fn a_definition_is_a_schema_with_its_name() {
        let message = encode(r##"{"definitions":{"A":{"$ref":"#/b","x-y":[1]}}}"##);
        let schema = b"\x0a\x03#/b\xfa\x01\x0d\x0a\x03x-y\x12\x06\x12\x04- 1\n";
        let entry = [&b"\x0a\x01A\x12\x15"[..], schema].concat();
        assert_eq!(message, [&b"\x4a\x1c\x0a\x1a"[..], &entry].concat());
    }

    #[test]
    fn a_parameter_is_written_by_its_place() {
        let path = |parameter: &str| {
            let json = format!(r#"{{"paths":{{"/":{{"parameters":[{parameter}]}}}}}}"#);
            encode(&json)[13..].to_vec()
        };
        let query = path(r#"{"in":"query","name":"a","type":"string"}"#);
        assert_eq!(query[..4], [0x12, 20, 0x1a, 18]);
        let body = path(r#"{"in":"body","name":"a"}"#);
        assert!(body.starts_with(b"\x0a\x09\x1a\x04body"), "{body:?}");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in ["", "[]", "{\"info\":3}", "{\"a\":1"] {
            assert!(encode_openapi(json.as_bytes()).is_err(), "{json}");
        }
    }
}
