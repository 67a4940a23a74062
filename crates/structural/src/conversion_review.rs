//! What a conversion webhook is asked, and what it answers: a ConversionReview each.
//!
//! Of an answer everything is held against the objects that were sent. A webhook may change what
//! it likes but for the metadata, of which only labels and annotations are its own.

use std::collections::HashMap;

use listwatch_api::field_error::aggregate;
use listwatch_api::go_text::type_name;
use listwatch_api::json::type_word;
use listwatch_api::metadata::{annotation_errors, label_errors};
use listwatch_api::{FieldPath, object::append_escaped};
use serde_json::{Map, Value, value::RawValue};

use crate::Structural;

const REVIEW: &str = "ConversionReview";
const GROUP: &str = "apiextensions.k8s.io";

/// The versions of ConversionReview that are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVersion {
    /// The first that is stable, whose answers must name the question.
    V1,
    /// The one before it.
    V1Beta1,
}

impl ReviewVersion {
    /// The first of `conversionReviewVersions` that is spoken here.
    pub fn choose(versions: &Value) -> Option<Self> {
        let mut versions = versions.as_array().into_iter().flatten();
        versions.find_map(|version| match version.as_str() {
            Some("v1") => Some(Self::V1),
            Some("v1beta1") => Some(Self::V1Beta1),
            _ => None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        }
    }
}

/// A question to a conversion webhook.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The version of the review.
    pub version: ReviewVersion,
    /// Tells it from all others.
    pub uid: &'a str,
    /// The `apiVersion` that the objects are to have.
    pub desired: &'a str,
    /// The objects as JSON, each of another version than that.
    pub objects: &'a [&'a [u8]],
}

