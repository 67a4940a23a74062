//! PATCH: a change is applied to whatever is stored, as often as it takes.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use listwatch_api::{
    FieldError, FieldPath, GroupKind, Status,
    media_type::{ApplySyntax, PatchType},
    object::Outline,
    patch::{DecodedPatch, Patch, PatchFormat},
    write_options::{FieldValidation, PatchOptions, PatchPurpose},
};
use serde_json::{Value, json};

use super::{
    apply,
    part::Part,
    scale,
    submitted::{self, Submitted},
    update::{refuse_changed, refuse_stale},
    writer::{Change, WhenMissing, Writer, within_reach},
};
use crate::{
    commit::{Current, Owners, Unseen, Views, metadata_mut},
    request::ResourceRequest,
    response::{self, Body},
    server::Server,
};

/// Applies a patch to an object or one part of it.
pub(crate) async fn patch(
    server: &Arc<Server>,
    request: &ResourceRequest,
    body: Bytes,
) -> Result<Response<Body>, Status> {
    let accept = response::negotiate(server, request)?;
    let patch_type = PatchType::parse(request.content_type(), request.definition.origin())?;
    let options = PatchOptions::parse(request.query.typed(), purpose(patch_type))?;
    let format = match format(patch_type) {
        Ok(format) => format,
        Err(syntax) => {
            let body = (syntax, &body);
            return apply::apply(server, request, (accept, options), body).await;
        }
    };
    let part = Part::of(request)?;
    let DecodedPatch { patch, oddities } = Patch::decode(format, &body)?;
    let validation = options.write.field_validation;
    let name = request.object_name();
    let destination = server.destination(request, name, options.write.dry_run.into())?;
    let views = Views::new(&server.registry, &request.definition, Unseen::LetBe);
    let tracker = submitted::field_tracker(server, (request, &options.write), &views);
    let reach = within_reach(server, (request, part), patch.reach());
    let when_missing = WhenMissing::Refused;
    let mut writer = Writer::new(server, (request, part), when_missing, &options.write);
    let mut warnings = Vec::new();
    let patching = |current: &Current| {
        let before = current.outline(&reach);
        let subject = || subject(server, (request, part), current, &before);
        let patched = patched(server, request, &subject, (&patch, &oddities, validation))?;
        warnings = patched.warnings;
        let change = Change {
            before,
            next: patched.object,
            owners: Owners::Changers(&tracker),
            is_filled: false,
        };
        checked((request, part), current, change)
    };
    let missing = || Err(Status::not_found(request.group_resource(), name));
    writer.views = Some(&views);
    let changed = writer.write(&destination, patching, missing).await?;
    warnings.append(&mut writer.warnings);
    let (conversions, dry_run) = (&server.conversions, options.write.dry_run);
    let changed = conversions
        .told(request, &accept.format, changed, dry_run)
        .await?;
    Ok(accept.changed(server, (part, &changed), StatusCode::OK, &warnings))
}

/// What a patch is applied to: the object as it is served, or the scale of it.
fn subject(
    server: &Server,
    (request, part): (&ResourceRequest, Part),
    current: &Current,
    before: &Outline,
) -> Value {
    let mut subject = match before.untouched.is_empty() {
        true => current.whole(),
        false => before.object.clone(),
    };
    if part == Part::Scale {
        subject = scale::scale_of(&request.definition, &subject);
    } else {
        let conversion = request.definition.conversion;
        server.registry.to_served(conversion, &mut subject);
        request.definition.name_version(&mut subject);
    }
    let version = current.revision.to_string();
    metadata_mut(&mut subject).insert("resourceVersion".to_owned(), json!(version));
    subject
}

/// What the patch makes of it. What is no object of the kind any more, or has fields that it should
/// not have, is shown with the reason.
fn patched(
    server: &Server,
    request: &ResourceRequest,
    subject: &dyn Fn() -> Value,
    (patch, oddities, validation): (&Patch, &[String], FieldValidation),
) -> Result<Submitted, Status> {
    let expected = submitted::expected(request);
    let apply = || match expected.schema {
        Some(type_id) => patch.apply(subject(), server.registry.schema(), type_id),
        None => patch.apply_without_schema(subject()),
    };
    // Applied again only to be shown.
    let unfit = |reason: &str| match apply() {
        Ok(patched) => unfit(&patch.shown(&patched), reason),
        Err(status) => status,
    };
    // What is to be refused is gathered first, as warnings are.
    let gathered = match validation {
        FieldValidation::Ignore => FieldValidation::Ignore,
        FieldValidation::Warn | FieldValidation::Strict => FieldValidation::Warn,
    };
    let decoded = submitted::decode_patched(server, request, apply()?, gathered);
    let mut decoded = decoded.map_err(|status| match expected.reason_in(&status.message) {
        Some(reason) => unfit(reason),
        None => status,
    })?;
    if validation != FieldValidation::Ignore {
        decoded.warnings.splice(..0, oddities.iter().cloned());
    }
    if validation == FieldValidation::Strict && !decoded.warnings.is_empty() {
        let listed = decoded.warnings.join(", ");
        return Err(unfit(&format!("strict decoding error: {listed}")));
    }
    Ok(decoded)
}

fn unfit(shown: &str, reason: &str) -> Status {
    let error = FieldError::invalid(&FieldPath::new("patch"), shown, reason);
    Status::invalid(GroupKind::new("", ""), "", &[error])
}

/// Refuses what a patch has made of another object, or of another state of it.
pub(super) fn checked<'a>(
    (request, part): (&ResourceRequest, Part),
    current: &Current,
    mut change: Change<'a>,
) -> Result<Change<'a>, Status> {
    submitted::refuse_other_name(request, &change.next)?;
    refuse_changed(
        request,
        current,
        (&change.next, &["uid", "deletionTimestamp"]),
    )?;
    refuse_stale(request, current, &change.next)?;
    if part == Part::Scale {
        change.next = scale::scaled(&request.definition, &change.before.object, &change.next)?;
    }
    Ok(change)
}

/// The form of a patch, or the syntax of one that states what is wanted instead of what changes.
fn format(patch_type: PatchType) -> Result<PatchFormat, ApplySyntax> {
    match patch_type {
        PatchType::Json => Ok(PatchFormat::Json),
        PatchType::Merge => Ok(PatchFormat::Merge),
        PatchType::StrategicMerge => Ok(PatchFormat::StrategicMerge),
        PatchType::Apply(syntax) => Err(syntax),
    }
}

fn purpose(patch_type: PatchType) -> PatchPurpose {
    match patch_type {
        PatchType::Apply(_) => PatchPurpose::Apply,
        PatchType::Json | PatchType::Merge | PatchType::StrategicMerge => PatchPurpose::Change,
    }
}
