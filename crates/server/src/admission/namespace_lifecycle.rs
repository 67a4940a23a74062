//! Content lives in namespaces that exist and are not being deleted.

use listwatch_api::{GroupResource, Status};
use serde::{Deserialize, de::IgnoredAny};

use crate::{request::ResourceRequest, server::Server, watch_cache::Snapshot};

const NAMESPACES: GroupResource<'static> = GroupResource::new("", "namespaces");

/// Namespaces that nobody may delete, because clients and the server itself count on them.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Whether a namespace can take a new object.
#[derive(Debug, PartialEq, Eq)]
enum NamespaceState {
    Active,
    Terminating,
    Missing,
}

/// Refuses an object whose namespace is missing or going away.
pub(crate) async fn namespace_accepts(
    server: &Server,
    request: &ResourceRequest,
    object_name: &str,
) -> Result<(), Status> {
    let Some(namespace) = &request.namespace else {
        return Ok(());
    };
    let cache = server.namespaces();
    let mut state = state_of(&cache.latest(), namespace);
    if state == NamespaceState::Missing {
        // It may have been created a moment ago; only the newest state can say that it was not.
        state = state_of(&cache.fresh().await.map_err(Status::from)?, namespace);
    }
    match state {
        NamespaceState::Active => Ok(()),
        NamespaceState::Missing => Err(Status::not_found(NAMESPACES, namespace)),
        NamespaceState::Terminating => Err(Status::namespace_terminating(
            request.group_resource(),
            object_name,
            namespace,
        )),
    }
}

/// Refuses to delete a namespace that every cluster must have.
pub(crate) fn refuse_to_delete(request: &ResourceRequest, name: &str) -> Result<(), Status> {
    let resource = request.group_resource();
    if resource == NAMESPACES && IMMORTAL.contains(&name) {
        let why = "this namespace may not be deleted";
        return Err(Status::forbidden(resource, name, why));
    }
    Ok(())
}

fn state_of(namespaces: &Snapshot, name: &str) -> NamespaceState {
    let Some(found) = namespaces.get(None, name) else {
        return NamespaceState::Missing;
    };
    match serde_json::from_slice::<Namespace>(found.stored().value()) {
        Ok(Namespace {
            metadata: Marks {
                deletion_timestamp: Some(_),
            },
        }) => NamespaceState::Terminating,
        Ok(_) | Err(_) => NamespaceState::Active,
    }
}

/// The one thing that matters here of a namespace.
#[derive(Deserialize)]
struct Namespace {
    metadata: Marks,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marks {
    deletion_timestamp: Option<IgnoredAny>,
}
