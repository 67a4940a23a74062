//! DELETE: an object goes, or is marked, and its finalizers and grace period decide when.

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use listwatch_api::{
    GroupKind, GroupResource, Status, StatusDetails,
    write_options::{DeleteOptions, DryRun, Preconditions, Propagation, PropagationPolicy},
};
use listwatch_store::{Key, Revision};
use serde_json::{Value, json};

use super::{part::Part, submitted, writer::removal};
use crate::{
    admission::{self, Accounting, Asked, Operation},
    commit::{
        Changed, Current, Deletion, Next, Outcome, Proposal, Settled, Stored, decide_deletion,
        metadata_text,
    },
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
        Outcome::Discarded => Ok(accept.status(&removed_status(request, ""))),
        Outcome::Removed if request.definition.deletion_answer == DeletionAnswer::Status => {
            let object = deleted.parse();
            let uid = metadata_text(&object, "uid").unwrap_or_default();
            Ok(accept.status(&removed_status(request, uid)))
        }
        outcome => {
            let code = code(outcome, options.propagation);
            let (conversions, dry_run) = (&server.conversions, options.dry_run);
            let told = conversions.told(request, &accept.format, deleted, dry_run);
            let deleted = told.await?;
            Ok(accept.changed(server, (Part::Main, &deleted), code, &[]))
        }
    }
}

/// The old way to ask for a cascade is the one in which clients hear that it takes time.
fn code(outcome: Outcome, propagation: Propagation) -> StatusCode {
    match (outcome, propagation) {
        (Outcome::Removed | Outcome::Discarded, _) => StatusCode::OK,
        (_, Propagation::OrphanDependents(false)) => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    }
}

/// Removes or marks the object with this name.
pub(crate) async fn remove(
    server: &Server,
    request: &ResourceRequest,
    name: &str,
    options: &DeleteOptions,
) -> Result<Changed, Status> {
    admission::refuse_to_delete(request, name)?;
    let destination = server.destination(request, name, options.dry_run.into())?;
    let now = server.settings.clock.now();
    let mut writing = server.committer.begin(&destination).await?;
    let mut taken = BTreeSet::new();
    loop {
        let proposal = decide(request, name, writing.stored(), (options, now));
        let proposal = match (proposal, writing.stored()) {
            (Ok(proposal), Stored::Object(current)) => {
                match admit(server, (request, name), current, options).await {
                    Ok(()) => release(server, (request, &taken), current, proposal).await,
                    Err(refusal) => Err(refusal),
                }
            }
            (proposal, _) => proposal,
        };
        match writing.settle(None, proposal).await? {
            Settled::Done(changed) => {
                server.take_effect(&request.definition).await?;
                return Ok(changed);
            }
            Settled::Again => {}
            Settled::Elsewhere(key) => drop(taken.insert(key)),
        }
    }
}

/// Takes what goes out of the usage of its namespace.
async fn release(
    server: &Server,
    (request, taken): (&ResourceRequest, &BTreeSet<Key>),
    current: &Current,
    mut proposal: Proposal,
) -> Result<Proposal, Status> {
    let accounting = Accounting {
        server,
        request,
        part: Part::Main,
        taken,
    };
    if matches!(proposal.next, Next::Remove(_)) && accounting.is_needed() {
        let last = current.whole();
        let released = accounting.account(Some(&last), None).await?;
        proposal.alongside.extend(released);
    }
    Ok(proposal)
}

/// Asks everybody who is to be asked about the end of an object.
async fn admit(
    server: &Server,
    (request, name): (&ResourceRequest, &str),
    current: &Current,
    options: &DeleteOptions,
) -> Result<(), Status> {
    let asked = || Asked {
        server,
        request,
        part: Part::Main,
        operation: Operation::Delete,
        name: name.to_owned(),
        options: told_options(options),
        persistence: options.dry_run.into(),
    };
    let Some(mut chain) = server.interceptors.chain(asked, &request.definition) else {
        return Ok(());
    };
    let mut old = current.whole();
    old["metadata"]["resourceVersion"] = json!(current.revision.to_string());
    chain.mutate(None, Some(&old)).await?;
    chain.validate(None, Some(&old)).await
}

