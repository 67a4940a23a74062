//! Changes to an object as it is: which document describes them, and what it makes of the object.
//!
//! A patch is decoded once and may then be applied again and again, to each newer state of the
//! object. Applying never changes the patch.

use serde_json::{Map, Value};

use crate::go_text;
use crate::json;
use crate::schema::{Schema, TypeId};
use crate::status::Status;

mod json_patch;
mod merge_patch;
mod strategic_merge_patch;

pub use json_patch::JsonPatch;

/// The member of the metadata that most patches leave alone.
const MANAGED_FIELDS: &str = "managedFields";

/// A decoded patch.
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// A list of operations, RFC 6902.
    Json(JsonPatch),
    /// A partial object, RFC 7386.
    Merge(Value),
    /// A partial object whose lists are merged as the kind's schema says.
    StrategicMerge(Value),
}

/// The kinds of patch that describe a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchFormat {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' own.
    StrategicMerge,
}

/// A patch and what is odd about its text.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedPatch {
    /// The patch.
    pub patch: Patch,
    /// What a strict server refuses and others warn about: `duplicate field "data.a"`.
    pub oddities: Vec<String>,
}

/// How far into an object a patch looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach<'a> {
    /// It may look at all of it.
    Everything,
    /// Into its metadata, but for `managedFields`, and into these members.
    Members(Vec<&'a str>),
}

impl Patch {
    /// How far into an object it looks.
    pub fn reach(&self) -> Reach<'_> {
        match self {
            Self::Json(patch) => patch.reach(),
            Self::Merge(patch) | Self::StrategicMerge(patch) => reach_of_partial(patch),
        }
    }

    /// Reads the body of a patch.
    pub fn decode(format: PatchFormat, body: &[u8]) -> Result<DecodedPatch, Status> {
        let document = json::decode(body).map_err(|_| Status::bad_request("invalid JSON patch"))?;
        let value = document.value;
        let (patch, oddity) = match format {
            PatchFormat::Json => (
                Self::Json(JsonPatch::from_value(&value)?),
                "json patch duplicate",
            ),
            PatchFormat::Merge => {
                let value = require_object(value).map_err(|error| {
                    Status::bad_request(format!("error decoding patch: {error}"))
                })?;
                (Self::Merge(value), "duplicate")
            }
            PatchFormat::StrategicMerge if value.is_null() => {
                (Self::StrategicMerge(Map::new().into()), "duplicate")
            }
            PatchFormat::StrategicMerge => {
                let value = require_object(value).map_err(Status::bad_request)?;
                (Self::StrategicMerge(value), "duplicate")
            }
        };
        let fields = document.duplicate_fields.iter();
        let oddities = fields.map(|field| format!("{oddity} field {}", go_text::quote(field)));
        Ok(DecodedPatch {
            patch,
            oddities: oddities.collect(),
        })
    }

    /// What a refusal shows when `patched` came of it: the object, or the patch where that says
    /// more.
    pub fn shown(&self, patched: &Value) -> String {
        match self {
            Self::Json(_) | Self::Merge(_) => patched.to_string(),
            Self::StrategicMerge(patch) => go_text::display(patch),
        }
    }

    /// What the patch makes of `object`, whose fields are those of a type in `schema`.
    pub fn apply(
        &self,
        object: Value,
        schema: &Schema,
        object_type: TypeId,
    ) -> Result<Value, Status> {
        match self {
            Self::Json(patch) => patch.apply(object),
            Self::Merge(patch) => Ok(merge_patch::apply(object, patch)),
            Self::StrategicMerge(patch) => {
                strategic_merge_patch::apply(object, patch, schema, object_type)
            }
        }
    }

    /// What the patch makes of `object`, whose kind has no schema here. A strategic merge patch
    /// cannot be applied then.
    pub fn apply_without_schema(&self, object: Value) -> Result<Value, Status> {
        match self {
            Self::Json(patch) => patch.apply(object),
            Self::Merge(patch) => Ok(merge_patch::apply(object, patch)),
            Self::StrategicMerge(_) => Err(Status::bad_request(
                "strategic merge patch format is not supported",
            )),
        }
    }
}

/// How far a partial object looks. What begins with a dollar says what to do with its surroundings.
fn reach_of_partial(patch: &Value) -> Reach<'_> {
    let is_directive = |name: &String| name.starts_with('$');
    let metadata = patch.get("metadata").and_then(Value::as_object);
    let mut told_of_metadata = metadata.into_iter().flat_map(|metadata| metadata.keys());
    let members = match patch {
        Value::Object(members) if !members.keys().any(is_directive) => members,
        _ => return Reach::Everything,
    };
    match told_of_metadata.any(|name| is_directive(name) || name == MANAGED_FIELDS) {
        true => Reach::Everything,
        false => Reach::Members(members.keys().map(String::as_str).collect()),
    }
}

