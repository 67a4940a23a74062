//! What happened, counted. Called by others, calls nobody.
//!
//! Names are kube-apiserver's where the meaning is the same, so that dashboards keep working.
//! Labels come from the registry only: no text that a client chose is ever a label.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use http::{Method, StatusCode};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Metric, Registry},
};

use crate::{
    registry::{Definition, Verb},
    request::ResourceRequest,
    watch_cache::{FeedState, FeedStats},
};

/// The kind a number is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct KindLabels {
    pub group: String,
    pub version: String,
    pub resource: String,
}

/// What a request was for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    verb: &'static str,
    group: String,
    version: String,
    resource: String,
    subresource: String,
    scope: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    verb: &'static str,
    group: String,
    version: String,
    resource: String,
    subresource: String,
    scope: &'static str,
    code: u16,
}

/// All counters of the server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<AnswerLabels, Counter>,
    durations: Family<RequestLabels, Histogram>,
    watches: Family<KindLabels, Gauge>,
    watch_events: Family<KindLabels, Counter>,
    watch_event_bytes: Family<KindLabels, Counter>,
    initial_events: Family<KindLabels, Counter>,
    expired_watches: Family<KindLabels, Counter>,
    returned_objects: Family<KindLabels, Counter>,
    objects: Family<KindLabels, Gauge>,
    unreadable: Family<KindLabels, Gauge>,
    revision: Gauge,
    feed: FeedMetrics,
}

/// Whether the watch cache follows the store. These names are our own.
#[derive(Default)]
struct FeedMetrics {
    following: Gauge,
    stale_seconds: Gauge<f64, AtomicU64>,
    failures: Counter,
    reloads: Counter,
}

impl RequestLabels {
    /// The labels of a request. Unknown methods and parts share one value.
    pub(crate) fn new(request: &ResourceRequest, verb: Option<Verb>, method: &Method) -> Self {
        let definition = &request.definition;
        let part = request.subresource.as_deref().filter(|part| {
            definition
                .subresources
                .iter()
                .any(|served| *served.name == **part)
        });
        Self {
            verb: verb.map_or_else(|| other_method(method), metric_verb),
            group: definition.group.to_string(),
            version: definition.version.to_string(),
            resource: definition.resource.to_string(),
            subresource: part.unwrap_or_default().to_owned(),
            scope: match (&request.name, &request.namespace) {
                (Some(_), _) => "resource",
                (None, Some(_)) => "namespace",
                (None, None) => "cluster",
            },
        }
    }
}

impl KindLabels {
    pub(crate) fn new(definition: &Definition) -> Self {
        Self {
            group: definition.group.to_string(),
            version: definition.version.to_string(),
            resource: definition.resource.to_string(),
        }
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let durations = Family::new_with_constructor(duration_histogram as fn() -> Histogram);
        let mut metrics = Self {
            registry: Registry::default(),
            requests: Family::default(),
            durations,
            watches: Family::default(),
            watch_events: Family::default(),
            watch_event_bytes: Family::default(),
            initial_events: Family::default(),
            expired_watches: Family::default(),
            returned_objects: Family::default(),
            objects: Family::default(),
            unreadable: Family::default(),
            revision: Gauge::default(),
            feed: FeedMetrics::default(),
        };
        metrics.register();
        metrics.feed.register(&mut metrics.registry);
        metrics
    }

    fn register(&mut self) {
        let all = &mut self.registry;
        add(
            all,
            "apiserver_request",
            "Requests answered",
            &self.requests,
        );
        let help = "Time to the head of the answer";
        add(
            all,
            "apiserver_request_duration_seconds",
            help,
            &self.durations,
        );
        add(
            all,
            "apiserver_longrunning_requests",
            "Open watches",
            &self.watches,
        );
        add(
            all,
            "apiserver_watch_events",
            "Events sent",
            &self.watch_events,
        );
        let help = "Bytes of events sent";
        add(
            all,
            "apiserver_watch_events_bytes",
            help,
            &self.watch_event_bytes,
        );
        let help = "Events sent for what existed when a watch began";
        add(all, "apiserver_init_events", help, &self.initial_events);
        let help = "Watches ended because history had moved on";
        add(
            all,
            "apiserver_terminated_watchers",
            help,
            &self.expired_watches,
        );
        let help = "Objects returned by lists";
        add(
            all,
            "apiserver_cache_list_returned_objects",
            help,
            &self.returned_objects,
        );
        add(
            all,
            "apiserver_resource_objects",
            "Objects stored",
            &self.objects,
        );
        let help = "Values stored that cannot be decoded, and are left out";
        add(all, "listwatch_unreadable_objects", help, &self.unreadable);
        let help = "The newest resourceVersion that the watch cache has seen";
        add(
            all,
            "apiserver_watch_cache_resource_version",
            help,
            &self.revision,
        );
    }

