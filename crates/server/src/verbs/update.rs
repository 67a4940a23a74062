//! PUT: an object is replaced, if it is still the one that the client saw.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use listwatch_api::{
    FieldError, FieldPath, GroupKind, Status, object::Outline, patch::Reach,
    write_options::WriteOptions,
};
use serde_json::{Map, Value};

use super::{
    part::Part,
    scale,
    submitted::{self, Submitted},
    writer::{Change, New, WhenMissing, Writer, within_reach},
};
use crate::{
    admission,
    commit::{Current, Outcome, Owners, SCANNED, Unseen, Views, metadata_text},
    custom,
    registry::{PutToMissing, PutWithoutVersion},
    request::ResourceRequest,
    response::{self, Body},
    server::Server,
};

/// Replaces an object, or one part of it, by what a body describes.
pub(crate) async fn update(
    server: &Arc<Server>,
    request: &ResourceRequest,
    body: Bytes,
) -> Result<Response<Body>, Status> {
    let accept = response::negotiate(server, request)?;
    let options = WriteOptions::update(request.query.typed())?;
    let part = Part::of(request)?;
    let Submitted {
        mut object,
        mut warnings,
    } = submitted::decode(server, request, &body, options.field_validation)?;
    submitted::refuse_other_name(request, &object)?;
    if part == Part::Main {
        // Now, so that what is stored is recognized in it.
        admission::apply_defaults(&request.definition, &mut object);
    }
    let name = request.object_name();
    let destination = server.destination(request, name, options.dry_run.into())?;
    let views = Views::new(&server.registry, &request.definition, Unseen::LetBe);
    let tracker = submitted::field_tracker(server, (request, &options), &views);
    let reach = within_reach(server, (request, part), Reach::Members(Vec::new()));
    let mut writer = Writer::new(server, (request, part), when_missing(request), &options);
    let replacing = |current: &Current| {
        refuse_stale(request, current, &object)?;
        let (before, next) = replacement((request, part), current, (&object, &reach))?;
        let owners = Owners::Changers(&tracker);
        Ok(Change {
            before,
            next,
            owners,
            // What a definition leaves out is also in its status, which is not the client's.
            is_filled: part == Part::Main && !custom::is_definition(&request.definition),
        })
    };
    let creating = || {
        refuse_gone(request, &object)?;
        Ok(New {
            object: object.clone(),
            owners: Owners::Changers(&tracker),
        })
    };
    writer.views = Some(&views);
    let changed = writer.write(&destination, replacing, creating).await?;
    warnings.append(&mut writer.warnings);
    let code = match changed.outcome {
        Outcome::Created => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    let (conversions, dry_run) = (&server.conversions, options.dry_run);
    let changed = conversions
        .told(request, &accept.format, changed, dry_run)
        .await?;
    Ok(accept.changed(server, (part, &changed), code, &warnings))
}

/// What a replacement makes of the stored object. What it leaves as it is stays text.
fn replacement(
    (request, part): (&ResourceRequest, Part),
    current: &Current,
    (submitted, reach): (&Value, &Reach<'_>),
) -> Result<(Outline, Value), Status> {
    let mut before = current.outline(reach);
    if part == Part::Scale {
        let next = scale::scaled(&request.definition, &before.object, submitted)?;
        return Ok((before, next));
    }
    let is_removed =
        |name: &str| submitted.get(name).is_none() && !part.keeps(&request.definition, name);
    let names = before.untouched.iter().map(|(name, _)| name);
    let removed: Vec<Box<str>> = names.filter(|name| is_removed(name)).cloned().collect();
    for name in removed {
        before.parse(&name).expect(SCANNED);
    }
    let mut next = Map::new();
    for (name, value) in submitted.as_object().into_iter().flatten() {
        let is_stored =
            || admission::asks_for_what_is_stored(&request.definition, &before, (name, value));
        if part.keeps(&request.definition, name) || is_stored() {
            continue;
        }
        before.parse(name).expect(SCANNED);
        next.insert(name.clone(), value.clone());
    }
    Ok((before, Value::Object(next)))
}

/// Refuses an update that says of a member of the metadata what it may never say.
pub(super) fn refuse_changed(
    request: &ResourceRequest,
    current: &Current,
    (object, members): (&Value, &[&str]),
) -> Result<(), Status> {
    let changed = members.iter().filter_map(|member| {
        let given = metadata_text(object, member)?;
        let is_same = metadata_text(current.about(), member) == Some(given);
        let field = FieldPath::new("metadata").child(member);
        (!is_same).then(|| FieldError::invalid(&field, given, "field is immutable"))
    });
    let errors: Vec<FieldError> = changed.collect();
    if errors.is_empty() {
        return Ok(());
    }
    let definition = &request.definition;
    let kind = GroupKind::new(&definition.group, &definition.kind);
    Err(Status::invalid(kind, request.object_name(), &errors))
}

/// Refuses an update of an object that has changed since the client saw it, or of another object.
pub(super) fn refuse_stale(
    request: &ResourceRequest,
    current: &Current,
    object: &Value,
) -> Result<(), Status> {
    let resource = request.group_resource();
    let name = request.object_name();
    match submitted::seen_version(object) {
        Some(version) if version != current.revision.to_string() => {
            return Err(Status::modified_meanwhile(resource, name));
        }
        None if needs_version(request) => {
            let field = FieldPath::new("metadata").child("resourceVersion");
            let error = FieldError::invalid(&field, 0, "must be specified for an update");
            // Kubernetes names the resource, not the kind, in this one refusal.
            let kind = GroupKind::new(resource.group, resource.resource);
            return Err(Status::invalid(kind, name, &[error]));
        }
        _ => {}
    }
    let stored_uid = metadata_text(current.about(), "uid").unwrap_or_default();
    match metadata_text(object, "uid") {
        Some(uid) if uid != stored_uid => {
            let key = String::from_utf8_lossy(current.key.as_bytes());
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in \
                 object meta: {stored_uid}"
            );
            Err(Status::conflict(resource, name, &why))
        }
        _ => Ok(()),
    }
}

/// Whether a write must say which state it replaces. Scaling need not.
fn needs_version(request: &ResourceRequest) -> bool {
    request.definition.put_without_version == PutWithoutVersion::Refuses
        && request.subresource.as_deref() != Some("scale")
}

/// Some kinds are created by a PUT; for the others a missing object is an error.
fn when_missing(request: &ResourceRequest) -> WhenMissing {
    match request.definition.put_to_missing {
        PutToMissing::Creates if request.subresource.is_none() => WhenMissing::Created,
        _ => WhenMissing::Refused,
    }
}

/// Refuses to create what was meant to replace an object that is gone.
fn refuse_gone(request: &ResourceRequest, object: &Value) -> Result<(), Status> {
    if submitted::seen_version(object).is_some() || metadata_text(object, "uid").is_some() {
        let (resource, name) = (request.group_resource(), request.object_name());
        return Err(Status::not_found(resource, name));
    }
    Ok(())
}
