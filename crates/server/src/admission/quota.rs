//! Resource quotas: how much of everything a namespace may have, and has.
//!
//! What an object adds to the usage of its namespace is written down in the commit that writes the
//! object, and taken back in the one that removes it. So two writers never share the last piece.

mod usage;

use std::collections::BTreeSet;

use listwatch_api::{Status, object, quantity::Quantity};
use listwatch_store::{Condition, Key, Operation as StoreOperation, Write};
use serde_json::{Map, Value, json};

use self::usage::{Usage, matches_scopes, missing_requests, usage};
use super::{amounts::written_milli, plugins::select};
use crate::{
    commit::{Current, Next, Persistence, Settled, Stored, metadata_text, object_key, parse},
    registry::Definition,
    request::ResourceRequest,
    server::Server,
    verbs::Part,
    watch_cache::{Area, Interest},
};

/// A write whose object counts.
pub(crate) struct Accounting<'a> {
    pub(crate) server: &'a Server,
    pub(crate) request: &'a ResourceRequest,
    pub(crate) part: Part,
    /// Keys that others have changed, as a try to write them found out.
    pub(crate) taken: &'a BTreeSet<Key>,
}

/// Whether objects of this kind are quotas.
pub(crate) fn is_quota(definition: &Definition) -> bool {
    definition.group.is_empty() && &*definition.resource == "resourcequotas"
}

impl Accounting<'_> {
    /// Whether the namespace of the write has quotas.
    pub(crate) fn is_needed(&self) -> bool {
        let Some(namespace) = self.request.namespace.as_deref() else {
            return false;
        };
        let snapshot = self.server.interceptors.quotas().latest();
        if snapshot.is_empty() || is_quota(&self.request.definition) {
            return false;
        }
        let interest = Interest::everything_in(Area::Namespace(namespace.into()));
        snapshot.select(&interest, &[]).next().is_some()
    }

    /// What the write adds to, or takes from, the usage of its namespace; or why it may not.
    pub(crate) async fn account(
        &self,
        before: Option<&Value>,
        next: Option<&Value>,
    ) -> Result<Vec<StoreOperation>, Status> {
        let mut written = Vec::new();
        if !self.is_needed() {
            return Ok(written);
        }
        let namespace = self.request.namespace.as_deref().unwrap_or_default();
        for name in names(self.server, namespace) {
            if let Some(current) = self.quota(namespace, &name).await? {
                let change = (before, next);
                written.extend(self.account_in(&current, change).await?);
            }
        }
        Ok(written)
    }

    async fn quota(&self, namespace: &str, name: &str) -> Result<Option<Current>, Status> {
        let cache = self.server.interceptors.quotas();
        let definition = self.server.registry.find("", "v1", "resourcequotas");
        let definition = definition.expect("quotas are built in");
        let key = object_key(&definition, Some(namespace), name);
        let cached = match self.taken.contains(&key) {
            false => Current::cached(cache, &key),
            true => None,
        };
        if cached.is_some() {
            return Ok(cached);
        }
        match self.server.committer.read(cache, &key).await? {
            Stored::Object(current) => Ok(Some(current)),
            Stored::Absent | Stored::Unreadable(_) => Ok(None),
        }
    }

    async fn account_in(
        &self,
        current: &Current,
        (before, next): (Option<&Value>, Option<&Value>),
    ) -> Result<Option<StoreOperation>, Status> {
        let mut quota = current.whole();
        let definition = &self.request.definition;
        let counted = |object: Option<&Value>| match object {
            Some(object) if matches_scopes(&quota, definition, object) => usage(definition, object),
            _ => Usage::new(),
        };
        let hard = limits(&quota);
        let (had, has) = (counted(before), counted(next));
        if let (None, Some(pod)) = (before, next) {
            self.require_requests(&quota, &hard, pod)?;
        }
        let mut delta = Usage::new();
        for name in hard.keys() {
            let amount = |usage: &Usage| usage.get(name).copied().unwrap_or_default();
            let difference = amount(&has) - amount(&had);
            if difference != 0 {
                delta.insert(name.clone(), difference);
            }
        }
        if delta.is_empty() {
            return Ok(None);
        }
        let mut used = match quota["status"].get("used") {
            Some(used) => millis(used),
            None => count(self.server, &quota).await?,
        };
        let object = next.or(before).expect("a write is about an object");
        if self.part == Part::Main && next.is_some() {
            self.refuse_too_much(&quota, (&hard, &used, &delta), object)?;
        }
        for (name, difference) in delta {
            let known = used.entry(name).or_default();
            *known = (*known + difference).max(0);
        }
        if quota["status"].get("hard").is_none() {
            quota["status"]["hard"] = quota["spec"]["hard"].clone();
        }
        quota["status"]["used"] = told(&used);
        Ok(Some(StoreOperation {
            key: current.key.clone(),
            condition: Condition::Unchanged(current.revision),
            write: Write::put(object::to_canonical(&quota)),
        }))
    }

    fn refuse_too_much(
        &self,
        quota: &Value,
        (hard, used, delta): (&Usage, &Usage, &Usage),
        object: &Value,
    ) -> Result<(), Status> {
        let known = |name: &String| used.get(name).copied().unwrap_or_default();
        let exceeded: Vec<&String> = delta
            .iter()
            .filter(|(name, more)| **more > 0 && known(name) + **more > hard[*name])
            .map(|(name, _)| name)
            .collect();
        if exceeded.is_empty() {
            return Ok(());
        }
        let listed = |amount: &dyn Fn(&String) -> i128| {
            let each = exceeded
                .iter()
                .map(|name| format!("{name}={}", written_milli(name, amount(name))));
            each.collect::<Vec<_>>().join(",")
        };
        let why = format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            metadata_text(quota, "name").unwrap_or_default(),
            listed(&|name| delta[name]),
            listed(&|name| known(name)),
            listed(&|name| hard[name]),
        );
        Err(self.forbidden(object, &why))
    }

    /// Where processors and memory are limited, every container says what it needs.
    fn require_requests(&self, quota: &Value, hard: &Usage, pod: &Value) -> Result<(), Status> {
        let definition = &self.request.definition;
        if !matches_scopes(quota, definition, pod) {
            return Ok(());
        }
        let missing = missing_requests(definition, hard, pod);
        if missing.is_empty() {
            return Ok(());
        }
        let name = metadata_text(quota, "name").unwrap_or_default();
        let why = format!("failed quota: {name}: must specify {}", missing.join("; "));
        Err(self.forbidden(pod, &why))
    }

    fn forbidden(&self, object: &Value, why: &str) -> Status {
        let name = metadata_text(object, "name").or(metadata_text(object, "generateName"));
        let resource = self.request.group_resource();
        Status::forbidden(resource, name.unwrap_or("Unknown"), why)
    }
}

