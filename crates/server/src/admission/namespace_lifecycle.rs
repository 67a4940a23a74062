//! Content lives in namespaces that exist and are not being deleted.

use listwatch_api::{GroupResource, Status};
use listwatch_store::{Entry, Key, Revision};
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    commit::{Stored, Trust, metadata_text, object_key},
    request::ResourceRequest,
    server::Server,
    watch_cache::KindCache,
};

const NAMESPACES: GroupResource<'static> = GroupResource::new("", "namespaces");

/// Namespaces that nobody may delete, because clients and the server itself count on them.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// The namespace that a new object is to live in, as it was when somebody looked.
///
/// Whoever has created or deleted a namespace, through whichever server, may count on it. So
/// nothing is refused on the word of the cache, and what is written on its word is written on the
/// condition that the namespace has not changed since.
pub(crate) struct Home<'a> {
    request: &'a ResourceRequest,
    namespace: &'a str,
    object_name: String,
    namespaces: KindCache,
    key: Key,
    seen: Revision,
    trust: Trust,
}

/// The home of a new object, if its kind has one. Refuses one that is missing or going away.
///
/// Whom only fresh knowledge helps, since no commit will prove the rest, says so.
pub(crate) async fn find_home<'a>(
    server: &Server,
    request: &'a ResourceRequest,
    object_name: &str,
    wanted: Trust,
) -> Result<Option<Home<'a>>, Status> {
    let Some(namespace) = &request.namespace else {
        return Ok(None);
    };
    let definition = server
        .registry
        .find(NAMESPACES.group, "v1", NAMESPACES.resource)
        .expect("namespaces are built in");
    let mut home = Home {
        request,
        namespace,
        object_name: object_name.to_owned(),
        namespaces: server.cache(&definition)?,
        key: object_key(&definition, None, namespace),
        seen: Revision::ZERO,
        trust: Trust::Stale,
    };
    let cached = match wanted {
        Trust::Stale => home.cached(),
        Trust::Fresh => None,
    };
    match cached {
        Some(seen) => home.seen = seen,
        None => home.look(server).await?,
    }
    Ok(Some(home))
}

impl Home<'_> {
    /// Its key.
    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    /// The revision at which it was fit to live in.
    pub(crate) fn seen(&self) -> Revision {
        self.seen
    }

    /// Looks again, unless it was the store that was looked at.
    pub(crate) async fn confirm(&mut self, server: &Server) -> Result<(), Status> {
        match self.trust {
            Trust::Stale => self.look(server).await,
            Trust::Fresh => Ok(()),
        }
    }

    async fn look(&mut self, server: &Server) -> Result<(), Status> {
        let stored = server.committer.read(&self.namespaces, &self.key).await?;
        self.seen = self.judge(&stored)?;
        self.trust = Trust::Fresh;
        Ok(())
    }

    /// Whether it is fit to live in, as the store has it now, and since when it is as it is.
    pub(crate) fn judge_entry(&self, entry: Option<Entry>) -> Result<Revision, Status> {
        self.judge(&Stored::decode(&self.namespaces, entry))
    }

    fn judge(&self, stored: &Stored) -> Result<Revision, Status> {
        let namespace = self.namespace;
        let found = stored.object(|| Status::not_found(NAMESPACES, namespace))?;
        if metadata_text(found.about(), "deletionTimestamp").is_some() {
            let resource = self.request.group_resource();
            return Err(Status::namespace_terminating(
                resource,
                &self.object_name,
                namespace,
            ));
        }
        Ok(found.revision)
    }

    /// The revision that the cache has of it, if that is fit to live in.
    fn cached(&self) -> Option<Revision> {
        let cached = self.namespaces.cached(&self.key)?;
        let Glimpse { metadata } = serde_json::from_slice(cached.stored().value()).ok()?;
        let is_going = metadata.deletion_timestamp.is_some();
        (!is_going).then(|| cached.revision())
    }
}

/// What decides of a namespace, read without the rest.
#[derive(Deserialize)]
struct Glimpse {
    metadata: GlimpsedMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GlimpsedMetadata {
    deletion_timestamp: Option<IgnoredAny>,
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
