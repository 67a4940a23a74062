//! Answers as protobuf: documents, events and items of lists, each made of the JSON that stands
//! for the same object. What many ask for again is kept in [`KeptMessages`].

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use listwatch_api::{
    EventType, Status,
    object::{Members, unquote},
    protobuf::{self, ProtobufError, Surroundings, TypeMeta},
    schema::{Schema, TypeId},
};

use super::{
    format::Format,
    kept_messages::{Identity, KeptMessages},
    partial_metadata::ListMetadata,
};
use crate::{
    registry::{META_SCHEMA, Registry},
    watch_cache::{CachedObject, EncodingId, resource_version},
};

/// The types that every answer may need, whatever kinds are served.
static META: LazyLock<Schema> =
    LazyLock::new(|| Schema::parse(&[META_SCHEMA]).expect("a test reads the built-in schema"));

const STATUS: TypeMeta<'static> = TypeMeta {
    api_version: "v1",
    kind: "Status",
};

/// What the objects of a request are as messages.
pub(crate) struct Messages {
    pub(super) registry: Arc<Registry>,
    pub(super) type_id: TypeId,
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) list_kind: String,
    pub(super) kept: Arc<KeptMessages>,
    pub(super) encoding: EncodingId,
}

impl Messages {
    /// The frame of an event with the object in this document. What cannot be written ends the
    /// watch with the reason.
    pub(super) fn frame(&self, event_type: EventType, json: &[u8]) -> Vec<u8> {
        match self.encode(json) {
            Ok(message) => self.frame_of(event_type, &message),
            Err(error) => status_frame(&not_writable(&error)),
        }
    }

    /// The frame of an event with an object in its present state.
    pub(super) fn kept_frame(
        &self,
        event_type: EventType,
        format: &Format,
        object: &CachedObject,
    ) -> Vec<u8> {
        match self.message(format, object) {
            Ok(message) => self.frame_of(event_type, &message),
            Err(error) => status_frame(&not_writable(&error)),
        }
    }

    /// The document of an object in its present state.
    pub(super) fn kept_body(
        &self,
        format: &Format,
        object: &CachedObject,
    ) -> Result<Vec<u8>, ProtobufError> {
        let message = self.message(format, object)?;
        Ok(Surroundings::of_object(self.type_meta(), message.len()).around(&message))
    }

    /// The message of an object in its present state, made by the first who asks.
    pub(super) fn message(
        &self,
        format: &Format,
        object: &CachedObject,
    ) -> Result<Bytes, ProtobufError> {
        let identity = Identity {
            key: object.key(),
            revision: object.revision(),
            encoding: self.encoding,
        };
        if let Some(message) = self.kept.get(&identity) {
            return Ok(message);
        }
        let stored = object.stored();
        let mut json = Vec::with_capacity(stored.appended_len());
        let version = resource_version(object.revision());
        format.json_object(stored, version, &mut json);
        let message = Bytes::from(self.encode(&json)?);
        self.kept.keep(&identity, &message);
        Ok(message)
    }

    /// What stands around the items of a list, which together have this length.
    pub(super) fn around_items(
        &self,
        metadata: &ListMetadata<'_>,
        items_length: usize,
    ) -> Surroundings {
        let mut json = Vec::new();
        metadata.append(&mut json);
        let metadata = encode_meta("ListMeta", &json);
        let type_meta = TypeMeta {
            api_version: &self.api_version,
            kind: &self.list_kind,
        };
        Surroundings::of_items(type_meta, &metadata, items_length)
    }

    fn frame_of(&self, event_type: EventType, message: &[u8]) -> Vec<u8> {
        Surroundings::of_event(event_type, self.type_meta(), message.len()).around(message)
    }

    fn type_meta(&self) -> TypeMeta<'_> {
        TypeMeta {
            api_version: &self.api_version,
            kind: &self.kind,
        }
    }

    fn encode(&self, json: &[u8]) -> Result<Vec<u8>, ProtobufError> {
        protobuf::encode(self.registry.schema(), self.type_id, json)
    }
}

/// A document of any type that is served. What cannot be written is refused.
pub(super) fn document(registry: &Registry, json: &[u8]) -> Result<Vec<u8>, Status> {
    let (api_version, kind) = type_named_in(json);
    let type_meta = TypeMeta {
        api_version: &api_version,
        kind: &kind,
    };
    let Some(type_id) = registry.type_of(&api_version, &kind) else {
        let what = format!("{api_version}, Kind={kind} has no protobuf form");
        return Err(Status::internal(&what));
    };
    let message = protobuf::encode(registry.schema(), type_id, json);
    let message = message.map_err(|error| not_writable(&error))?;
    Ok(Surroundings::of_object(type_meta, message.len()).around(&message))
}

