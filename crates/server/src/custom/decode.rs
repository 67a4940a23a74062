//! What a client sent as an object of a custom kind: held against the schema of its version.

use listwatch_api::{FieldError, FieldPath, GroupKind, Status};
use listwatch_structural::{Malformed, coerce_metadata};
use serde_json::Value;

use crate::{
    commit::metadata_text,
    registry::{CustomVersion, Expected, FieldProblem},
};

/// Makes a parsed body the object that Kubernetes would make of it: without unknown fields, with
/// defaults, in the stored version unless a webhook has to convert it. The result names the fields
/// that were dropped.
///
/// `body` is repeated when no kind can be found in it.
pub(crate) fn decode(
    expected: &Expected<'_>,
    custom: &CustomVersion,
    object: &mut Value,
    body: &[u8],
) -> Result<Vec<FieldProblem>, Status> {
    check_identity(expected, object, body)?;
    let unsuitable = |reason: &str| {
        let refusal = expected.unsuitable(expected.kind, expected.version, reason);
        Status::bad_request(refusal.to_string())
    };
    let mut unknown = Vec::new();
    if let Some(metadata) = object.get_mut("metadata") {
        let dropped = coerce_metadata(metadata, Malformed::Refused);
        let dropped = dropped.map_err(|problem| unsuitable(&problem))?;
        unknown.extend(dropped.iter().map(|path| format!("metadata.{path}")));
    }
    if let Some(structural) = &custom.structural {
        let embedded = structural.coerce_embedded(object);
        let embedded = embedded.map_err(|error| unsuitable(&error.to_string()))?;
        unknown.extend(embedded);
        unknown.extend(structural.prune(object));
        structural.default(object);
    }
    if custom.webhook().is_none() {
        object["apiVersion"] = (*custom.stored_as).into();
    }
    unknown.sort_unstable();
    Ok(unknown.into_iter().map(FieldProblem::Unknown).collect())
}

/// Refuses a body that is of another kind, or says of none.
fn check_identity(expected: &Expected<'_>, object: &Value, body: &[u8]) -> Result<(), Status> {
    let identity = expected.identify(object, body);
    let (api_version, kind) = identity.map_err(|error| Status::bad_request(error.to_string()))?;
    let Some(kind) = kind else {
        let text = String::from_utf8_lossy(body);
        let refusal = expected.unrecognized(&format!("Object 'Kind' is missing in '{text}'"), body);
        return Err(Status::bad_request(refusal.to_string()));
    };
    let wanted = expected.api_version();
    if api_version != wanted {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version \
             ({wanted})"
        )));
    }
    if kind != expected.kind {
        let why = format!("must be {}", expected.kind);
        let error = FieldError::invalid(&FieldPath::new("kind"), &*kind, &why);
        let name = metadata_text(object, "name").unwrap_or_default();
        let kind = GroupKind::new(expected.group, &kind);
        return Err(Status::invalid(kind, name, &[error]));
    }
    Ok(())
}
