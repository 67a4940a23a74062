//! Generated histories: what the cache gives equals what a plain model says.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use listwatch_api::{
    EventType,
    selector::{FieldSelector, LabelSelector},
};
use listwatch_server::{
    random::Random,
    watch_cache::{Area, CacheLimits, Interest, KindCache, WatchCaches, Watcher},
};
use listwatch_store::{Commit, Condition, Key, MemoryStore, Revision, Store, Write};
use proptest::prelude::*;

use super::thing::{THINGS, Thing, layouts};

/// The things by namespace and name, with the revision that wrote them.
type State = BTreeMap<(u8, u8), (Thing, u64)>;

/// A write of one thing; `None` deletes it.
type Action = ((u8, u8), Option<Thing>);

const NAMESPACES: u8 = 3;
const NAMES: u8 = 30;

fn action() -> impl Strategy<Value = Action> {
    let labels = prop::collection::btree_map("app|tier", "[a-f]", 0..3);
    let node = prop::option::of("n[1-9]");
    let phase = prop::option::of("Failed|<Odd>");
    let thing = (labels, node, phase).prop_map(|(labels, node, phase)| Thing {
        labels,
        node,
        phase,
    });
    let written = prop_oneof![4 => thing.prop_map(Some), 1 => Just(None)];
    ((0..NAMESPACES, 0..NAMES), written)
}

fn interest() -> impl Strategy<Value = Interest> {
    let area = prop_oneof![
        4 => Just(Area::Everywhere),
        1 => (0..NAMESPACES).prop_map(|namespace| Area::Namespace(namespace_text(namespace))),
        1 => (0..NAMES).prop_map(|name| Area::Name(name_text(name))),
        1 => (0..NAMESPACES, 0..NAMES).prop_map(|(namespace, name)| {
            Area::NamespaceAndName(namespace_text(namespace), name_text(name))
        }),
    ];
    let labels = prop::sample::select(vec![
        "",
        "app=a",
        "app=zzz",
        "app",
        "!app",
        "app!=a",
        "app in (a,b)",
        "app notin (a,b)",
        "app=a,tier=b",
        "tier,app in (c,d,e)",
        "tier>1",
    ]);
    let fields = prop::sample::select(vec![
        "",
        "",
        "",
        "spec.node=n1",
        "spec.node!=n1",
        "spec.node=",
        "status.phase=<Odd>",
        "status.phase=Failed,spec.node=n2",
        "metadata.name=o7",
        "metadata.namespace=team-1",
        "metadata.name!=o7,metadata.namespace!=team-1",
        "unknown=x",
        "unknown=",
    ]);
    (area, labels, fields).prop_map(|(area, labels, fields)| Interest {
        area,
        labels: LabelSelector::parse(labels).unwrap(),
        fields: FieldSelector::parse(fields).unwrap(),
    })
}

/// An interest, when to begin, and how far in the past.
fn watch() -> impl Strategy<Value = (Interest, prop::sample::Index, usize)> {
    (interest(), any::<prop::sample::Index>(), 0..4_usize)
}

