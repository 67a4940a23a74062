//! The one task that serves what the definitions say.
//!
//! It looks at all of them and acts on what changed since it looked last, so that it does not
//! matter how often it is woken, or whether it missed something.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
    time::Duration,
};

use listwatch_api::{Status, timestamp};
use listwatch_store::Revision;
use serde_json::Value;

use super::{
    NotWritten, Progress, cleanup, definition_of_definitions, layout,
    names::{self, Taken},
};
use crate::{
    commit::{metadata_text, parse},
    lifecycle::DrainSignal,
    registry::{CustomKind, CustomKinds, Definition},
    server::{Server, StartError},
    verbs,
    watch_cache::{Area, CacheError, Interest, KindCache, Snapshot},
};

/// Bytes of definitions that are told at a time; they are looked up anyway.
const NEWS_BYTES_MAX: usize = 64 * 1024;
/// How long after a failure it is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// How often all definitions are looked at again because some of them changed. Names that became
/// free are given in the second round.
const ROUNDS_MAX: usize = 8;

/// Serves what the definitions say.
pub(super) struct Follower {
    definition: Arc<Definition>,
    definitions: KindCache,
    known: BTreeMap<Box<str>, Known>,
    /// The definitions whose objects are being deleted, by uid.
    cleaning: BTreeSet<Box<str>>,
}

/// A definition as it was when it was looked at.
struct Known {
    revision: Revision,
    uid: Box<str>,
    group: Box<str>,
    resource: Box<str>,
    accepted_names: Value,
    names: Names,
}

/// Whether a definition has all the names that it wants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Accepted,
    Wanting,
}

/// Whether everything was done that there was to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// It was.
    Done,
    /// Names have become free, or a newer state is on its way.
    Again,
    /// Something is to be tried again.
    Failed,
}

/// Follows the definitions until the server goes.
pub(super) async fn run(
    mut follower: Follower,
    (server, progress): (Weak<Server>, Arc<Progress>),
    mut drain: DrainSignal,
) {
    let everything = Interest::everything_in(Area::Everywhere);
    let served = *progress.served.borrow();
    let mut watcher = follower.definitions.watch(&everything, served);
    loop {
        // The server is not held while there is nothing to do, so that it can go.
        let is_asked = tokio::select! {
            biased;
            () = drain.draining() => return,
            () = progress.wanted.notified() => true,
            news = watcher.next(NEWS_BYTES_MAX) => {
                if news.is_err() {
                    // What was missed is found by looking.
                    let present = follower.definitions.latest().revision();
                    watcher = follower.definitions.watch(&everything, present);
                }
                false
            }
        };
        let Some(server) = server.upgrade() else {
            return;
        };
        let snapshot = match is_asked {
            true => follower.definitions.fresh().await,
            false => Ok(follower.definitions.latest()),
        };
        let round = match snapshot {
            Ok(snapshot) => follower.reconcile(&server, &snapshot).await,
            Err(_) => Round::Failed,
        };
        if round == Round::Failed {
            drop(server);
            tokio::time::sleep(RETRY_PAUSE).await;
            progress.wanted.notify_one();
        }
    }
}

impl Follower {
    pub(super) fn new(server: &Server) -> Result<Self, StartError> {
        let definition = definition_of_definitions(&server.registry);
        let definitions = server.cache(&definition);
        let definitions = definitions.map_err(|status| StartError::Store(status.message))?;
        Ok(Self {
            definition,
            definitions,
            known: BTreeMap::new(),
            cleaning: BTreeSet::new(),
        })
    }

    /// The cache of the definitions.
    pub(super) fn definitions(&self) -> &KindCache {
        &self.definitions
    }

    /// Serves what the definitions say in this moment.
    pub(super) async fn reconcile(&mut self, server: &Arc<Server>, snapshot: &Snapshot) -> Round {
        let mut kinds = CustomKinds::clone(&server.registry.custom());
        let gone = self.forget_missing(snapshot, &mut kinds);
        let mut round = Round::Again;
        for _ in 0..ROUNDS_MAX {
            round = self.look(server, snapshot, &mut kinds).await;
            if round != Round::Again {
                break;
            }
        }
        server.registry.replace_custom(kinds);
        for prefix in gone {
            // Nobody finds the kind any more; its watches end now.
            let _ = server.caches.remove(&prefix).await;
        }
        if round != Round::Failed {
            let reached = snapshot.revision();
            server.custom.served.send_if_modified(|served| {
                let moves = reached > *served;
                *served = reached.max(*served);
                moves
            });
        }
        round
    }

