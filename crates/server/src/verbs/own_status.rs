//! What the server itself writes into the status of an object.

use listwatch_api::{Status, patch::Reach, write_options::WriteOptions};
use serde_json::Value;

use super::{
    part::Part,
    writer::{Change, WhenMissing, Writer},
};
use crate::{
    commit::{Changed, Current, FieldTracker, NO_VIEWS, Owners, Persistence},
    request::ResourceRequest,
    server::Server,
};

/// Changes the status of an object in the name of `manager`, and its metadata with it. `change`
/// makes the next state of the present one, or says why there is none.
pub(crate) async fn change_status(
    server: &Server,
    (request, manager): (&ResourceRequest, &str),
    mut change: impl FnMut(&Current) -> Result<Value, Status>,
) -> Result<Changed, Status> {
    let name = request.object_name();
    let destination = server.destination(request, name, Persistence::Durable)?;
    let tracker = FieldTracker {
        registry: &server.registry,
        definition: &request.definition,
        subresource: request.subresource.as_deref(),
        manager: manager.to_owned(),
        now: server.settings.clock.now(),
        views: &NO_VIEWS,
    };
    let options = WriteOptions::default();
    let part = (request, Part::Status);
    let mut writer = Writer::new(server, part, WhenMissing::Refused, &options);
    let changing = |current: &Current| {
        Ok(Change {
            before: current.outline(&Reach::Everything),
            next: change(current)?,
            owners: Owners::Changers(&tracker),
            is_filled: false,
        })
    };
    let missing = || Err(Status::not_found(request.group_resource(), name));
    writer.write(&destination, changing, missing).await
}