fn limits() -> impl Strategy<Value = CacheLimits> {
    (prop::sample::select(vec![0, 1, 7, 60, 10_000]), 1..20_usize).prop_map(|(events, log)| {
        CacheLimits {
            history_events_max: events,
            group_log_events_max: log,
            ..CacheLimits::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_selection_at_every_revision_equals_the_model(
        actions in prop::collection::vec(action(), 0..250),
        interests in prop::collection::vec(interest(), 1..12),
        limits in limits(),
        start: prop::sample::Index,
    ) {
        on_runtime(async {
            let mut world = World::new(limits).await;
            for action in &actions {
                world.commit(action).await;
            }
            world.settle().await;
            // Backwards, so that states are made from ones made before.
            for revision in (0..world.states.len()).rev() {
                let at = Revision::new(revision as u64);
                let snapshot = world.things.exactly(at).await.unwrap();
                assert_eq!(snapshot.revision(), at);
                let state = &world.states[revision];
                assert_eq!(snapshot.len(), state.len());
                let start = key_of(&(start.index(3) as u8, start.index(30) as u8));
                for interest in &interests {
                    let expected = model_keys(state, interest);
                    assert_eq!(keys(&snapshot, interest, b""), expected, "{interest:?}");
                    let from_start: Vec<_> =
                        expected.into_iter().filter(|(key, _)| *key >= start).collect();
                    assert_eq!(keys(&snapshot, interest, start.as_bytes()), from_start);
                }
                let everywhere = state.keys().filter(|id| key_of(id) >= start).count();
                assert_eq!(snapshot.count(&Area::Everywhere, start.as_bytes()), everywhere);
            }
        });
    }

    #[test]
    fn every_watch_from_every_revision_equals_the_model(
        actions in prop::collection::vec(action(), 1..120),
        watches in prop::collection::vec(watch(), 1..8),
        limits in limits(),
        burst in 1..20_usize,
    ) {
        on_runtime(async {
            let mut world = World::new(limits).await;
            let mut started: Vec<Follower> = Vec::new();
            let mut waiting: Vec<_> = watches.iter().collect();
            waiting.sort_by_key(|(_, index, _)| index.index(actions.len()));
            for (number, action) in actions.iter().enumerate() {
                world.commit(action).await;
                if number % burst == 0 {
                    world.settle().await;
                }
                while let Some((interest, index, behind)) = waiting.first()
                    && index.index(actions.len()) <= number
                {
                    let after = (world.states.len() - 1).saturating_sub(behind * 20);
                    started.push(Follower::new(&world.things, interest, after));
                    waiting.remove(0);
                }
                for (place, follower) in started.iter_mut().enumerate() {
                    if (number + place) % 7 == 0 {
                        follower.read(1 + place * 300).await;
                    }
                }
            }
            for follower in &mut started {
                while follower.read(1_000).await == Progress::Some {}
                assert_eq!(follower.seen, world.model_events(&follower.interest, follower.after));
                assert_eq!(follower.watcher.position().get() as usize, world.states.len() - 1);
            }
        });
    }
}

/// A watcher and what it has seen.
struct Follower {
    watcher: Watcher,
    interest: Interest,
    after: usize,
    seen: Vec<(EventType, Key, u64, Thing)>,
    through: Revision,
}

#[derive(PartialEq)]
enum Progress {
    Some,
    None,
}

impl Follower {
    fn new(things: &KindCache, interest: &Interest, after: usize) -> Self {
        Self {
            watcher: things.watch(interest, Revision::new(after as u64)),
            interest: interest.clone(),
            after,
            seen: Vec::new(),
            through: Revision::ZERO,
        }
    }

    async fn read(&mut self, budget: usize) -> Progress {
        let next = self.watcher.next(budget);
        let Ok(batch) = tokio::time::timeout(Duration::from_millis(1), next).await else {
            return Progress::None;
        };
        let batch = batch.expect("the store has everything");
        for event in &batch.events {
            let content = event.event.content(event.event_type);
            let revision = event.event.revision();
            assert!(revision > self.through && revision <= batch.through);
            let key = event.event.key().clone();
            let thing = thing_of(content.stored().value());
            self.seen
                .push((event.event_type, key, revision.get(), thing));
        }
        self.through = batch.through;
        assert_eq!(
            self.watcher.position().max(self.through),
            self.watcher.position()
        );
        Progress::Some
    }
}

/// A store with a cache on it, and all states that it ever had.
struct World {
    store: Arc<MemoryStore>,
    things: KindCache,
    _caches: WatchCaches,
    states: Vec<State>,
}

impl World {
    async fn new(limits: CacheLimits) -> Self {
        let store = Arc::new(MemoryStore::new());
        let shared = Arc::clone(&store) as Arc<dyn Store>;
        let caches = WatchCaches::start(shared, layouts(), limits, Random::seeded(1))
            .await
            .unwrap();
        Self {
            store,
            things: caches.kind(THINGS).unwrap(),
            _caches: caches,
            states: vec![State::new()],
        }
    }

    /// Commits the action, unless it deletes what is not there.
    async fn commit(&mut self, (id, written): &Action) {
        let mut state = self.states.last().unwrap().clone();
        let revision = self.states.len() as u64;
        let write = match written {
            Some(thing) => {
                state.insert(*id, (thing.clone(), revision));
                Write::put(thing.bytes())
            }
            None if state.remove(id).is_none() => return,
            None => Write::Delete,
        };
        let commit = Commit::one(key_of(id), Condition::Any, write);
        assert_eq!(self.store.commit(commit).await.unwrap().get(), revision);
        self.states.push(state);
    }

    async fn settle(&self) {
        self.things.fresh().await.unwrap();
    }

    fn model_events(&self, interest: &Interest, after: usize) -> Vec<(EventType, Key, u64, Thing)> {
        let mut events = Vec::new();
        for revision in after + 1..self.states.len() {
            let (before, now) = (&self.states[revision - 1], &self.states[revision]);
            let ids = before.keys().chain(now.keys());
            let changed = ids
                .filter(|id| before.get(id) != now.get(id))
                .min()
                .unwrap();
            let wanted = |state: &State| {
                let (thing, _) = state.get(changed)?;
                selects(interest, changed, thing).then(|| thing.clone())
            };
            let event = match (wanted(before), wanted(now)) {
                (None, Some(thing)) => (EventType::Added, thing),
                (Some(_), Some(thing)) => (EventType::Modified, thing),
                (Some(thing), None) => (EventType::Deleted, thing),
                (None, None) => continue,
            };
            events.push((event.0, key_of(changed), revision as u64, event.1));
        }
        events
    }
}

fn on_runtime(test: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(test);
}

fn keys(
    snapshot: &listwatch_server::watch_cache::Snapshot,
    interest: &Interest,
    start: &[u8],
) -> Vec<(Key, u64)> {
    let selected = snapshot.select(interest, start);
    selected
        .map(|object| (object.key().clone(), object.revision().get()))
        .collect()
}

fn model_keys(state: &State, interest: &Interest) -> Vec<(Key, u64)> {
    let selected = state
        .iter()
        .filter(|(id, (thing, _))| selects(interest, id, thing));
    let mut keys: Vec<_> = selected
        .map(|(id, (_, revision))| (key_of(id), *revision))
        .collect();
    keys.sort();
    keys
}

fn selects(interest: &Interest, id: &(u8, u8), thing: &Thing) -> bool {
    let (namespace, name) = (namespace_text(id.0), name_text(id.1));
    let in_area = match &interest.area {
        Area::Everywhere => true,
        Area::Namespace(wanted) => *wanted == namespace,
        Area::Name(wanted) => *wanted == name,
        Area::NamespaceAndName(wanted, wanted_name) => *wanted == namespace && *wanted_name == name,
    };
    let labels = |key: &str| thing.labels.get(key).map(String::as_str);
    let fields = |field: &str| match field {
        "metadata.name" => &*name,
        "metadata.namespace" => &*namespace,
        "spec.node" => thing.node.as_deref().unwrap_or_default(),
        "status.phase" => thing.phase.as_deref().unwrap_or_default(),
        _ => "",
    };
    in_area && interest.labels.matches(labels) && interest.fields.matches(fields)
}

fn thing_of(value: &[u8]) -> Thing {
    let object: serde_json::Value = serde_json::from_slice(value).unwrap();
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let labels = object["metadata"]["labels"].as_object().unwrap().iter();
    Thing {
        labels: labels
            .map(|(key, value)| (key.clone(), text(value).unwrap()))
            .collect(),
        node: text(&object["spec"]["node"]),
        phase: text(&object["status"]["phase"]),
    }
}

fn key_of(id: &(u8, u8)) -> Key {
    Key::new(format!(
        "{THINGS}{}/{}",
        namespace_text(id.0),
        name_text(id.1)
    ))
}

/// Names of which one begins with another, so that a wrong prefix shows.
fn namespace_text(namespace: u8) -> Box<str> {
    ["team", "team-1", "team-11"][usize::from(namespace)].into()
}

fn name_text(name: u8) -> Box<str> {
    format!("o{name}").into()
}
