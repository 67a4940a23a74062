//! Everybody who is to be asked about writes, as their configurations say at the moment.
//!
//! Read from the watch cache when one of the configurations has changed. While there is none, a
//! write pays for a look at their counters.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use serde_json::Value;

use super::{
    chain::{Chain, Interceptor, Matched},
    matching::Subject,
    policies::Policy,
    request::Asked,
    webhooks::Webhook,
};
use crate::{
    commit::parse,
    registry::{Definition, Registry},
    watch_cache::{Area, Interest, KindCache, WatchCaches},
};

const GROUP: &str = "admissionregistration.k8s.io";

/// The kinds that say who is to be asked.
const KINDS: [&str; 6] = [
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// Everybody who is to be asked about writes.
pub(crate) struct Interceptors {
    sources: [KindCache; KINDS.len()],
    quotas: KindCache,
    compiled: ArcSwap<Compiled>,
    compiling: Mutex<()>,
}

#[derive(Default)]
struct Compiled {
    /// How many changes of each kind are in it.
    changes: [u64; KINDS.len()],
    mutating: Vec<Interceptor>,
    validating: Vec<Interceptor>,
}

/// Whether writes to this kind change who is asked.
pub(crate) fn configures(definition: &Definition) -> bool {
    &*definition.group == GROUP
}

impl Interceptors {
    pub(crate) fn new(registry: &Registry, caches: &WatchCaches) -> Self {
        let cache = |group: &str, resource: &str| {
            let definition = registry.find(group, "v1", resource);
            let definition = definition.expect("what configures admission is built in");
            let cache = caches.kind(&definition.storage_prefix);
            cache.expect("every stored kind has a cache")
        };
        Self {
            sources: KINDS.map(|resource| cache(GROUP, resource)),
            quotas: cache("", "resourcequotas"),
            compiled: ArcSwap::default(),
            compiling: Mutex::new(()),
        }
    }

    /// The quotas of all namespaces.
    pub(super) fn quotas(&self) -> &KindCache {
        &self.quotas
    }

    /// Those who are to be asked about a request; `None` if nobody is.
    pub(crate) fn chain<'a>(
        &self,
        asked: impl FnOnce() -> Asked<'a>,
        definition: &Definition,
    ) -> Option<Chain<'a>> {
        let compiled = self.current();
        // Those who configure admission could otherwise not repair it.
        if compiled.is_empty() || configures(definition) {
            return None;
        }
        let asked = asked();
        let mutating = matched(&compiled.mutating, &asked);
        let validating = matched(&compiled.validating, &asked);
        let is_nobody = mutating.is_empty() && validating.is_empty();
        (!is_nobody).then(|| Chain::new(asked, mutating, validating))
    }

    fn current(&self) -> arc_swap::Guard<Arc<Compiled>> {
        let changes = self.changes();
        let known = self.compiled.load();
        if known.changes == changes {
            return known;
        }
        let _one_at_a_time = self.compiling.lock();
        if self.compiled.load().changes != self.changes() {
            self.compiled.store(Arc::new(self.compile()));
        }
        self.compiled.load()
    }

    fn changes(&self) -> [u64; KINDS.len()] {
        std::array::from_fn(|place| self.sources[place].events_applied())
    }

    fn compile(&self) -> Compiled {
        // Counted first: what comes in between is found again by the next look.
        let changes = self.changes();
        let [
            webhooks_that_change,
            webhooks,
            changing,
            changing_bindings,
            policies,
            bindings,
        ] = std::array::from_fn(|place| objects(&self.sources[place]));
        let mutating = read_policies(&changing, &changing_bindings);
        let validating = read_policies(&policies, &bindings);
        Compiled {
            changes,
            mutating: mutating
                .chain(read_webhooks(&webhooks_that_change))
                .collect(),
            validating: validating.chain(read_webhooks(&webhooks)).collect(),
        }
    }
}

fn read_webhooks(configurations: &[Value]) -> impl Iterator<Item = Interceptor> {
    let listed = configurations.iter().flat_map(|configuration| {
        let listed = configuration["webhooks"].as_array();
        listed.into_iter().flatten()
    });
    listed.map(|webhook| Interceptor::Webhook(Webhook::read(webhook)))
}

/// The policies that are in force anywhere.
fn read_policies(policies: &[Value], bindings: &[Value]) -> impl Iterator<Item = Interceptor> {
    let read = policies.iter().map(|policy| Policy::read(policy, bindings));
    let bound = read.filter(|policy| !policy.bindings.is_empty());
    bound.map(Interceptor::Policy)
}

impl Compiled {
    fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }
}

/// All objects of a kind, by name.
fn objects(cache: &KindCache) -> Vec<Value> {
    let snapshot = cache.latest();
    let everything = Interest::everything_in(Area::Everywhere);
    let selected = snapshot.select(&everything, &[]);
    selected
        .map(|object| parse(object.stored().value()))
        .collect()
}

fn matched(interceptors: &[Interceptor], asked: &Asked<'_>) -> Vec<Matched> {
    let definition = &asked.request.definition;
    let subject = Subject {
        definition,
        subresource: asked.subresource(),
        operation: asked.operation,
        name: &asked.name,
    };
    let served = asked.server.registry.versions(definition);
    let versions = || served.iter().map(|version| &**version);
    let found = interceptors.iter().filter_map(|interceptor| {
        let version = interceptor.constraints().version(subject, versions())?;
        let version = served.iter().find(|one| std::ptr::eq(&***one, version));
        Some(Matched {
            interceptor: interceptor.clone(),
            version: Arc::clone(version.unwrap_or(definition)),
        })
    });
    found.collect()
}
