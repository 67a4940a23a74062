//! PUT: an object is replaced, if it is still the one that the client saw.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use listwatch_api::{
    FieldError, FieldPath, Status,
    object::{Draft, Outline},
    patch::Reach,
    write_options::WriteOptions,
};
use serde_json::{Map, Value};

use super::{
    create,
    part::Part,
    scale,
    submitted::{self, Submitted},
};
use crate::{
    admission::{self, Home},
    commit::{
        Changed, Current, Destination, Next, Outcome, Owners, SCANNED, Stored, Trust, carry_over,
        deletion_is_complete, deletion_looks_beyond_metadata, metadata_mut, metadata_text,
    },
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
    let Submitted { object, warnings } =
        submitted::decode(server, request, &body, options.field_validation)?;
    submitted::refuse_other_name(request, &object)?;
    let name = request.object_name();
    let destination = server.destination(request, name, options.dry_run.into())?;
    let tracker = submitted::field_tracker(server, request, &options);
    let owners = Owners::Changers(&tracker);
    let reach = within_reach(server, (request, part), Reach::Members(Vec::new()));
    let replacing = |current: &Current| {
        refuse_stale(request, current, &object)?;
        let change = replacement((request, part), current, (&object, &reach))?;
        settle(owners, (request, part), current, change)
    };
    let creating = || put_to_missing(server, request, owners, object.clone());
    let may_create = || may_create(server, request);
    let changed = change_or_create(server, &destination, replacing, (may_create, creating)).await?;
    let code = match changed.outcome {
        Outcome::Created => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    Ok(accept.changed(server, (part, &changed), code, &warnings))
}

/// Changes what is there or creates what is not. Whether it may be created is asked only then.
pub(super) async fn change_or_create<'a, F: Future<Output = Result<Option<Home<'a>>, Status>>>(
    server: &Server,
    destination: &Destination,
    mut change: impl FnMut(&Current) -> Result<Next, Status>,
    (may_create, mut create): (impl FnOnce() -> F, impl FnMut() -> Result<Next, Status>),
) -> Result<Changed, Status> {
    let mut is_missing = false;
    let found = server.committer.change(destination, |stored| {
        is_missing = matches!(stored, Stored::Absent);
        change(stored.object(Status::unknown_resource)?)
    });
    let home = match found.await {
        Err(_) if is_missing => may_create().await?,
        done => return done,
    };
    let committer = &server.committer;
    let created = committer.change_at(destination, home.as_ref(), |stored| match stored {
        Stored::Absent => create(),
        there => change(there.object(Status::unknown_resource)?),
    });
    created.await
}

/// A state of an object and the one that is to follow. Members that the earlier state has as text
/// stay as they are, and the later one has none of them.
pub(super) struct Change {
    pub(super) before: Outline,
    pub(super) next: Value,
}

/// How far a write has to look that itself looks no further than this. Kinds with other versions
/// or rules of their own are looked at as a whole.
pub(super) fn within_reach<'a>(
    server: &Server,
    (request, part): (&ResourceRequest, Part),
    reach: Reach<'a>,
) -> Reach<'a> {
    let definition = &request.definition;
    let is_plain = matches!(part, Part::Main | Part::Status)
        && !server.registry.is_converted(definition)
        && !admission::looks_beyond_metadata(definition)
        && !deletion_looks_beyond_metadata(definition);
    match is_plain {
        true => reach,
        false => Reach::Everything,
    }
}

/// What a replacement makes of the stored object. What it leaves as it is stays text.
fn replacement(
    (request, part): (&ResourceRequest, Part),
    current: &Current,
    (submitted, reach): (&Value, &Reach<'_>),
) -> Result<Change, Status> {
    let mut before = current.outline(reach);
    if part == Part::Scale {
        let next = scale::scaled(&before.object, submitted)?;
        return Ok(Change { before, next });
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
        if part.keeps(&request.definition, name) || before.has_untouched(name, value) {
            continue;
        }
        before.parse(name).expect(SCANNED);
        next.insert(name.clone(), value.clone());
    }
    let next = Value::Object(next);
    Ok(Change { before, next })
}

/// Lets the part of the path change what it may, keeps the rest, and checks the result.
pub(super) fn settle(
    owners: Owners<'_>,
    (request, part): (&ResourceRequest, Part),
    current: &Current,
    Change { before, mut next }: Change,
) -> Result<Next, Status> {
    let definition = &request.definition;
    if let Value::Object(members) = &mut next {
        // Decoding fills in what an object of the kind always has.
        members.retain(|name, _| !before.untouched.iter().any(|(kept, _)| **kept == **name));
    }
    part.keep_the_rest(definition, &before.object, &mut next);
    carry_over(definition, &before.object, &mut next);
    admission::apply_defaults(definition, &mut next);
    let managed_fields = owners.settle_next(&before, &mut next);
    let version = current.revision.to_string();
    metadata_mut(&mut next).insert("resourceVersion".to_owned(), version.into());
    let rules = definition.metadata_rules();
    let mut errors = rules.check_update(&next["metadata"], &before.object["metadata"]);
    errors.extend(admission::judge(definition, &next));
    if !errors.is_empty() {
        let name = request.object_name();
        return Err(Status::invalid(request.group_kind(), name, &errors));
    }
    metadata_mut(&mut next).remove("resourceVersion");
    let is_complete = deletion_is_complete(definition, &next);
    let draft = Draft {
        object: next,
        managed_fields,
        untouched: before.untouched,
    };
    Ok(match is_complete {
        true => Next::Remove(draft),
        false => Next::Put(draft),
    })
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
        None if request.definition.put_without_version == PutWithoutVersion::Refuses => {
            let field = FieldPath::new("metadata").child("resourceVersion");
            let error = FieldError::invalid(&field, 0, "must be specified for an update");
            return Err(Status::invalid(request.group_kind(), name, &[error]));
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

/// Some kinds are created by a PUT; for the others a missing object is an error.
async fn may_create<'a>(
    server: &Server,
    request: &'a ResourceRequest,
) -> Result<Option<Home<'a>>, Status> {
    if request.definition.put_to_missing == PutToMissing::Refuses || request.subresource.is_some() {
        return Err(missing(request));
    }
    admission::find_home(server, request, request.object_name(), Trust::Fresh).await
}

/// The object that a PUT creates, unless it was meant to replace one that is gone.
fn put_to_missing(
    server: &Server,
    request: &ResourceRequest,
    owners: Owners<'_>,
    object: Value,
) -> Result<Next, Status> {
    if submitted::seen_version(&object).is_some() || metadata_text(&object, "uid").is_some() {
        return Err(missing(request));
    }
    let draft = create::prepare(server, request, owners, object);
    create::check(request, &draft.object)?;
    Ok(Next::Put(draft))
}

fn missing(request: &ResourceRequest) -> Status {
    Status::not_found(request.group_resource(), request.object_name())
}
