//! Answers as CBOR: documents, events and items of lists, each made of the JSON that stands for the
//! same object. What many ask for again is kept in [`KeptMessages`], beside protobuf's.

use std::sync::Arc;

use bytes::Bytes;
use listwatch_api::{
    EventType, Status,
    cbor::{self, CborError, Typing},
    schema::TypeId,
};

use super::{
    format::Format,
    kept_messages::{Identity, KeptMessages},
    messages::type_named_in,
};
use crate::{
    registry::Registry,
    watch_cache::{CachedObject, EncodingId, resource_version},
};

/// What the objects of a request are as items.
pub(crate) struct CborItems {
    pub(super) registry: Arc<Registry>,
    /// The type of the objects, where it is known.
    pub(super) type_id: Option<TypeId>,
    pub(super) kept: Arc<KeptMessages>,
    /// Which objects and items of lists are the same bytes; `None` for rows, which tell an age.
    pub(super) encodings: Option<Encodings>,
}

/// The encodings of one object, which says in a list less of what it is than alone.
#[derive(Clone, Copy)]
pub(super) struct Encodings {
    pub(super) alone: EncodingId,
    pub(super) in_list: EncodingId,
}

/// Where an object stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Alone,
    InList,
}

impl CborItems {
    /// The frame of an event with the object in this document. What cannot be written ends the
    /// watch with the reason.
    pub(super) fn frame(&self, event_type: EventType, json: &[u8]) -> Vec<u8> {
        match cbor::encode(json, self.typing()) {
            Ok(item) => cbor::event(event_type, &item),
            Err(error) => status_frame(&not_writable(&error)),
        }
    }

    /// An object in its present state, made by the first who asks; `None` for rows.
    pub(super) fn item(
        &self,
        format: &Format,
        object: &CachedObject,
        standing: Standing,
    ) -> Option<Bytes> {
        let encodings = self.encodings?;
        let identity = Identity {
            key: object.key(),
            revision: object.revision(),
            encoding: match standing {
                Standing::Alone => encodings.alone,
                Standing::InList => encodings.in_list,
            },
        };
        if let Some(item) = self.kept.get(&identity) {
            return Some(item);
        }
        let stored = object.stored();
        let mut json = Vec::with_capacity(stored.appended_len());
        let version = resource_version(object.revision());
        match standing {
            Standing::Alone => format.json_object(stored, version, &mut json),
            Standing::InList => format.json_item(stored, version, &mut json),
        }
        let item = cbor::encode(&json, self.typing());
        let item = Bytes::from(item.expect("what is stored was read as JSON before"));
        self.kept.keep(&identity, &item);
        Some(item)
    }

    fn typing(&self) -> Typing<'_> {
        typing(&self.registry, self.type_id)
    }
}

/// A document of any type. What cannot be written is refused.
pub(super) fn document(registry: &Registry, json: &[u8]) -> Result<Vec<u8>, Status> {
    let (api_version, kind) = type_named_in(json);
    let type_id = registry.type_of(&api_version, &kind);
    let item = cbor::encode(json, typing(registry, type_id));
    let item = item.map_err(|error| not_writable(&error))?;
    Ok(cbor::document(&item))
}

/// A document that is a `Status`.
pub(super) fn status_document(status: &Status) -> Vec<u8> {
    cbor::document(&status_item(status))
}

/// The frame that ends a watch with a `Status`.
pub(super) fn status_frame(status: &Status) -> Vec<u8> {
    cbor::event(EventType::Error, &status_item(status))
}

fn status_item(status: &Status) -> Vec<u8> {
    let json = serde_json::to_vec(status).expect("a Status is JSON");
    cbor::encode(&json, Typing::Untyped).expect("a Status is JSON")
}

fn typing(registry: &Registry, type_id: Option<TypeId>) -> Typing<'_> {
    match type_id {
        Some(type_id) => Typing::Typed(registry.schema(), type_id),
        None => Typing::Untyped,
    }
}

/// What is said of a document that is too deep, as a table of the deepest objects is.
fn not_writable(error: &CborError) -> Status {
    Status::internal(&format!("the answer cannot be written as CBOR: {error}"))
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde_json::Value;

    use super::*;

    #[test]
    fn bytes_of_known_kinds_are_bytes_and_those_of_others_text() {
        let registry = Registry::builtin();
        let encoded = STANDARD.encode(b"password");
        for (api_version, kind, is_raw) in
            [("v1", "Secret", true), ("example.com/v1", "Secret", false)]
        {
            let json = format!(
                r#"{{"kind":"{kind}","apiVersion":"{api_version}","data":{{"k":"{encoded}"}}}}"#
            );
            let secret: Value = serde_json::from_str(&json).unwrap();
            let document = document(&registry, json.as_bytes()).unwrap();
            let has_raw = document.windows(8).any(|part| part == b"password");
            assert_eq!(has_raw, is_raw, "{api_version}");
            assert_eq!(cbor::decode(&document), Ok(secret));
        }
    }

    #[test]
    fn a_refusal_is_the_same_in_cbor() {
        let status = Status::bad_request("no");
        let expected = serde_json::to_value(&status).unwrap();
        assert_eq!(cbor::decode(&status_document(&status)), Ok(expected));
    }
}
