//! The end of a custom kind: its objects go, each as its own finalizers allow, then its definition.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use listwatch_api::{Status, timestamp, write_options::DeleteOptions};
use serde_json::Value;

use super::{
    CLEANUP_FINALIZER, MANAGER,
    names::{self, Condition},
    own_request,
};
use crate::{
    commit::{metadata_mut, metadata_text},
    lifecycle::DrainSignal,
    registry::Definition,
    server::Server,
    verbs,
    watch_cache::{Area, Interest, KindCache},
};

/// How long after a failure it is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Bytes of objects that are told at a time, of which none is looked at.
const NEWS_BYTES_MAX: usize = 64 * 1024;

const PENDING: Condition<'static> = Condition {
    name: "Terminating",
    status: "True",
    reason: "InstanceDeletionPending",
    message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin \
              soon",
};
const IN_PROGRESS: Condition<'static> = Condition {
    reason: "InstanceDeletionInProgress",
    message: "CustomResource deletion is in progress",
    ..PENDING
};
const COMPLETED: Condition<'static> = Condition {
    status: "False",
    reason: "InstanceDeletionCompleted",
    message: "removed all instances",
    ..PENDING
};
const NEVER_ESTABLISHED: Condition<'static> = Condition {
    reason: "NeverEstablished",
    message: "resource was never established",
    ..COMPLETED
};

/// A definition that goes, with everything that it defined.
pub(super) struct Cleanup {
    name: Box<str>,
    pub(super) uid: Box<str>,
    group: Box<str>,
    resource: Box<str>,
}

/// Keeps a definition that somebody wants deleted until its objects are gone.
pub(crate) fn hold(definition: &mut Value, now: &str) {
    let finalizers = metadata_mut(definition)
        .entry("finalizers")
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|it| it == CLEANUP_FINALIZER)
    {
        finalizers.push(CLEANUP_FINALIZER.into());
    }
    names::set(definition, PENDING, now);
}

impl Cleanup {
    /// What there is to clean up; `None` unless the definition is being deleted and waits for it.
    pub(super) fn of(definition: &Value) -> Option<Self> {
        metadata_text(definition, "deletionTimestamp")?;
        let finalizers = definition["metadata"]["finalizers"].as_array()?;
        finalizers.iter().find(|it| *it == CLEANUP_FINALIZER)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().into();
        Some(Self {
            name: text(&definition["metadata"]["name"]),
            uid: text(&definition["metadata"]["uid"]),
            group: text(&definition["spec"]["group"]),
            resource: text(&definition["spec"]["names"]["plural"]),
        })
    }

    /// Cleans up, as long as it takes.
    pub(super) async fn run(
        self,
        definition: Arc<Definition>,
        server: Weak<Server>,
        mut drain: DrainSignal,
    ) {
        loop {
            let cleaned = tokio::select! {
                biased;
                () = drain.draining() => return,
                cleaned = self.clean(&server, &definition) => cleaned,
            };
            match cleaned {
                Ok(()) => return,
                Err(status) => {
                    let name = &self.name;
                    tracing::warn!("{name} is not cleaned up yet: {}", status.message);
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    async fn clean(
        &self,
        server: &Weak<Server>,
        definition: &Arc<Definition>,
    ) -> Result<(), Status> {
        let upgrade = || server.upgrade().ok_or_else(gone);
        let remaining = self.begin(&*upgrade()?, definition).await?;
        let last = match remaining {
            // The server is not held meanwhile, so that it can go.
            Some(cache) => {
                wait_until_empty(&cache).await?;
                COMPLETED
            }
            None => NEVER_ESTABLISHED,
        };
        self.tell(&*upgrade()?, definition, last).await
    }

    /// Deletes every object, and tells where to see when none is left.
    async fn begin(
        &self,
        server: &Server,
        definition: &Arc<Definition>,
    ) -> Result<Option<KindCache>, Status> {
        self.tell(server, definition, IN_PROGRESS).await?;
        let kinds = server.registry.custom();
        let Some(kind) = kinds.kind(&self.group, &self.resource) else {
            return Ok(None);
        };
        let kind = &kind.stored;
        let cache = server.cache(kind)?;
        let everything = Interest::everything_in(Area::Everywhere);
        let snapshot = cache.fresh().await?;
        for object in snapshot.select(&everything, b"") {
            let place = (object.namespace(), object.name());
            let request = own_request(Arc::clone(kind), place, None);
            let options = DeleteOptions::default();
            let removed = verbs::remove(server, &request, object.name(), &options);
            match removed.await {
                Err(status) if status.code != Some(404) => return Err(status),
                _ => {}
            }
        }
        Ok(Some(cache))
    }

    /// Writes down how far it is. With the last word the definition is let go.
    async fn tell(
        &self,
        server: &Server,
        definition: &Arc<Definition>,
        condition: Condition<'_>,
    ) -> Result<(), Status> {
        let now = timestamp::format_seconds(server.settings.clock.now());
        let request = own_request(Arc::clone(definition), (None, &self.name), Some("status"));
        let changed = verbs::change_status(server, (&request, MANAGER), |current| {
            let mut next = current.whole();
            if metadata_text(&next, "uid") != Some(&*self.uid) {
                return Err(Status::not_found(request.group_resource(), &self.name));
            }
            names::set(&mut next, condition, &now);
            if condition.status == COMPLETED.status {
                let_go(&mut next);
            }
            Ok(next)
        });
        match changed.await {
            Err(status) if status.code != Some(404) => Err(status),
            _ => Ok(()),
        }
    }
}

fn let_go(definition: &mut Value) {
    let finalizers = metadata_mut(definition).get_mut("finalizers");
    if let Some(Value::Array(finalizers)) = finalizers {
        finalizers.retain(|it| it != CLEANUP_FINALIZER);
    }
}

fn gone() -> Status {
    Status::service_unavailable("the server is gone")
}

async fn wait_until_empty(cache: &KindCache) -> Result<(), Status> {
    let mut snapshot = cache.fresh().await?;
    let everything = Interest::everything_in(Area::Everywhere);
    let mut watcher = cache.watch(&everything, snapshot.revision());
    while !snapshot.is_empty() {
        if watcher.next(NEWS_BYTES_MAX).await.is_err() {
            return Err(Status::service_unavailable(
                "its objects cannot be followed",
            ));
        }
        snapshot = cache.latest();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_is_held_until_it_is_let_go() {
        let mut definition = json!({"metadata": {"name": "n", "finalizers": ["other"]}});
        hold(&mut definition, "now");
        hold(&mut definition, "later");
        let finalizers = json!(["other", CLEANUP_FINALIZER]);
        assert_eq!(definition["metadata"]["finalizers"], finalizers);
        assert!(names::is_true(&definition, "Terminating"));
        assert!(Cleanup::of(&definition).is_none());
        definition["metadata"]["deletionTimestamp"] = json!("now");
        assert!(Cleanup::of(&definition).is_some());
        let_go(&mut definition);
        assert!(Cleanup::of(&definition).is_none());
    }
}