    /// Forgets definitions that are gone, and tells where their objects were.
    fn forget_missing(&mut self, snapshot: &Snapshot, kinds: &mut CustomKinds) -> Vec<Box<str>> {
        let is_there = |name: &str| snapshot.get(None, name).is_some();
        let missing = self.known.keys().filter(|name| !is_there(name));
        let missing: Vec<Box<str>> = missing.cloned().collect();
        let mut prefixes = Vec::new();
        for name in missing {
            let Some(known) = self.known.remove(&name) else {
                continue;
            };
            if let Some(kind) = kinds.kind(&known.group, &known.resource) {
                prefixes.push(kind.storage_prefix.clone());
            }
            kinds.remove(&known.group, &known.resource);
            self.cleaning.remove(&known.uid);
            self.reconsider(&known.group);
        }
        prefixes
    }

    /// Looks again at the definitions of a group that want a name which may be free now.
    fn reconsider(&mut self, group: &str) {
        self.known
            .retain(|_, known| known.names == Names::Accepted || *known.group != *group);
    }

    /// Looks at each definition that has changed.
    async fn look(
        &mut self,
        server: &Arc<Server>,
        snapshot: &Snapshot,
        kinds: &mut CustomKinds,
    ) -> Round {
        let mut round = Round::Done;
        let everything = Interest::everything_in(Area::Everywhere);
        let objects: Vec<_> = snapshot.select(&everything, b"").cloned().collect();
        for object in objects {
            let known = self.known.get(object.name());
            if known.is_some_and(|known| known.revision >= object.revision()) {
                continue;
            }
            let definition = parse(object.stored().value());
            if !is_named_after_its_kind(&definition) {
                self.set_aside(object.name(), object.revision());
                continue;
            }
            match self
                .serve(server, (definition, object.revision()), kinds)
                .await
            {
                Ok(freed) => {
                    if let Some(group) = freed {
                        self.reconsider(&group);
                        round = Round::Again;
                    }
                }
                // Its newer state wakes this task again.
                Err(NotWritten::Overtaken) => {}
                Err(NotWritten::Failed(status)) => {
                    let name = object.name();
                    tracing::warn!("{name} is not served: {}", status.message);
                    match status.code {
                        // It breaks the rules, whoever let it in: others are served all the same.
                        Some(422) => self.set_aside(name, object.revision()),
                        _ => round = Round::Failed,
                    }
                }
            }
        }
        round
    }

    /// Serves one kind. Tells its group if it has left names to others.
    async fn serve(
        &mut self,
        server: &Arc<Server>,
        (mut definition, mut revision): (Value, Revision),
        kinds: &mut CustomKinds,
    ) -> Result<Option<Box<str>>, NotWritten> {
        let now = timestamp::format_seconds(server.settings.clock.now());
        let taken = self.taken_in(definition["spec"]["group"].as_str().unwrap_or_default());
        if let Some(judged) = names::judge(&definition, &taken, &now) {
            let written = self.write_status(server, (judged, revision)).await?;
            (definition, revision) = written;
        }
        let text = |value: &Value| Box::<str>::from(value.as_str().unwrap_or_default());
        let known = Known {
            revision,
            uid: text(&definition["metadata"]["uid"]),
            group: text(&definition["spec"]["group"]),
            resource: text(&definition["spec"]["names"]["plural"]),
            accepted_names: definition["status"]["acceptedNames"].clone(),
            names: match names::is_true(&definition, "NamesAccepted") {
                true => Names::Accepted,
                false => Names::Wanting,
            },
        };
        if names::is_true(&definition, "Established") {
            self.install(server, (&definition, revision), kinds).await?;
        }
        self.begin_cleanup(server, &definition);
        let name = metadata_text(&definition, "name").unwrap_or_default();
        let names = known.accepted_names.clone();
        let group = known.group.clone();
        let earlier = self.known.insert(name.into(), known);
        let left = earlier.is_some_and(|earlier| earlier.accepted_names != names);
        Ok(left.then_some(group))
    }

