//! PATCH: a change is applied to whatever is stored, as often as it takes.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use listwatch_api::{
    Status,
    media_type::{Origin, PatchType},
    patch::{DecodedPatch, Patch, PatchFormat},
    write_options::{FieldValidation, PatchOptions, PatchPurpose},
};
use serde_json::{Value, json};

use super::{
    part::Part,
    scale,
    submitted::{self, Submitted},
    update::{refuse_stale, settle},
};
use crate::{
    commit::{Current, FieldTracker, Next, metadata_mut},
    request::ResourceRequest,
    response::{self, Body},
    server::Server,
};

/// The patch types that can be applied.
const SERVED_PATCH_TYPES: [&str; 3] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// Applies a patch to an object or one part of it.
pub(crate) async fn patch(
    server: &Arc<Server>,
    request: &ResourceRequest,
    body: Bytes,
) -> Result<Response<Body>, Status> {
    let accept = response::negotiate(server, request)?;
    let patch_type = PatchType::parse(request.content_type(), Origin::BuiltIn)?;
    let options = PatchOptions::parse(request.query.typed(), purpose(patch_type))?;
    let part = Part::of(request)?;
    let DecodedPatch { patch, oddities } = Patch::decode(format(patch_type)?, &body)?;
    let validation = options.write.field_validation;
    refuse_oddities(&oddities, validation)?;
    let name = request.object_name();
    let destination = server.destination(request, name, options.write.dry_run.into());
    let tracker = submitted::field_tracker(server, request, &options.write);
    let mut warnings = Vec::new();
    let changed = server
        .committer
        .change(&destination, |current| {
            let missing = || Status::not_found(request.group_resource(), name);
            let current = current.ok_or_else(missing)?;
            let patched = apply(server, (request, part), current, (&patch, validation))?;
            warnings = match validation {
                FieldValidation::Warn => [oddities.as_slice(), &patched.warnings].concat(),
                FieldValidation::Ignore | FieldValidation::Strict => Vec::new(),
            };
            finish(&tracker, (request, part), current, patched.object)
        })
        .await?;
    Ok(accept.changed(server, (part, &changed), StatusCode::OK, &warnings))
}

/// The object, or the scale of it, that the patch makes of the stored one.
fn apply(
    server: &Server,
    (request, part): (&ResourceRequest, Part),
    current: &Current,
    (patch, validation): (&Patch, FieldValidation),
) -> Result<Submitted, Status> {
    let version = current.stored.revision.to_string();
    let mut subject = current.object.clone();
    if part == Part::Scale {
        subject = scale::scale_of(&subject);
    } else {
        let conversion = request.definition.conversion;
        server.registry.to_served(conversion, &mut subject);
    }
    metadata_mut(&mut subject).insert("resourceVersion".to_owned(), json!(version));
    let patched = match submitted::expected(request).schema {
        Some(type_id) => patch.apply(subject, server.registry.schema(), type_id)?,
        None => patch.apply_without_schema(subject)?,
    };
    submitted::decode_patched(server, request, patched, validation)
}

fn finish(
    tracker: &FieldTracker<'_>,
    (request, part): (&ResourceRequest, Part),
    current: &Current,
    patched: Value,
) -> Result<Next, Status> {
    submitted::refuse_other_name(request, &patched)?;
    refuse_stale(request, current, &patched)?;
    let next = match part {
        Part::Scale => scale::scaled(&current.object, &patched)?,
        _ => patched,
    };
    settle(tracker, (request, part), current, next)
}

/// Server-side apply needs to know who owns which field, which is not kept yet.
fn format(patch_type: PatchType) -> Result<PatchFormat, Status> {
    match patch_type {
        PatchType::Json => Ok(PatchFormat::Json),
        PatchType::Merge => Ok(PatchFormat::Merge),
        PatchType::StrategicMerge => Ok(PatchFormat::StrategicMerge),
        PatchType::Apply => Err(Status::unsupported_media_type(&SERVED_PATCH_TYPES)),
    }
}

fn refuse_oddities(oddities: &[String], validation: FieldValidation) -> Result<(), Status> {
    if validation != FieldValidation::Strict || oddities.is_empty() {
        return Ok(());
    }
    let listed = oddities.join(", ");
    Err(Status::bad_request(format!(
        "strict decoding error: {listed}"
    )))
}

fn purpose(patch_type: PatchType) -> PatchPurpose {
    match patch_type {
        PatchType::Apply => PatchPurpose::Apply,
        PatchType::Json | PatchType::Merge | PatchType::StrategicMerge => PatchPurpose::Change,
    }
}
