//! Content lives in namespaces that exist and are not being deleted.

use listwatch_api::{GroupResource, Status};
use listwatch_store::{KeyRange, Read};
use serde::{Deserialize, de::IgnoredAny};

use crate::{request::ResourceRequest, server::Server};

const NAMESPACES: GroupResource<'static> = GroupResource::new("", "namespaces");

/// Namespaces that nobody may delete, because clients and the server itself count on them.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Where namespaces are stored.
const STORAGE_PREFIX: &str = "/registry/namespaces/";

/// Refuses an object whose namespace is missing or going away.
///
/// Asks the store itself: whoever has deleted a namespace may count on it.
pub(crate) async fn namespace_accepts(
    server: &Server,
    request: &ResourceRequest,
    object_name: &str,
) -> Result<(), Status> {
    let Some(namespace) = &request.namespace else {
        return Ok(());
    };
    let key = format!("{STORAGE_PREFIX}{namespace}");
    let read = server.store.read(Read::newest(KeyRange::single(key)));
    let page = read
        .await
        .map_err(|error| Status::service_unavailable(error.to_string()))?;
    let Some(entry) = page.entries.first() else {
        return Err(Status::not_found(NAMESPACES, namespace));
    };
    if is_terminating(&entry.value) {
        let resource = request.group_resource();
        return Err(Status::namespace_terminating(
            resource,
            object_name,
            namespace,
        ));
    }
    Ok(())
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

fn is_terminating(namespace: &[u8]) -> bool {
    serde_json::from_slice::<Namespace>(namespace)
        .is_ok_and(|namespace| namespace.metadata.deletion_timestamp.is_some())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_goes_away_once_it_is_marked() {
        assert!(!is_terminating(br#"{"metadata":{"name":"a"}}"#));
        let marked = br#"{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}"#;
        assert!(is_terminating(marked));
    }
}
