//! Content lives in namespaces that exist and are not being deleted.

use listwatch_api::{GroupResource, Status};

use crate::{
    commit::{metadata_text, object_key},
    request::ResourceRequest,
    server::Server,
};

const NAMESPACES: GroupResource<'static> = GroupResource::new("", "namespaces");

/// Namespaces that nobody may delete, because clients and the server itself count on them.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Refuses an object whose namespace is missing or going away.
///
/// Asks the store itself: whoever has created or deleted a namespace, through whichever server, may
/// count on it.
pub(crate) async fn namespace_accepts(
    server: &Server,
    request: &ResourceRequest,
    object_name: &str,
) -> Result<(), Status> {
    let Some(namespace) = &request.namespace else {
        return Ok(());
    };
    let definition = server
        .registry
        .find(NAMESPACES.group, "v1", NAMESPACES.resource)
        .expect("namespaces are built in");
    let cache = server.cache(&definition)?;
    let key = object_key(&definition, None, namespace);
    let stored = server.committer.read(&cache, &key).await?;
    let found = stored.object(|| Status::not_found(NAMESPACES, namespace))?;
    if metadata_text(&found.object, "deletionTimestamp").is_some() {
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