impl Question<'_> {
    /// The body to send.
    pub fn encode(&self) -> Vec<u8> {
        let length: usize = self.objects.iter().map(|object| object.len() + 1).sum();
        let mut body = Vec::with_capacity(length + 512);
        let version = self.version.name();
        let head =
            format!(r#"{{"kind":"{REVIEW}","apiVersion":"{GROUP}/{version}","request":{{"uid":""#);
        body.extend_from_slice(head.as_bytes());
        append_escaped(self.uid, &mut body);
        body.extend_from_slice(br#"","desiredAPIVersion":""#);
        append_escaped(self.desired, &mut body);
        body.extend_from_slice(br#"","objects":["#);
        for (place, object) in self.objects.iter().enumerate() {
            if place > 0 {
                body.push(b',');
            }
            body.extend_from_slice(object);
        }
        let tail = br#"]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}"#;
        body.extend_from_slice(tail);
        body
    }

    /// What an answer makes of each object, held against the schema of the version that was asked
    /// for; or why it is no answer.
    pub fn read(
        &self,
        answer: &[u8],
        target: Option<&Structural>,
    ) -> Result<Vec<Result<Value, String>>, String> {
        let failed = |why: String| format!("{} failed: {why}", self.webhook());
        let converted = self.converted(answer).map_err(failed)?;
        let (returned, expected) = (converted.len(), self.objects.len());
        if returned != expected {
            let webhook = self.webhook();
            return Err(format!(
                "{webhook} returned {returned} objects, expected {expected}"
            ));
        }
        let pairs = self.objects.iter().zip(converted);
        Ok(pairs
            .map(|(original, converted)| self.settle(original, converted, target))
            .collect())
    }

    /// What a failure to ask is called.
    pub fn unanswered(&self, why: &str) -> String {
        format!("{} failed: {why}", self.webhook())
    }

    /// The webhook as messages name it: after the first object that it was to convert.
    fn webhook(&self) -> String {
        let first: Option<Value> = self
            .objects
            .first()
            .and_then(|first| serde_json::from_slice(first).ok());
        webhook_for(&first.unwrap_or_default())
    }

    fn converted<'a>(&self, answer: &'a [u8]) -> Result<Vec<&'a RawValue>, String> {
        let review = Members::of(answer).ok_or_else(|| {
            "couldn't get version/kind; json parse error: it is no JSON object".to_owned()
        })?;
        self.check_identity(&review)?;
        let response = review.members("response").ok_or("no response provided")?;
        if self.version == ReviewVersion::V1 {
            let uid = response.text("uid");
            if uid != self.uid {
                let expected = self.uid;
                return Err(format!("expected response.uid={expected:?}, got {uid:?}"));
            }
        }
        let result = response.members("result").unwrap_or_default();
        match (&*result.text("status"), result.text("message")) {
            ("Success", _) => {}
            (_, message) if !message.is_empty() => return Err(message),
            (status, _) => {
                return Err(format!(
                    "response.result.status was '{status}', not 'Success'"
                ));
            }
        }
        let objects = response.0.get("convertedObjects");
        let objects = objects.map(|objects| serde_json::from_str(objects.get()));
        match objects {
            None => Ok(Vec::new()),
            Some(Ok(objects)) => Ok(Option::unwrap_or_default(objects)),
            Some(Err(error)) => Err(format!("response.convertedObjects: {error}")),
        }
    }

    /// An answer of the later version must be what it says; the earlier was taken as it came.
    fn check_identity(&self, review: &Members<'_>) -> Result<(), String> {
        let (api_version, kind) = (review.text("apiVersion"), review.text("kind"));
        let wanted = self.version.name();
        let is_named = !api_version.is_empty() && !kind.is_empty();
        match (api_version.strip_prefix("apiextensions.k8s.io/"), &*kind) {
            (Some(version), REVIEW) if version == wanted => Ok(()),
            (Some(version @ ("v1" | "v1beta1")), REVIEW) => Err(format!(
                "converting ({version}.{REVIEW}) to ({wanted}.{REVIEW}): unknown conversion"
            )),
            _ if is_named => Err(format!(
                "no kind {kind:?} is registered for version {api_version:?} in scheme \
                 \"pkg/runtime/scheme.go:111\""
            )),
            _ if self.version == ReviewVersion::V1Beta1 => Ok(()),
            _ => {
                let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
                Err(format!(
                    "expected webhook response of {GROUP}/v1, Kind={REVIEW}, got \
                     {group}/{version}, Kind={kind}"
                ))
            }
        }
    }

    /// A converted object with all that it must have of the original.
    fn settle(
        &self,
        original: &[u8],
        converted: &RawValue,
        target: Option<&Structural>,
    ) -> Result<Value, String> {
        let original: Value = serde_json::from_slice(original).map_err(|it| it.to_string())?;
        let mut converted = self.parse(converted)?;
        let webhook = || webhook_for(&original);
        self.check_type(&original, &converted)
            .map_err(|why| format!("{} returned invalid object at index 0: {why}", webhook()))?;
        check_identity(&original, &converted)
            .map_err(|why| format!("{} returned invalid object: {why}", webhook()))?;
        restore_metadata(&original, &mut converted)
            .map_err(|why| format!("{} returned invalid metadata: {why}", webhook()))?;
        if let Some(structural) = target {
            let embedded = structural.coerce_embedded(&mut converted);
            embedded.map_err(|error| error.to_string())?;
            structural.prune(&mut converted);
        }
        Ok(converted)
    }

    fn parse(&self, converted: &RawValue) -> Result<Value, String> {
        let text = converted.get();
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match &value {
            Value::Null => Err("unexpected end of JSON input".to_owned()),
            Value::Object(_) if is_text(&value, "kind") => Ok(value),
            Value::Object(_) => Err(format!("Object 'Kind' is missing in '{text}'")),
            other => {
                let json_type = type_word(other);
                Err(format!(
                    "json: cannot unmarshal {json_type} into Go value of type \
                     map[string]interface {{}}"
                ))
            }
        }
    }

    fn check_type(&self, original: &Value, converted: &Value) -> Result<(), String> {
        let (desired, version) = (self.desired, text(converted, "apiVersion"));
        if version != desired {
            return Err(format!(
                "invalid groupVersion (expected {desired}, received {version})"
            ));
        }
        let (expected, kind) = (text(original, "kind"), text(converted, "kind"));
        if kind != expected {
            return Err(format!(
                "invalid kind (expected {expected}, received {kind})"
            ));
        }
        Ok(())
    }
}

