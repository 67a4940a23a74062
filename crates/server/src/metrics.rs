//! What happened, counted. Called by others, calls nobody.
//!
//! Names are kube-apiserver's where the meaning is the same, so that dashboards keep working.
//! Labels come from the registry only: no text that a client chose is ever a label.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::{Method, StatusCode};
use prometheus_client::{
    encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Metric, Registry},
};

use crate::{
    access::{Occupancy, Refused, RequestKind},
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

/// What a request was for. Made for every request, so nothing is copied into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    verb: &'static str,
    #[prometheus(flatten)]
    target: Target,
    scope: &'static str,
}

/// A kind, or a part of it.
#[derive(Clone, Debug)]
struct Target {
    definition: Arc<Definition>,
    /// The place of the part among those of the kind.
    part: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    #[prometheus(flatten)]
    request: RequestLabels,
    code: u16,
}

/// Whether a request may change something.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RoomLabels {
    request_kind: &'static str,
}

/// Why requests got no place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    request_kind: &'static str,
    reason: &'static str,
}

/// All counters of the server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<AnswerLabels, Counter>,
    durations: Family<RequestLabels, Histogram>,
    in_flight: Family<RoomLabels, Gauge>,
    waiting: Family<RoomLabels, Gauge>,
    refused: Family<RefusalLabels, Counter>,
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
        Self {
            verb: verb.map_or_else(|| other_method(method), metric_verb),
            target: Target::of(request),
            scope: match (&request.name, &request.namespace) {
                (Some(_), _) => "resource",
                (None, Some(_)) => "namespace",
                (None, None) => "cluster",
            },
        }
    }
}

impl Target {
    fn of(request: &ResourceRequest) -> Self {
        let definition = Arc::clone(&request.definition);
        let mut parts = definition.subresources.iter();
        let asked_for = request.subresource.as_deref();
        let part = asked_for.and_then(|name| parts.position(|served| *served.name == *name));
        Self { definition, part }
    }

    fn labels(&self) -> [(&'static str, &str); 4] {
        let Definition {
            group,
            version,
            resource,
            subresources,
            ..
        } = &*self.definition;
        let part = self.part.map_or("", |place| &subresources[place].name);
        [
            ("group", group),
            ("version", version),
            ("resource", resource),
            ("subresource", part),
        ]
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        let is_same = Arc::ptr_eq(&self.definition, &other.definition) && self.part == other.part;
        is_same || self.labels() == other.labels()
    }
}

impl Eq for Target {}

impl Hash for Target {
    /// The name alone tells nearly all kinds apart.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.definition.resource.hash(hasher);
    }
}

impl EncodeLabelSet for Target {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), fmt::Error> {
        self.labels()
            .iter()
            .try_for_each(|label| label.encode(encoder.encode_label()))
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
            in_flight: Family::default(),
            waiting: Family::default(),
            refused: Family::default(),
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
        metrics.register_rooms();
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

    fn register_rooms(&mut self) {
        let all = &mut self.registry;
        let help = "Requests being answered, watches apart";
        let name = "apiserver_current_inflight_requests";
        add(all, name, help, &self.in_flight);
        let help = "Requests that wait to be answered";
        add(
            all,
            "apiserver_current_inqueue_requests",
            help,
            &self.waiting,
        );
        let help = "Requests refused with 429 since too many waited, or for too long";
        let name = "apiserver_flowcontrol_rejected_requests";
        add(all, name, help, &self.refused);
    }

    /// A request got no place among those in flight.
    pub(crate) fn refused(&self, kind: RequestKind, refused: Refused) {
        let labels = RefusalLabels {
            request_kind: request_kind(kind),
            reason: match refused {
                Refused::QueueFull => "queue-full",
                Refused::TimeOut => "time-out",
            },
        };
        self.refused.get_or_create(&labels).inc();
    }

    /// How many requests of a kind there are now.
    pub(crate) fn occupied(&self, kind: RequestKind, occupancy: Occupancy) {
        let labels = RoomLabels {
            request_kind: request_kind(kind),
        };
        let count = |requests| i64::try_from(requests).unwrap_or(i64::MAX);
        let in_flight = count(occupancy.in_flight);
        self.in_flight.get_or_create(&labels).set(in_flight);
        let waiting = count(occupancy.waiting);
        self.waiting.get_or_create(&labels).set(waiting);
    }

    /// A request got its answer, or the head of it.
    pub(crate) fn answered(&self, labels: RequestLabels, code: StatusCode, took: Duration) {
        self.durations
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
        let answer = AnswerLabels {
            request: labels,
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

fn request_kind(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Read => "readOnly",
        RequestKind::Write => "mutating",
    }
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
