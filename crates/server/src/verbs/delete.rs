//! DELETE: an object goes, or is marked, and its finalizers and grace period decide when.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use listwatch_api::{
    GroupKind, GroupResource, Status, StatusDetails,
    write_options::{DeleteOptions, Preconditions, Propagation},
};

use super::{part::Part, submitted};
use crate::{
    admission,
    commit::{Changed, Current, Deletion, Next, Outcome, decide_deletion, metadata_text},
    registry::DeletionAnswer,
    request::ResourceRequest,
    response::{self, Body},
    server::Server,
};

/// Deletes one object.
pub(crate) async fn delete(
    server: &Arc<Server>,
    request: &ResourceRequest,
    body: Bytes,
) -> Result<Response<Body>, Status> {
    let accept = response::negotiate(server, request)?;
    let options = submitted::delete_options(server, request, &body)?;
    let deleted = remove(server, request, request.object_name(), &options).await?;
    match deleted.outcome {
        Outcome::Removed if request.definition.deletion_answer == DeletionAnswer::Status => {
            Ok(accept.status(&removed_status(request, &deleted)))
        }
        outcome => {
            let code = code(outcome, options.propagation);
            Ok(accept.changed(server, (Part::Main, &deleted), code, &[]))
        }
    }
}

/// The old way to ask for a cascade is the one in which clients hear that it takes time.
fn code(outcome: Outcome, propagation: Propagation) -> StatusCode {
    match (outcome, propagation) {
        (Outcome::Removed, _) => StatusCode::OK,
        (_, Propagation::OrphanDependents(false)) => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    }
}

/// Removes or marks the object with this name.
pub(super) async fn remove(
    server: &Server,
    request: &ResourceRequest,
    name: &str,
    options: &DeleteOptions,
) -> Result<Changed, Status> {
    admission::refuse_to_delete(request, name)?;
    let destination = server.destination(request, name, options.dry_run.into());
    let now = server.settings.clock.now();
    server
        .committer
        .change(&destination, |current| {
            let current =
                current.ok_or_else(|| Status::not_found(request.group_resource(), name))?;
            check_preconditions(request.group_kind(), name, current, &options.preconditions)?;
            Ok(
                match decide_deletion(&request.definition, &current.object, options, now) {
                    Deletion::Remove => Next::Remove(current.object.clone()),
                    Deletion::Mark(next) => Next::Put(next),
                    Deletion::Pending => Next::Keep,
                },
            )
        })
        .await
}

/// Refuses to delete another object, or another state of it, than the client meant.
fn check_preconditions(
    kind: GroupKind<'_>,
    name: &str,
    current: &Current,
    wanted: &Preconditions,
) -> Result<(), Status> {
    // Kubernetes names the kind, not the resource, in this one conflict.
    let subject = GroupResource::new(kind.group, kind.kind);
    let uid = metadata_text(&current.object, "uid").unwrap_or_default();
    if let Some(wanted) = wanted.uid.as_deref().filter(|wanted| *wanted != uid) {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The \
             object might have been deleted and then recreated"
        );
        return Err(Status::conflict(subject, name, &why));
    }
    let version = current.stored.revision.to_string();
    if let Some(wanted) = wanted
        .resource_version
        .as_deref()
        .filter(|it| **it != version)
    {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the \
             ResourceVersion in record ({version}). The object might have been modified"
        );
        return Err(Status::conflict(subject, name, &why));
    }
    Ok(())
}

fn removed_status(request: &ResourceRequest, deleted: &Changed) -> Status {
    let object = deleted.parse();
    Status::success(StatusDetails {
        name: request.object_name().to_owned(),
        group: request.definition.group.to_string(),
        kind: request.definition.resource.to_string(),
        uid: metadata_text(&object, "uid").unwrap_or_default().to_owned(),
        ..StatusDetails::default()
    })
}