fn require_object(value: Value) -> Result<Value, String> {
    if value.is_object() {
        return Ok(value);
    }
    let found = json::type_word(&value);
    Err(format!(
        "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    ))
}

/// The value without its null fields, as a new value is taken over.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                kept.map(|(name, value)| (name, without_nulls(value)))
                    .collect(),
            )
        }
        Value::Array(elements) => elements.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(format: PatchFormat, body: &str) -> (u16, String) {
        let status = Patch::decode(format, body.as_bytes()).unwrap_err();
        (status.http_code(), status.message)
    }

    #[test]
    fn a_body_that_is_no_patch_is_refused() {
        for format in [
            PatchFormat::Json,
            PatchFormat::Merge,
            PatchFormat::StrategicMerge,
        ] {
            assert_eq!(
                refused(format, "{bad"),
                (400, "invalid JSON patch".to_owned())
            );
        }
        let list = "error decoding patch: json: cannot unmarshal object into Go value of type \
                    []handlers.jsonPatchOp";
        assert_eq!(
            refused(PatchFormat::Json, r#"{"a":1}"#),
            (400, list.to_owned())
        );
        let object = "json: cannot unmarshal array into Go value of type map[string]interface {}";
        assert_eq!(
            refused(PatchFormat::StrategicMerge, "[]"),
            (400, object.to_owned())
        );
        let object = format!("error decoding patch: {object}");
        assert_eq!(refused(PatchFormat::Merge, "[]"), (400, object));
    }

    #[test]
    fn a_patch_that_is_nothing_changes_nothing() {
        let decoded = Patch::decode(PatchFormat::StrategicMerge, b"null").unwrap();
        assert_eq!(decoded.patch, Patch::StrategicMerge(json!({})));
        let decoded = Patch::decode(PatchFormat::Json, b"null").unwrap();
        let applied = decoded.patch.apply_without_schema(json!({"a": 1}));
        assert_eq!(applied, Ok(json!({"a": 1})));
        let decoded = Patch::decode(PatchFormat::Json, b"[null]").unwrap();
        let applied = decoded.patch.apply_without_schema(json!({}));
        assert_eq!(applied.unwrap_err().http_code(), 422);
    }

    #[test]
    fn fields_that_stand_twice_are_reported() {
        let body = br#"{"data":{"a":1,"a":2}}"#;
        let decoded = Patch::decode(PatchFormat::Merge, body).unwrap();
        assert_eq!(decoded.oddities, ["duplicate field \"data.a\""]);
        let body = br#"[{"op":"test","op":"add","path":"/a","value":1}]"#;
        let decoded = Patch::decode(PatchFormat::Json, body).unwrap();
        assert_eq!(decoded.oddities, ["json patch duplicate field \"[0].op\""]);
    }

    fn reach(format: PatchFormat, body: &str) -> Option<Vec<String>> {
        let decoded = Patch::decode(format, body.as_bytes()).unwrap();
        match decoded.patch.reach() {
            Reach::Everything => None,
            Reach::Members(names) => Some(names.into_iter().map(str::to_owned).collect()),
        }
    }

    #[test]
    fn a_patch_looks_only_into_what_it_names() {
        let merge = |body| reach(PatchFormat::Merge, body);
        assert_eq!(
            merge(r#"{"metadata":{"labels":{}}}"#),
            Some(vec!["metadata".to_owned()])
        );
        assert_eq!(
            merge(r#"{"spec":1,"x":null}"#),
            Some(vec!["spec".to_owned(), "x".to_owned()])
        );
        assert_eq!(merge(r#"{"metadata":{"managedFields":[]}}"#), None);
        let strategic = |body| reach(PatchFormat::StrategicMerge, body);
        assert_eq!(strategic(r#"{"$patch":"replace"}"#), None);
        assert_eq!(strategic(r#"{"metadata":{"$retainKeys":[]}}"#), None);
        let json = |pointer: &str| {
            let body = format!(r#"[{{"op":"copy","from":"/spec/a","path":"{pointer}"}}]"#);
            reach(PatchFormat::Json, &body)
        };
        assert_eq!(
            json("/status/b"),
            Some(vec!["spec".to_owned(), "status".to_owned()])
        );
        assert!(json("/metadata/labels/b").is_some());
        assert_eq!(json("/metadata"), None);
        assert_eq!(json("/metadata/managedFields/0"), None);
        assert_eq!(json(""), None);
    }

    #[test]
    fn a_kind_without_a_schema_takes_no_strategic_merge_patch() {
        let merge = Patch::Merge(json!({"a": 1}));
        assert_eq!(
            merge.apply_without_schema(json!({})).unwrap(),
            json!({"a": 1})
        );
        let strategic = Patch::StrategicMerge(json!({}));
        assert_eq!(
            strategic
                .apply_without_schema(json!({}))
                .unwrap_err()
                .http_code(),
            400
        );
    }
}
