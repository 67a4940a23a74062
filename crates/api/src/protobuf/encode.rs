//! From the JSON text of an object to its message, byte for byte as Kubernetes writes it.
//!
//! One pass over the text finds the values and borrows them; one pass over these writes the
//! message from its end to its beginning, where every length is known before it is needed.

mod tree;
mod write;

use super::ProtobufError;
use crate::schema::{Schema, TypeId};

pub(super) use write::Backward;

pub(super) fn encode(
    schema: &Schema,
    type_id: TypeId,
    json: &[u8],
    into: &mut Backward,
) -> Result<(), ProtobufError> {
    super::check_has_form(schema, type_id)?;
    let tree = tree::read(schema, type_id, json)?;
    write::message(schema, type_id, &tree, into);
    Ok(())
}

#[cfg(test)]
mod tests;