    /// A request got its answer, or the head of it.
    pub(crate) fn answered(&self, labels: &RequestLabels, code: StatusCode, took: Duration) {
        self.durations
            .get_or_create(labels)
            .observe(took.as_secs_f64());
        let labels = labels.clone();
        let answer = AnswerLabels {
            verb: labels.verb,
            group: labels.group,
            version: labels.version,
            resource: labels.resource,
            subresource: labels.subresource,
            scope: labels.scope,
            code: code.as_u16(),
        };
        self.requests.get_or_create(&answer).inc();
    }

    /// The counters of one open watch, found once and kept by it.
    pub(crate) fn watch(&self, labels: &KindLabels) -> WatchMetrics {
        let open = self.watches.get_or_create_owned(labels);
        open.inc();
        WatchMetrics {
            open,
            events: self.watch_events.get_or_create_owned(labels),
            bytes: self.watch_event_bytes.get_or_create_owned(labels),
            initial: self.initial_events.get_or_create_owned(labels),
            expired: self.expired_watches.get_or_create_owned(labels),
        }
    }

    /// Counts the objects that lists of a kind return.
    pub(crate) fn listed(&self, labels: &KindLabels) -> Counter {
        self.returned_objects.get_or_create_owned(labels)
    }

    /// How many objects of a kind there are now.
    pub(crate) fn count_objects(&self, labels: &KindLabels, objects: usize) {
        self.objects
            .get_or_create(labels)
            .set(i64::try_from(objects).unwrap_or(i64::MAX));
    }

    /// How many values of a kind cannot be decoded now.
    pub(crate) fn count_unreadable(&self, labels: &KindLabels, values: usize) {
        self.unreadable
            .get_or_create(labels)
            .set(i64::try_from(values).unwrap_or(i64::MAX));
    }

    /// How far the watch cache is.
    pub(crate) fn reached(&self, revision: u64) {
        self.revision
            .set(i64::try_from(revision).unwrap_or(i64::MAX));
    }

    /// How the watch cache follows the store.
    pub(crate) fn fed(&self, stats: &FeedStats) {
        let (following, stale_seconds) = match &stats.state {
            FeedState::Following => (1, 0.0),
            FeedState::Loading => (0, 0.0),
            FeedState::Stale { since, .. } => (0, since.elapsed().as_secs_f64()),
        };
        self.feed.following.set(following);
        self.feed.stale_seconds.set(stale_seconds);
        let failures = self.feed.failures.inner();
        failures.store(stats.failures, Ordering::Relaxed);
        let reloads = self.feed.reloads.inner();
        reloads.store(stats.reloads, Ordering::Relaxed);
    }

    /// All numbers as text.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string cannot fail");
        text
    }
}

impl FeedMetrics {
    fn register(&self, all: &mut Registry) {
        let help = "1 while the watch cache follows the store, else 0";
        add(
            all,
            "listwatch_watch_cache_following",
            help,
            &self.following,
        );
        let help = "How long the watch cache has not followed the store";
        let name = "listwatch_watch_cache_stale_seconds";
        add(all, name, help, &self.stale_seconds);
        let help = "Times the watch cache tried to follow the store and could not";
        let name = "listwatch_watch_cache_follow_failures";
        add(all, name, help, &self.failures);
        let help = "Times everything was read anew, since the store had forgotten what was missed";
        add(all, "listwatch_watch_cache_reloads", help, &self.reloads);
    }
}

fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: &M) {
    registry.register(name, help, metric.clone());
}

/// The counters of one open watch; the watch counts as open until this is dropped.
pub(crate) struct WatchMetrics {
    open: Gauge,
    events: Counter,
    bytes: Counter,
    initial: Counter,
    expired: Counter,
}

impl WatchMetrics {
    /// Events were sent.
    pub(crate) fn sent(&self, events: u64, bytes: u64) {
        self.events.inc_by(events);
        self.bytes.inc_by(bytes);
    }

    /// Some of the events sent told of what existed before.
    pub(crate) fn initial(&self, events: u64) {
        self.initial.inc_by(events);
    }

    /// The watch ended because it needed what is forgotten.
    pub(crate) fn expired(&self) {
        self.expired.inc();
    }
}

impl Drop for WatchMetrics {
    fn drop(&mut self) {
        self.open.dec();
    }
}

fn duration_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.000_5, 2.0, 17))
}

fn metric_verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "POST",
        Verb::Delete => "DELETE",
        Verb::DeleteCollection => "DELETECOLLECTION",
        Verb::Get => "GET",
        Verb::List => "LIST",
        Verb::Patch => "PATCH",
        Verb::Update => "PUT",
        Verb::Watch => "WATCH",
    }
}

fn other_method(method: &Method) -> &'static str {
    match *method {
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