fn told_options(options: &DeleteOptions) -> Value {
    let mut told = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"});
    if options.dry_run == DryRun::All {
        told["dryRun"] = json!(["All"]);
    }
    if let Some(seconds) = options.grace_period_seconds {
        told["gracePeriodSeconds"] = json!(seconds);
    }
    let policy = match options.propagation {
        Propagation::Default => return told,
        Propagation::OrphanDependents(orphan) => {
            told["orphanDependents"] = json!(orphan);
            return told;
        }
        Propagation::Policy(PropagationPolicy::Foreground) => "Foreground",
        Propagation::Policy(PropagationPolicy::Background) => "Background",
        Propagation::Policy(PropagationPolicy::Orphan) => "Orphan",
    };
    told["propagationPolicy"] = json!(policy);
    told
}

/// What becomes of what is stored.
fn decide(
    request: &ResourceRequest,
    name: &str,
    stored: &Stored,
    (options, now): (&DeleteOptions, Timestamp),
) -> Result<Proposal, Status> {
    let target = Target {
        kind: request.group_kind(),
        name,
    };
    let current = match stored {
        Stored::Absent => return Err(Status::not_found(request.group_resource(), name)),
        Stored::Unreadable(value) => {
            target.check(None, value.revision, &options.preconditions)?;
            return Ok(Next::Discard.into());
        }
        Stored::Object(current) => current,
    };
    refuse_other(request, current, &options.preconditions)?;
    let object = current.whole();
    let definition = &request.definition;
    Ok(match decide_deletion(definition, &object, options, now) {
        Deletion::Remove => removal(definition, current, current.draft()),
        Deletion::Mark(next) => Next::Put(next.into()).into(),
        Deletion::Pending => Next::Keep.into(),
    })
}

/// Refuses to delete another object, or another state of it, than the client meant.
pub(super) fn refuse_other(
    request: &ResourceRequest,
    current: &Current,
    wanted: &Preconditions,
) -> Result<(), Status> {
    let target = Target {
        kind: request.group_kind(),
        name: request.object_name(),
    };
    let uid = metadata_text(current.about(), "uid").unwrap_or_default();
    target.check(Some(uid), current.revision, wanted)
}

/// What a client wants deleted.
struct Target<'a> {
    kind: GroupKind<'a>,
    name: &'a str,
}

impl Target<'_> {
    /// Refuses to delete another object, or another state of it, than the client meant. The uid of
    /// what cannot be read is never the one that is meant.
    fn check(
        &self,
        uid: Option<&str>,
        revision: Revision,
        wanted: &Preconditions,
    ) -> Result<(), Status> {
        // Kubernetes names the kind, not the resource, in this one conflict.
        let subject = GroupResource::new(self.kind.group, self.kind.kind);
        let conflict = |why: String| Err(Status::conflict(subject, self.name, &why));
        if let Some(wanted) = wanted.uid.as_deref().filter(|wanted| Some(*wanted) != uid) {
            let uid = uid.unwrap_or("unknown: it cannot be decoded");
            return conflict(format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). \
                 The object might have been deleted and then recreated"
            ));
        }
        let version = revision.to_string();
        let wanted = wanted.resource_version.as_deref();
        if let Some(wanted) = wanted.filter(|wanted| *wanted != version) {
            return conflict(format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the \
                 ResourceVersion in record ({version}). The object might have been modified"
            ));
        }
        Ok(())
    }
}

fn removed_status(request: &ResourceRequest, uid: &str) -> Status {
    Status::success(StatusDetails {
        name: request.object_name().to_owned(),
        group: request.definition.group.to_string(),
        kind: request.definition.resource.to_string(),
        uid: uid.to_owned(),
        ..StatusDetails::default()
    })
}
