//! APIServices: which groups and versions are served here, told as objects.
//!
//! Those of built-in kinds are there before the first request. One task keeps those of custom kinds
//! as the definitions have them, brings back what somebody deleted, and says of those that name
//! another server that requests are not passed on to it.

mod priorities;

use std::{collections::BTreeMap, sync::Arc};

use listwatch_api::{object::to_canonical, timestamp, write_options::DeleteOptions};
use listwatch_store::{CommitError, Condition, Operation, Revision, Write};
use serde_json::{Value, json};

use self::priorities::Priority;
use crate::{
    commit::{object_key, parse, stamp_new},
    custom::own_request,
    registry::{Definition, Registry},
    server::{Server, StartError},
    settings::Settings,
    upkeep::{self, Upkeep},
    verbs,
    watch_cache::{Area, CachedObject, Interest, KindCache, Snapshot},
};

const GROUP: &str = "apiregistration.k8s.io";
const RESOURCE: &str = "apiservices";
/// The label of those that nobody needs to write by hand.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// Objects that are written in one commit; etcd takes no more than 128 by default.
const COMMIT_OBJECTS_MAX: usize = 64;

/// Who keeps an APIService as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeper {
    /// The server, as long as it has these built-in kinds.
    BuiltIn,
    /// The server, as long as there are definitions of these kinds.
    Definitions,
    /// Whoever made it.
    Somebody,
}

impl Keeper {
    fn of(service: &Value) -> Self {
        match service["metadata"]["labels"][MANAGED].as_str() {
            Some("onstart") => Self::BuiltIn,
            Some("true") => Self::Definitions,
            _ => Self::Somebody,
        }
    }

    fn label(self) -> Option<&'static str> {
        match self {
            Self::BuiltIn => Some("onstart"),
            Self::Definitions => Some("true"),
            Self::Somebody => None,
        }
    }
}

/// A group and version that is served here.
struct Served {
    group: Box<str>,
    version: Box<str>,
    priority: Priority,
    keeper: Keeper,
}

impl Served {
    fn spec(&self) -> Value {
        let mut spec = json!({
            "version": self.version,
            "groupPriorityMinimum": self.priority.group,
            "versionPriority": self.priority.version,
        });
        if !self.group.is_empty() {
            spec["group"] = json!(self.group);
        }
        spec
    }

    fn object(&self, now: &str) -> Value {
        let (version, group) = (&self.version, &self.group);
        let mut service = json!({
            "kind": "APIService",
            "apiVersion": "apiregistration.k8s.io/v1",
            "metadata": {"name": format!("{version}.{group}")},
            "spec": self.spec(),
        });
        if let Some(label) = self.keeper.label() {
            service["metadata"]["labels"] = json!({MANAGED: label});
        }
        tell_availability(&mut service, now);
        service
    }
}

/// The APIServices of the built-in kinds.
pub(crate) fn built_in(registry: &Registry, settings: &Settings) -> Vec<Value> {
    let now = timestamp::format_seconds(settings.clock.now());
    let served = built_in_versions(registry);
    served.values().map(|served| served.object(&now)).collect()
}

/// Keeps the APIServices as they should be until the server goes.
pub(crate) fn start(server: &Arc<Server>) -> Result<(), StartError> {
    let definition = definition(&server.registry);
    upkeep::start(server, &Arc::clone(&definition), |objects| ApiServices {
        definition,
        objects,
        known: BTreeMap::new(),
    })
}

/// The kind of the APIServices.
pub(crate) fn definition(registry: &Registry) -> Arc<Definition> {
    registry
        .find(GROUP, "v1", RESOURCE)
        .expect("APIServices are built in")
}

fn built_in_versions(registry: &Registry) -> BTreeMap<String, Served> {
    let mut served = BTreeMap::new();
    for definition in registry.definitions() {
        let Some(priority) = priorities::of(&definition.group, &definition.version) else {
            continue;
        };
        add(&mut served, definition, (priority, Keeper::BuiltIn));
    }
    served
}

fn versions(registry: &Registry) -> BTreeMap<String, Served> {
    let mut served = built_in_versions(registry);
    for kind in registry.custom().iter() {
        for definition in &kind.versions {
            let how = (priorities::CUSTOM, Keeper::Definitions);
            add(&mut served, definition, how);
        }
    }
    served
}

fn add(
    served: &mut BTreeMap<String, Served>,
    definition: &Definition,
    (priority, keeper): (Priority, Keeper),
) {
    let (group, version) = (&definition.group, &definition.version);
    served
        .entry(format!("{version}.{group}"))
        .or_insert_with(|| Served {
            group: group.clone(),
            version: version.clone(),
            priority,
            keeper,
        });
}

struct ApiServices {
    definition: Arc<Definition>,
    objects: KindCache,
    known: BTreeMap<Box<str>, (Revision, Keeper)>,
}

impl Upkeep for ApiServices {
    const WHAT: &'static str = "APIServices";

