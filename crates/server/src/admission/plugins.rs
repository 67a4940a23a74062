//! What the cluster's other objects demand of one that is written: classes that are meant when
//! none is named, limits of its namespace, and protection of what is in use.

mod classes;
mod limits;
mod pods;

use std::sync::Arc;

use jiff::Timestamp;
use listwatch_api::{Status, object::Outline, timestamp};
use serde_json::{Value, json};

use super::matching::Operation;
use crate::{
    commit::{metadata_mut, metadata_text, object_key, parse},
    registry::Definition,
    request::ResourceRequest,
    server::Server,
    settings::PodAccounts,
    watch_cache::{Area, Interest, KindCache},
};

/// A write, and the cluster in which it happens.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) server: &'a Server,
    pub(crate) request: &'a ResourceRequest,
    pub(crate) operation: Operation,
}

impl Surroundings<'_> {
    /// Waits for what the object needs and the cluster is about to have.
    pub(crate) async fn settle(self, object: &Value) -> Result<(), Status> {
        let definition = &self.request.definition;
        let is_pod = definition.group.is_empty() && &*definition.resource == "pods";
        if is_pod && self.server.settings.pod_accounts == PodAccounts::Mounted {
            return Box::pin(pods::await_account(self, object)).await;
        }
        Ok(())
    }

    /// Gives a new object what it gets from the cluster.
    pub(crate) fn complete(self, object: &mut Value) -> Result<(), Status> {
        let definition = &self.request.definition;
        match (&*definition.group, &*definition.resource) {
            ("", "pods") => {
                limits::fill_pod(self, object);
                pods::give_account(self, object)?;
                pods::give_priority(self, object)?;
                pods::give_overhead(self, object)?;
            }
            ("", "persistentvolumeclaims") => {
                classes::give_storage_class(self, object);
                protect(object, "kubernetes.io/pvc-protection");
            }
            ("", "persistentvolumes") => protect(object, "kubernetes.io/pv-protection"),
            ("networking.k8s.io", "ingresses") => classes::give_ingress_class(self, object),
            _ => {}
        }
        Ok(())
    }

    /// Refuses an object that the cluster has no room for.
    pub(crate) fn check(self, before: Option<&Value>, object: &Value) -> Result<(), Status> {
        let definition = &self.request.definition;
        match (&*definition.group, &*definition.resource, self.operation) {
            ("", "pods", Operation::Create) => {
                limits::check_pod(self, object)?;
                pods::check_overhead(self, object)
            }
            ("", "persistentvolumeclaims", Operation::Create | Operation::Update) => {
                limits::check_claim(self, object)?;
                before.map_or(Ok(()), |before| classes::check_growth(self, before, object))
            }
            ("scheduling.k8s.io", "priorityclasses", Operation::Create | Operation::Update) => {
                pods::check_only_default(self, object)
            }
            _ => Ok(()),
        }
    }

    fn forbidden(self, object: &Value, why: &str) -> Status {
        let name = metadata_text(object, "name").or(metadata_text(object, "generateName"));
        let name = name.unwrap_or("Unknown");
        Status::forbidden(self.request.group_resource(), name, why)
    }

    fn kind(self, group: &str, resource: &str) -> (Arc<Definition>, KindCache) {
        let definition = self.server.registry.find(group, "v1", resource);
        let definition = definition.expect("the kind is built in");
        let cache = self.server.cache(&definition);
        let cache = cache.expect("every stored kind has a cache");
        (definition, cache)
    }

    /// The object of a kind with this name, if the cluster has it.
    fn find(self, (group, resource): (&str, &str), name: &str) -> Option<Value> {
        let (definition, cache) = self.kind(group, resource);
        let cached = cache.cached(&object_key(&definition, None, name))?;
        Some(parse(cached.stored().value()))
    }

    /// The object of a kind with this name in the namespace of the request, if there is one.
    fn neighbour(self, (group, resource): (&str, &str), name: &str) -> Option<Value> {
        let (definition, cache) = self.kind(group, resource);
        let key = object_key(&definition, self.request.namespace.as_deref(), name);
        let cached = cache.cached(&key)?;
        Some(parse(cached.stored().value()))
    }

    /// The objects of a cluster-wide kind.
    fn all(self, group: &str, resource: &str) -> Vec<Value> {
        let (_, cache) = self.kind(group, resource);
        select(&cache, Area::Everywhere)
    }

    /// The objects of a kind in the namespace of the request.
    fn neighbours(self, group: &str, resource: &str) -> Vec<Value> {
        let Some(namespace) = &self.request.namespace else {
            return Vec::new();
        };
        let (_, cache) = self.kind(group, resource);
        select(&cache, Area::Namespace(namespace.as_str().into()))
    }
}