fn names(server: &Server, namespace: &str) -> Vec<String> {
    let area = Area::Namespace(namespace.into());
    let found = select(server.interceptors.quotas(), area);
    found
        .iter()
        .filter_map(|quota| metadata_text(quota, "name").map(str::to_owned))
        .collect()
}

fn limits(quota: &Value) -> Usage {
    match quota["status"].get("hard") {
        Some(hard) => millis(hard),
        None => millis(&quota["spec"]["hard"]),
    }
}

fn millis(amounts: &Value) -> Usage {
    let listed = amounts.as_object().into_iter().flatten();
    let read = listed.filter_map(|(name, amount)| {
        let text = match amount {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some((name.clone(), Quantity::parse(&text).ok()?.milli()))
    });
    read.collect()
}

fn told(usage: &Usage) -> Value {
    let told: Map<String, Value> = usage
        .iter()
        .map(|(name, milli)| (name.clone(), json!(written_milli(name, *milli))))
        .collect();
    Value::Object(told)
}

/// How much of what a quota limits its namespace has.
async fn count(server: &Server, quota: &Value) -> Result<Usage, Status> {
    let hard = millis(&quota["spec"]["hard"]);
    let namespace = metadata_text(quota, "namespace").unwrap_or_default();
    let mut used: Usage = hard.keys().map(|name| (name.clone(), 0)).collect();
    let kinds: BTreeSet<(String, String)> = hard.keys().map(|name| usage::kind_of(name)).collect();
    for (group, resource) in kinds {
        let version = usage::version_of(server, &group, &resource);
        let Some(definition) = version else {
            continue;
        };
        let cache = server.cache(&definition)?;
        let fresh = cache.fresh().await;
        let snapshot = fresh.map_err(|error| Status::service_unavailable(error.to_string()))?;
        let interest = Interest::everything_in(Area::Namespace(namespace.into()));
        for object in snapshot.select(&interest, &[]) {
            let object = parse(object.stored().value());
            if !matches_scopes(quota, &definition, &object) {
                continue;
            }
            for (name, amount) in usage(&definition, &object) {
                if let Some(known) = used.get_mut(&name) {
                    *known += amount;
                }
            }
        }
    }
    Ok(used)
}

/// Writes down what a new or changed quota limits, and how much of that there is.
pub(crate) async fn observe(server: &Server, request: &ResourceRequest, name: &str) {
    if let Err(status) = try_observe(server, request, name).await {
        tracing::warn!("a quota could not be counted: {}", status.message);
    }
}

async fn try_observe(server: &Server, request: &ResourceRequest, name: &str) -> Result<(), Status> {
    let destination = server.destination(request, name, Persistence::Durable)?;
    let mut writing = server.committer.begin(&destination).await?;
    loop {
        let Stored::Object(current) = writing.stored() else {
            return Ok(());
        };
        let mut quota = current.whole();
        let used = count(server, &quota).await?;
        quota["status"] = json!({"hard": quota["spec"]["hard"], "used": told(&used)});
        let proposal = Ok(Next::Put(quota.into()).into());
        if let Settled::Done(_) = writing.settle(None, proposal).await? {
            return Ok(());
        }
    }
}
