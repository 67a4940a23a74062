//! Objects in the protobuf form that Kubernetes clients send and accept.
//!
//! Nothing here knows a kind: the numbers and shapes come from the [`Schema`], and one walk over
//! the bytes makes of a message the JSON value that stands for the same object. Bytes are trusted
//! in nothing: lengths, depth and the number of objects are bounded, and what is wrong is told.

mod decode;
mod encode;
mod envelope;
mod framing;
mod layout;
mod openapi;
mod wire;

use encode::Backward;
pub use envelope::Envelope;
pub use framing::{Surroundings, TypeMeta, item_head, item_length};
pub(crate) use layout::{Form, Layouts};
pub use openapi::encode_openapi;

use serde_json::{Map, Value};

use crate::schema::{Schema, TypeId};

/// Why bytes are not the message that they should be; the text goes to the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProtobufError(String);

impl ProtobufError {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Reads a message of this type, without its [`Envelope`], as the members of the JSON object.
///
/// Fields are there as Go's JSON has them: empty values follow the field's
/// [`Presence`](crate::schema::Presence). What the message does not have is left out, unknown
/// fields are skipped, and a field that comes twice is merged or replaced.
pub fn decode(
    schema: &Schema,
    type_id: TypeId,
    raw: &[u8],
) -> Result<Map<String, Value>, ProtobufError> {
    decode::decode(schema, type_id, raw)
}

/// Writes the JSON text of an object of this type as a message, without its [`Envelope`].
///
/// The bytes are those that Kubernetes writes for the same object: what Go always has is there
/// also when it is not set, and `kind` and `apiVersion` are not.
pub fn encode(schema: &Schema, type_id: TypeId, json: &[u8]) -> Result<Vec<u8>, ProtobufError> {
    let mut out = Backward::with_capacity(json.len());
    encode::encode(schema, type_id, json, &mut out)?;
    Ok(out.to_vec())
}

/// Refuses types that no message stands for, such as those of custom kinds.
fn check_has_form(schema: &Schema, type_id: TypeId) -> Result<(), ProtobufError> {
    let object_type = schema.object_type(type_id);
    let members = &schema.layouts().message(type_id).members;
    if members.is_empty() && !object_type.fields.is_empty() {
        let name = &object_type.name;
        return Err(ProtobufError::new(format!("{name} has no protobuf form")));
    }
    Ok(())
}