/// The `apiVersion` and the kind that a document begins with; empty where it does not.
pub(super) fn type_named_in(json: &[u8]) -> (Cow<'_, str>, Cow<'_, str>) {
    let text = std::str::from_utf8(json).unwrap_or_default();
    let member = |wanted| {
        let mut head = Members::of(text).take(2);
        let found = head.find(|(name, _)| *name == wanted);
        found.and_then(|(_, written)| unquote(written))
    };
    let (api_version, kind) = (member("apiVersion"), member("kind"));
    (api_version.unwrap_or_default(), kind.unwrap_or_default())
}

/// A document that is a `Status`.
pub(super) fn status_document(status: &Status) -> Vec<u8> {
    let message = status_message(status);
    Surroundings::of_object(STATUS, message.len()).around(&message)
}

/// The frame that ends a watch with a `Status`.
pub(super) fn status_frame(status: &Status) -> Vec<u8> {
    let message = status_message(status);
    Surroundings::of_event(EventType::Error, STATUS, message.len()).around(&message)
}

/// What is said of an object that has no message, which only a fault of the server makes.
pub(super) fn not_writable(error: &ProtobufError) -> Status {
    Status::internal(&format!(
        "the object cannot be written as protobuf: {error}"
    ))
}

fn status_message(status: &Status) -> Vec<u8> {
    let json = serde_json::to_vec(status).expect("a Status is JSON");
    encode_meta("Status", &json)
}

fn encode_meta(name: &str, json: &[u8]) -> Vec<u8> {
    let type_id = META.find(&format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}"));
    let type_id = type_id.expect("the types of all versions are in their table");
    protobuf::encode(&META, type_id, json).expect("what the server itself makes fits its type")
}

#[cfg(test)]
mod tests {
    use listwatch_api::{ResourceVersion, protobuf::Envelope};
    use serde_json::{Value, json};

    use super::*;

    fn read(name: &str, raw: &[u8]) -> Value {
        let type_id = META.find(&format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}"));
        protobuf::decode(&META, type_id.unwrap(), raw)
            .unwrap()
            .into()
    }

    #[test]
    fn a_refusal_is_the_same_in_protobuf() {
        let status = Status::bad_request("no");
        let document = status_document(&status);
        let envelope = Envelope::parse(&document).unwrap();
        assert_eq!((envelope.api_version, envelope.kind), ("v1", "Status"));
        let expected = json!({
            "metadata": {}, "status": "Failure", "message": "no", "reason": "BadRequest",
            "code": 400,
        });
        assert_eq!(read("Status", envelope.raw), expected);
    }

    #[test]
    fn a_document_says_itself_what_it_is() {
        let registry = Registry::builtin();
        for (json, kind) in [
            (r#"{"kind":"Scale","apiVersion":"autoscaling/v1"}"#, "Scale"),
            (
                r#"{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1"}"#,
                "TokenRequest",
            ),
            (
                r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1"}"#,
                "PartialObjectMetadata",
            ),
            (r#"{"kind":"Status","apiVersion":"v1"}"#, "Status"),
        ] {
            let document = document(&registry, json.as_bytes()).unwrap();
            assert_eq!(Envelope::parse(&document).unwrap().kind, kind);
        }
        let unknown = document(&registry, br#"{"kind":"Foo","apiVersion":"ex.com/v1"}"#);
        assert_eq!(unknown.unwrap_err().http_code(), 500);
    }

    #[test]
    fn the_metadata_of_a_list_stands_before_its_items() {
        let messages = Messages {
            registry: Arc::new(Registry::builtin()),
            type_id: Registry::builtin().type_of("v1", "ConfigMap").unwrap(),
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            list_kind: "ConfigMapList".to_owned(),
            kept: Arc::default(),
            encoding: EncodingId::new(9),
        };
        let metadata = ListMetadata {
            resource_version: ResourceVersion::new(7),
            continue_token: Some("next"),
            remaining_item_count: Some(3),
        };
        let list = messages.around_items(&metadata, 0).around(&[]);
        let envelope = Envelope::parse(&list).unwrap();
        assert_eq!(envelope.kind, "ConfigMapList");
        let expected = json!({"resourceVersion": "7", "continue": "next", "remainingItemCount": 3});
        assert_eq!(read("ListMeta", &envelope.raw[2..]), expected);
    }
}
