//! GET of one object.

use std::sync::Arc;

use http::Response;
use listwatch_api::{Status, list_options::GetOptions};

use super::{list::moment, part::Part};
use crate::{
    commit::{object_key, unreadable},
    request::ResourceRequest,
    response::{self, Body},
    server::Server,
    watch_cache::KindCache,
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
        .ok_or_else(|| missing(request, &cache))?;
    if accept.format.awaits_conversion() {
        let object = vec![Arc::clone(object)];
        let shown = server.conversions.objects(&request.definition, object);
        let shown = shown.await?;
        return Ok(accept.state(server, (part, &shown[0])));
    }
    Ok(accept.state(server, (part, object)))
}

/// Why there is no object: the name is free, or what has it cannot be decoded.
pub(super) fn missing(request: &ResourceRequest, cache: &KindCache) -> Status {
    let name = request.object_name();
    let key = object_key(&request.definition, request.namespace.as_deref(), name);
    match cache.unreadable(&key) {
        Some(value) => unreadable(&value),
        None => Status::not_found(request.group_resource(), name),
    }
}
