//! What only a kubelet could answer: logs, commands, ports. None runs here, and that is said.

use std::sync::Arc;

use http::{Response, StatusCode};
use listwatch_api::{Status, list_options::Freshness};

use super::{get::missing, list::moment};
use crate::{
    commit::parse,
    request::ResourceRequest,
    response::{self, Body},
    server::Server,
};

/// Whether a request is for what runs in a pod, on a node, or behind a service.
pub(crate) fn needs_kubelet(request: &ResourceRequest) -> bool {
    let Some(part) = request.subresource.as_deref() else {
        return false;
    };
    ["attach", "exec", "log", "portforward", "proxy"].contains(&part)
}

/// What Kubernetes says before it asks a kubelet, and from there on why nobody is asked.
pub(crate) async fn without_kubelet(
    server: &Arc<Server>,
    request: &ResourceRequest,
) -> Result<Response<Body>, Status> {
    let cache = server.cache(&request.definition)?;
    let snapshot = moment(&cache, Freshness::MostRecent).await?;
    let name = request.object_name();
    let object = snapshot
        .get(request.namespace.as_deref(), name)
        .ok_or_else(|| missing(request, &cache))?;
    let object = parse(object.stored().value());
    let node = object["spec"]["nodeName"].as_str().unwrap_or_default();
    let part = request.subresource.as_deref().unwrap_or_default();
    match (&*request.definition.resource, part, node) {
        ("services", _, _) => Err(behind_service(server, request)?),
        ("pods", "log", "") => Ok(response::plain_text(StatusCode::OK, "")),
        ("pods", "proxy", "") => Err(Status::bad_request("address not allowed")),
        ("pods", _, "") => {
            let message = format!("pod {name} does not have a host assigned");
            Err(Status::bad_request(message))
        }
        ("pods", part, node) => Err(Status::not_implemented(format!(
            "nothing runs in pod {name:?}, since no kubelet runs on node {node:?}: there is no \
             {part}"
        ))),
        _ => Err(Status::not_implemented(format!(
            "no kubelet runs on node {name:?}: there is no {part}"
        ))),
    }
}

/// Why nobody answers behind a service: it has no pods, or pods that run nothing.
fn behind_service(server: &Server, request: &ResourceRequest) -> Result<Status, Status> {
    let name = request.object_name();
    let endpoints = server.registry.find("", "v1", "endpoints");
    let cache = server.cache(&endpoints.expect("endpoints are built in"))?;
    let snapshot = cache.latest();
    let found = snapshot.get(request.namespace.as_deref(), name);
    let found = found.map(|object| parse(object.stored().value()));
    let has_subsets = found.is_some_and(|object| object["subsets"].get(0).is_some());
    Ok(match has_subsets {
        true => Status::not_implemented(format!(
            "nothing listens behind service {name:?}, since no kubelet runs its pods"
        )),
        false => {
            let message = format!("no endpoints available for service {name:?}");
            Status::service_unavailable(message)
        }
    })
}