/// Whether a change had left out what the cluster gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restored {
    Nothing,
    Something,
}

/// Gives a changed object back what it has from the cluster and the change leaves out.
pub(crate) fn restore(definition: &Definition, before: &Value, next: &mut Value) -> Restored {
    match (&*definition.group, &*definition.resource) {
        ("", "pods") => pods::restore(before, next),
        _ => Restored::Nothing,
    }
}

/// Whether an update that states this much of a member asks for nothing but what is stored. What
/// the cluster gave an object stays with it though an update leaves it out, and changes nobody's
/// ownership unless somebody has made it their own.
pub(crate) fn asks_for_what_is_stored(
    definition: &Definition,
    before: &Outline,
    (member, stated): (&str, &Value),
) -> bool {
    match (&*definition.group, &*definition.resource, member) {
        ("", "pods", "spec") => {
            let owners = before.managed_fields.as_deref().unwrap_or_default();
            before.has_untouched_but_for(member, stated, |part, text| {
                pods::is_kept(part, text) && !is_owned(owners, part)
            })
        }
        _ => before.has_untouched(member, stated),
    }
}

/// Whether somebody may own a field of this name, wherever in the object it is.
fn is_owned(owners: &[u8], field: &str) -> bool {
    let owners = std::str::from_utf8(owners).unwrap_or_default();
    owners.contains(&format!("\"f:{field}\""))
}

/// The objects of a kind in an area, as the cache has them.
pub(crate) fn select(cache: &KindCache, area: Area) -> Vec<Value> {
    let snapshot = cache.latest();
    if snapshot.is_empty() {
        return Vec::new();
    }
    let interest = Interest::everything_in(area);
    let selected = snapshot.select(&interest, &[]);
    selected
        .map(|object| parse(object.stored().value()))
        .collect()
}

/// Notes when something came into the phase or condition that it is in, unless somebody else does.
pub(crate) fn note_phase(
    definition: &Definition,
    before: Option<&Value>,
    object: &mut Value,
    now: Timestamp,
) {
    match (&*definition.group, &*definition.resource) {
        ("", "persistentvolumes") => note_volume_phase(before, object, now),
        ("apiregistration.k8s.io", "apiservices") if before.is_none() => {
            let conditions = object.pointer_mut("/status/conditions");
            let conditions = conditions.and_then(Value::as_array_mut);
            for condition in conditions.into_iter().flatten() {
                condition["lastTransitionTime"] = json!(timestamp::format_seconds(now));
            }
        }
        _ => {}
    }
}

fn note_volume_phase(before: Option<&Value>, object: &mut Value, now: Timestamp) {
    const SINCE: &str = "lastPhaseTransitionTime";
    if !object["status"].is_object() {
        return;
    }
    let earlier = before.map_or(&Value::Null, |before| &before["status"]);
    let is_new = earlier["phase"] != object["status"]["phase"];
    let is_noted = object["status"]
        .get(SINCE)
        .is_some_and(|since| *since != earlier[SINCE]);
    if is_new && !is_noted {
        object["status"][SINCE] = json!(timestamp::format_seconds(now));
    }
}

/// Keeps an object until nobody uses it any more.
fn protect(object: &mut Value, finalizer: &str) {
    let finalizers = metadata_mut(object)
        .entry("finalizers")
        .or_insert_with(|| json!([]));
    if let Value::Array(listed) = finalizers
        && !listed.contains(&json!(finalizer))
    {
        listed.push(json!(finalizer));
    }
}
