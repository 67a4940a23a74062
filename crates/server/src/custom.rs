//! Custom kinds as they come and go.
//!
//! One task follows the CustomResourceDefinitions, whoever wrote them through whichever server:
//! it accepts their names, has their objects cached, and serves what they say. Whoever changes a
//! definition here is answered when that has happened.

mod cleanup;
mod conversion;
mod decode;
mod follower;
mod names;

pub(crate) use cleanup::hold;
pub(crate) use conversion::{Conversions, Unconverted};
pub(crate) use decode::decode;

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use listwatch_api::Status;
use listwatch_kinds::Rules;
use listwatch_store::Revision;
use listwatch_structural::definition::{
    check_definition, check_definition_change, check_status, default_definition,
    note_storage_version, warn_new,
};
use serde_json::Value;
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};

use crate::{
    commit::metadata_text,
    registry::{CustomKind, Definition, Life, Persistence, Registry, Scope, ValueReader},
    request::{PathForm, Query, ResourceRequest},
    server::{Server, StartError},
    watch_cache::KindLayout,
};

use self::follower::{Follower, Round};

const GROUP: &str = "apiextensions.k8s.io";
const RESOURCE: &str = "customresourcedefinitions";
/// The finalizer that keeps a definition until none of its objects is left.
pub(crate) const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
/// In whose name the server writes the status of definitions.
const MANAGER: &str = "listwatch";

/// What is demanded of the definitions.
pub(crate) const DEFINITION_RULES: Rules = Rules {
    default: complete,
    check_new: check_definition,
    check_change: |change| check_definition_change(change.next, change.before),
    check_status: |change| check_status(change.next),
    warn: warn_new,
    ..Rules::NONE
};

/// How long whoever wrote a definition waits at the most until it is served. Then they are
/// answered all the same: it is stored, and will be served.
const SERVED_PATIENCE: Duration = Duration::from_secs(10);

/// How far the definitions are served.
#[derive(Debug)]
pub(crate) struct Progress {
    wanted: Notify,
    served: watch::Sender<Revision>,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            wanted: Notify::new(),
            served: watch::Sender::new(Revision::ZERO),
        }
    }
}

impl Progress {
    /// Changes after other kinds are served than before.
    pub(crate) fn served(&self) -> watch::Receiver<Revision> {
        self.served.subscribe()
    }

    /// Waits until every definition that is stored now is served as it says.
    async fn reach_present(&self, server: &Server) {
        let Ok(newest) = server.caches.newest_revision(SERVED_PATIENCE).await else {
            return;
        };
        let mut served = self.served.subscribe();
        self.wanted.notify_one();
        // The sender lives as long as the server that is borrowed here.
        let _ = served.wait_for(|served| *served >= newest).await;
    }
}

/// Serves the kinds that are defined already, and from then on those that come.
pub(crate) async fn start(server: &Arc<Server>) -> Result<(), StartError> {
    let mut follower = Follower::new(server)?;
    let snapshot = follower.definitions().fresh().await;
    let snapshot = snapshot.map_err(|error| StartError::Store(error.to_string()))?;
    if follower.reconcile(server, &snapshot).await == Round::Failed {
        server.custom.wanted.notify_one();
    }
    tokio::spawn(follower::run(
        follower,
        (Arc::downgrade(server), Arc::clone(&server.custom)),
        server.lifecycle.drain_signal(),
    ));
    Ok(())
}

/// Whether a kind is that of the definitions of other kinds.
pub(crate) fn is_definition(definition: &Definition) -> bool {
    &*definition.group == GROUP && &*definition.resource == RESOURCE
}

/// Fills in what a definition leaves out.
fn complete(definition: &mut Value) {
    if let Some(status) = definition.get_mut("status").and_then(Value::as_object_mut) {
        // Where nothing was stored yet, the list is there and says nothing.
        status.retain(|name, value| name != "storedVersions" || !value.is_null());
    }
    default_definition(definition);
    note_storage_version(definition);
}

/// Refuses a new object of a kind that is on its way out.
pub(crate) fn refuse_new(request: &ResourceRequest, object: &Value) -> Result<(), Status> {
    let custom = request.definition.custom.as_ref();
    match custom.map(|custom| custom.life) {
        Some(Life::Terminating) => {
            let name = metadata_text(object, "name").unwrap_or_default();
            let why = "create not allowed while custom resource definition is terminating";
            Err(Status::forbidden(request.group_resource(), name, why))
        }
        Some(Life::Serving) | None => Ok(()),
    }
}

/// Waits, after a write to a definition, until it is served as it says.
pub(crate) async fn settle(server: &Server) {
    let reached = server.custom.reach_present(server);
    if timeout(SERVED_PATIENCE, reached).await.is_err() {
        tracing::warn!("a definition is stored and not served yet");
    }
}

/// A request of the server's own, about one object.
pub(crate) fn own_request(
    definition: Arc<Definition>,
    (namespace, name): (Option<&str>, &str),
    subresource: Option<&str>,
) -> ResourceRequest {
    debug_assert!(definition.persistence == Persistence::Stored);
    ResourceRequest {
        namespace: namespace
            .filter(|_| definition.scope == Scope::Namespaced)
            .map(str::to_owned),
        definition,
        name: Some(name.to_owned()),
        subresource: subresource.map(str::to_owned),
        form: PathForm::Plain,
        query: Query::default(),
        headers: HeaderMap::new(),
        client: std::net::Ipv4Addr::LOCALHOST.into(),
    }
}

/// The kind of the definitions.
fn definition_of_definitions(registry: &Registry) -> Arc<Definition> {
    registry
        .find(GROUP, "v1", RESOURCE)
        .expect("the definitions of custom kinds are built in")
}

/// Why the definition of a kind could not be changed by the server itself.
#[derive(Debug)]
enum NotWritten {
    /// Somebody else changed or deleted it; there is a newer state to begin with.
    Overtaken,
    /// It may be tried again.
    Failed(Status),
}

/// What the cache needs to know of a custom kind.
fn layout(registry: &Arc<Registry>, kind: &CustomKind) -> KindLayout {
    let layout = KindLayout::new(
        kind.storage_prefix.clone(),
        kind.scope,
        kind.selectable_fields(),
    );
    layout.with_reader(ValueReader::of_custom(registry, kind))
}
