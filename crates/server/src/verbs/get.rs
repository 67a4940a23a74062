//! GET of one object.

use std::sync::Arc;

use http::{Response, StatusCode};
use listwatch_api::{Status, list_options::GetOptions};

use super::{list::moment, part::Part};
use crate::{
    request::ResourceRequest,
    response::{self, Body},
    server::Server,
    watch_cache::resource_version,
};

/// Reads one object, or the scale of it.
pub(crate) async fn get(
    server: &Arc<Server>,
    request: &ResourceRequest,
) -> Result<Response<Body>, Status> {
    let accept = response::negotiate(server, request)?;
    let options = GetOptions::parse(request.query.typed())?;
    let part = Part::of(request)?;
    let cache = server.cache(&request.definition)?;
    let snapshot = moment(&cache, options.freshness).await?;
    let name = request.object_name();
    let object = snapshot
        .get(request.namespace.as_deref(), name)
        .ok_or_else(|| Status::not_found(request.group_resource(), name))?;
    let version = resource_version(object.revision());
    Ok(accept.object(
        server,
        (part, object.stored()),
        Some(version),
        StatusCode::OK,
    ))
}