    async fn mend(&mut self, server: &Server) -> Result<(), String> {
        let snapshot = self.objects.latest();
        let wanted = versions(&server.registry);
        let everything = Interest::everything_in(Area::Everywhere);
        let objects: Vec<_> = snapshot.select(&everything, b"").cloned().collect();
        let now = timestamp::format_seconds(server.settings.clock.now());
        let mut operations = self.missing(server, &snapshot, &wanted);
        let mut gone = Vec::new();
        for object in &objects {
            let served = wanted.get(object.name());
            operations.extend(self.mended(object, served, &now));
            let known = self.known.get(object.name());
            let is_theirs = known.is_some_and(|(_, keeper)| *keeper == Keeper::Definitions);
            if is_theirs && served.is_none() {
                gone.push(object.name());
            }
        }
        self.known
            .retain(|name, _| snapshot.get(None, name).is_some());
        self.write(server, operations).await?;
        for name in gone {
            self.remove(server, name).await?;
        }
        Ok(())
    }
}

impl ApiServices {
    fn missing(
        &self,
        server: &Server,
        snapshot: &Snapshot,
        wanted: &BTreeMap<String, Served>,
    ) -> Vec<Operation> {
        let settings = &server.settings;
        let now = timestamp::format_seconds(settings.clock.now());
        let absent = wanted.iter();
        let absent = absent.filter(|(name, _)| snapshot.get(None, name).is_none());
        let created = absent.map(|(name, served)| {
            let mut service = served.object(&now);
            let given = (&settings.clock, &settings.random);
            stamp_new(&self.definition, &mut service, None, given);
            Operation {
                key: object_key(&self.definition, None, name),
                condition: Condition::Absent,
                write: Write::put(to_canonical(&service)),
            }
        });
        created.collect()
    }

    /// What is to be written so that an object is as it should be. Each state is looked at once.
    fn mended(
        &mut self,
        object: &CachedObject,
        served: Option<&Served>,
        now: &str,
    ) -> Option<Operation> {
        let (name, revision) = (object.name(), object.revision());
        if self
            .known
            .get(name)
            .is_some_and(|(known, _)| *known == revision)
        {
            return None;
        }
        let service = parse(object.stored().value());
        let keeper = Keeper::of(&service);
        self.known.insert(name.into(), (revision, keeper));
        let mut next = service.clone();
        if let (Keeper::Definitions, Some(served)) = (keeper, served) {
            next["spec"] = served.spec();
        }
        tell_availability(&mut next, now);
        (next != service).then(|| Operation {
            key: object.key().clone(),
            condition: Condition::Unchanged(revision),
            write: Write::put(to_canonical(&next)),
        })
    }

    /// Writes what nobody else has written meanwhile; whoever did is looked at when it is known.
    async fn write(&self, server: &Server, operations: Vec<Operation>) -> Result<(), String> {
        for operations in operations.chunks(COMMIT_OBJECTS_MAX) {
            let mut operations = operations.to_vec();
            while !operations.is_empty() {
                match server.committer.commit(operations.clone()).await {
                    Ok(revision) => {
                        let seen = self.objects.at_least(revision).await;
                        seen.map_err(|error| error.to_string())?;
                        break;
                    }
                    Err(CommitError::Conflict { key, .. }) => {
                        operations.retain(|operation| operation.key != key);
                    }
                    Err(error) => return Err(error.to_string()),
                }
            }
        }
        Ok(())
    }

    async fn remove(&self, server: &Server, name: &str) -> Result<(), String> {
        let request = own_request(Arc::clone(&self.definition), (None, name), None);
        let options = DeleteOptions::default();
        match verbs::remove(server, &request, name, &options).await {
            Err(status) if status.code != Some(404) => Err(status.message),
            _ => Ok(()),
        }
    }
}

/// Says whether what an APIService stands for is to be had here. What another server on the same
/// store has found out about a service stays.
fn tell_availability(service: &mut Value, now: &str) {
    let is_local = service["spec"]["service"].is_null();
    let conditions = service["status"]["conditions"].as_array();
    let conditions = conditions.map_or(&[][..], Vec::as_slice);
    let is_told = |condition: &&Value| condition["type"] == "Available";
    let known = conditions.iter().find(is_told);
    if known.is_some_and(|known| (known["reason"] == "Local") == is_local) {
        return;
    }
    let (status, reason, message) = match is_local {
        true => ("True", "Local", "Local APIServices are always available"),
        false => (
            "False",
            "NotAggregated",
            "requests are not passed on to other servers",
        ),
    };
    let since = known.filter(|known| known["status"] == status);
    let since = since.map_or(json!(now), |known| known["lastTransitionTime"].clone());
    let condition = json!({
        "type": "Available",
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    });
    let others = conditions.iter().filter(|condition| !is_told(condition));
    let conditions: Vec<Value> = others.cloned().chain([condition]).collect();
    service["status"] = json!({"conditions": conditions});
}
