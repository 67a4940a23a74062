//! What the server itself writes into the status of an object.

use listwatch_api::{Status, patch::Reach};
use serde_json::Value;

use super::{
    part::Part,
    update::{Change, settle},
};
use crate::{
    commit::{Changed, Current, FieldTracker, Next, Owners, Persistence},
    request::ResourceRequest,
    server::Server,
};

/// Changes the status of an object in the name of `manager`, and its metadata with it. What
/// `change` makes nothing of stays as it is.
pub(crate) async fn change_status(
    server: &Server,
    (request, manager): (&ResourceRequest, &str),
    mut change: impl FnMut(&Current) -> Option<Value>,
) -> Result<Changed, Status> {
    let name = request.object_name();
    let destination = server.destination(request, name, Persistence::Durable)?;
    let tracker = FieldTracker {
        registry: &server.registry,
        definition: &request.definition,
        subresource: request.subresource.as_deref(),
        manager: manager.to_owned(),
        now: server.settings.clock.now(),
    };
    let changed = server.committer.change(&destination, |stored| {
        let missing = || Status::not_found(request.group_resource(), name);
        let current = stored.object(missing)?;
        let Some(next) = change(current) else {
            return Ok(Next::Keep);
        };
        let before = current.outline(&Reach::Everything);
        let change = Change { before, next };
        settle(
            Owners::Changers(&tracker),
            (request, Part::Status),
            current,
            change,
        )
    });
    changed.await
}