/// Members of a JSON object as text.
#[derive(Default)]
struct Members<'a>(HashMap<String, &'a RawValue>);

impl<'a> Members<'a> {
    fn of(text: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(text).ok().map(Self)
    }

    fn members(&self, name: &str) -> Option<Self> {
        Self::of(self.0.get(name)?.get().as_bytes())
    }

    /// The text of a member; none where it is something else.
    fn text(&self, name: &str) -> String {
        let value = self.0.get(name).map(|value| value.get());
        let text = value.and_then(|value| serde_json::from_str(value).ok());
        text.unwrap_or_default()
    }
}

/// The webhook that was to convert this object, as messages name it.
fn webhook_for(object: &Value) -> String {
    let (version, kind) = (text(object, "apiVersion"), text(object, "kind"));
    format!("conversion webhook for {version}, Kind={kind}")
}

fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object[member].as_str().unwrap_or_default()
}

fn is_text(object: &Value, member: &str) -> bool {
    !text(object, member).is_empty()
}

fn check_identity(original: &Value, converted: &Value) -> Result<(), String> {
    for (member, told) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let expected = text(&original["metadata"], member);
        let received = text(&converted["metadata"], member);
        if expected != received {
            return Err(format!(
                "must have the same {told}: {expected} != {received}"
            ));
        }
    }
    Ok(())
}

/// Gives a converted object the metadata of the original but for labels and annotations.
fn restore_metadata(original: &Value, converted: &mut Value) -> Result<(), String> {
    let returned = match converted.get("metadata") {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Object(returned)) => returned.clone(),
        Some(other) => {
            let go_type = type_name(other);
            return Err(format!(
                "invalid metadata of type {go_type} in converted object"
            ));
        }
    };
    let mut metadata = original["metadata"].clone();
    let Value::Object(members) = &mut metadata else {
        return Err("invalid metadata in input object".to_owned());
    };
    for member in ["labels", "annotations"] {
        match returned.get(member) {
            None | Some(Value::Null) => drop(members.remove(member)),
            Some(Value::Object(texts)) => {
                check_texts(member, texts, members.get(member))?;
                members.insert(member.to_owned(), Value::Object(texts.clone()));
            }
            Some(other) => {
                let go_type = type_name(other);
                return Err(format!(
                    "invalid metadata.{member} of type {go_type} in converted object"
                ));
            }
        }
    }
    converted["metadata"] = metadata;
    Ok(())
}

/// Refuses labels or annotations that are none. Those that were there before are let be.
fn check_texts(
    member: &str,
    texts: &Map<String, Value>,
    before: Option<&Value>,
) -> Result<(), String> {
    for (key, value) in texts {
        if !value.is_string() {
            let go_type = type_name(value);
            return Err(format!(
                "metadata.{member}[{key}] must be a string, but is {go_type} in converted object"
            ));
        }
    }
    let is_unchanged = match before {
        Some(Value::Object(before)) => before == texts,
        _ => texts.is_empty(),
    };
    if is_unchanged {
        return Ok(());
    }
    let mut metadata = Map::new();
    metadata.insert(member.to_owned(), Value::Object(texts.clone()));
    let (metadata, path) = (Value::Object(metadata), FieldPath::new("metadata"));
    let errors = match member {
        "labels" => label_errors(&metadata, &path.child("labels")),
        _ => annotation_errors(&metadata, &path.child("annotation")),
    };
    match errors.is_empty() {
        true => Ok(()),
        false => Err(aggregate(&errors)),
    }
}

#[cfg(test)]
mod tests;