    /// Leaves a definition alone until it changes.
    fn set_aside(&mut self, name: &str, revision: Revision) {
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        let known = Known {
            revision,
            uid: "".into(),
            group: group.into(),
            resource: resource.into(),
            accepted_names: Value::Null,
            names: Names::Accepted,
        };
        self.known.insert(name.into(), known);
    }

    fn taken_in(&self, group: &str) -> Taken {
        let mut taken = Taken::default();
        for known in self.known.values().filter(|known| *known.group == *group) {
            taken.add(&known.accepted_names);
        }
        taken
    }

    /// Has the objects of a kind cached, and puts it among those that are served.
    async fn install(
        &self,
        server: &Arc<Server>,
        (definition, revision): (&Value, Revision),
        kinds: &mut CustomKinds,
    ) -> Result<(), NotWritten> {
        let text = |value: &Value| Box::<str>::from(value.as_str().unwrap_or_default());
        let group = text(&definition["spec"]["group"]);
        let resource = text(&definition["spec"]["names"]["plural"]);
        let earlier = kinds.kind(&group, &resource).cloned();
        let scale = server.registry.type_of("autoscaling/v1", "Scale");
        let kind = match CustomKind::read(definition, revision, (earlier.as_deref(), scale)) {
            Ok(kind) => kind,
            Err(error) => {
                tracing::warn!("{resource}.{group} is not served: {error}");
                return Ok(());
            }
        };
        let is_laid_out_anew = earlier.is_some_and(|earlier| {
            earlier.selectable_fields().ne(kind.selectable_fields())
                || earlier.scope != kind.scope
                || earlier.webhook().is_some() != kind.webhook().is_some()
        });
        let prefix = &kind.storage_prefix;
        if is_laid_out_anew {
            // What can be selected by was found when the objects were read: they are read anew.
            // Whoever watches began with objects that needed no webhook, or did, and begins anew.
            server.caches.remove(prefix).await.map_err(failed)?;
        }
        if server.caches.kind(prefix).is_none() {
            let layout = layout(&server.registry, &kind);
            match server.caches.add(layout).await {
                Ok(_) => {}
                Err(error @ CacheError::Overlapping { .. }) => {
                    tracing::warn!("{resource}.{group} is not served: {error}");
                    return Ok(());
                }
                Err(error) => return Err(failed(error)),
            }
        }
        kinds.insert(kind);
        Ok(())
    }

    /// Writes the status that a definition should have, unless somebody has changed it since.
    async fn write_status(
        &self,
        server: &Server,
        (judged, revision): (Value, Revision),
    ) -> Result<(Value, Revision), NotWritten> {
        let name = metadata_text(&judged, "name").unwrap_or_default();
        let request =
            super::own_request(Arc::clone(&self.definition), (None, name), Some("status"));
        let mut is_overtaken = false;
        let changed = verbs::change_status(server, (&request, super::MANAGER), |current| {
            is_overtaken = current.revision != revision;
            match is_overtaken {
                true => Err(Status::modified_meanwhile(request.group_resource(), name)),
                false => Ok(judged.clone()),
            }
        });
        match changed.await {
            _ if is_overtaken => Err(NotWritten::Overtaken),
            Ok(changed) => {
                let revision = changed.revision.unwrap_or(revision);
                Ok((changed.parse(), revision))
            }
            Err(status) if status.code == Some(404) => Err(NotWritten::Overtaken),
            Err(status) => Err(NotWritten::Failed(status)),
        }
    }

    /// Deletes the objects of a kind whose definition is being deleted.
    fn begin_cleanup(&mut self, server: &Arc<Server>, definition: &Value) {
        let Some(cleanup) = cleanup::Cleanup::of(definition) else {
            return;
        };
        if self.cleaning.insert(cleanup.uid.clone()) {
            tokio::spawn(cleanup.run(
                Arc::clone(&self.definition),
                Arc::downgrade(server),
                server.lifecycle.drain_signal(),
            ));
        }
    }
}

/// Whether a definition is named as every definition must be. What others stored under another
/// name defines nothing.
fn is_named_after_its_kind(definition: &Value) -> bool {
    let spec = &definition["spec"];
    let (plural, group) = (spec["names"]["plural"].as_str(), spec["group"].as_str());
    let name = metadata_text(definition, "name").unwrap_or_default();
    name.split_once('.') == plural.zip(group)
}

fn failed(error: CacheError) -> NotWritten {
    NotWritten::Failed(error.into())
}
