//! Objects in the protobuf form that Kubernetes clients send and accept.
//!
//! Nothing here knows a kind: the numbers and shapes come from the [`Schema`], and one walk over
//! the bytes makes of a message the JSON value that stands for the same object. Bytes are trusted
//! in nothing: lengths, depth and the number of objects are bounded, and what is wrong is told.

mod decode;
mod envelope;
mod layout;
mod wire;

pub use envelope::Envelope;
pub(crate) use layout::Layouts;

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
