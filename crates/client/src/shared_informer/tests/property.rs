//! Whatever happens, each handler's notifications add up to the cache.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{Snapshot, delta_queue::BATCH_DELTAS_MAX};

const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(Clone, Debug)]
enum Step {
    /// One delta about a key.
    Change(usize, Verb),
    /// A list that shows these keys in a new state, leaves those as they are, and lacks the rest.
    Relist {
        fresh: u8,
        kept: u8,
    },
    Bookmark,
    /// More changes at once than any handler may be behind.
    Burst,
    Join(Bound),
    Leave(usize),
    /// One handler takes this many notifications.
    Read(usize, usize),
    /// Everything that can go on goes on.
    Settle,
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Put,
    Delete,
    Repeat,
}

/// A subscription, and the state that it was told of.
struct Folding {
    subscription: Subscription<u64>,
    bound: Bound,
    state: BTreeMap<String, u64>,
    /// How many objects were there when it came, if the informer had synced.
    expected_initial: Option<usize>,
    initial: usize,
}

struct Run {
    world: World,
    handlers: Vec<Folding>,
    removed: Vec<Folding>,
    /// What the source holds.
    source: BTreeMap<&'static str, u64>,
    version: u64,
    /// How many were fed.
    bookmarks: usize,
}

fn step() -> impl Strategy<Value = Step> {
    let verb = prop_oneof![3 => Just(Verb::Put), 2 => Just(Verb::Delete), 1 => Just(Verb::Repeat)];
    let bound = prop_oneof![
        Just(Bound::Coalesce),
        (0_usize..5).prop_map(Bound::Block),
        (0_usize..5).prop_map(Bound::Drop),
    ];
    prop_oneof![
        12 => (0..KEYS.len(), verb).prop_map(|(key, verb)| Step::Change(key, verb)),
        2 => any::<(u8, u8)>().prop_map(|(fresh, kept)| Step::Relist { fresh, kept }),
        1 => Just(Step::Bookmark),
        1 => Just(Step::Burst),
        3 => bound.prop_map(Step::Join),
        1 => any::<usize>().prop_map(Step::Leave),
        6 => (any::<usize>(), 1_usize..6).prop_map(|(handler, count)| Step::Read(handler, count)),
        6 => Just(Step::Settle),
    ]
}

impl Folding {
    /// Takes what is there, up to `most`.
    async fn read(&mut self, most: usize) -> usize {
        for count in 0..most {
            let soon = Duration::from_micros(1);
            let next = tokio::time::timeout(soon, self.subscription.next()).await;
            let Ok(Some(notification)) = next else {
                return count;
            };
            self.fold(&notification);
        }
        most
    }

    /// What it is told must follow from what it was told before.
    fn fold(&mut self, notification: &Notification<u64>) {
        match notification {
            Notification::Added { object, origin } => {
                let before = self.state.insert(object.key.to_string(), object.body);
                assert_eq!(before, None, "{notification:?} of a known object");
                self.initial += usize::from(*origin == Origin::Initial);
            }
            Notification::Updated { old, new } => {
                let before = self.state.insert(new.key.to_string(), new.body);
                assert_eq!(
                    before,
                    Some(old.body),
                    "{notification:?} from another state"
                );
                assert_ne!(old.version, new.version, "nobody asked for a resync");
            }
            Notification::Deleted(deleted) => {
                let before = self.state.remove(deleted.key.as_str());
                if deleted.final_state == FinalState::Unknown {
                    let last = deleted.last.as_ref().map(|last| last.body);
                    assert_eq!(before, last, "{notification:?} of another state");
                }
            }
            Notification::Lagged { missed } => {
                assert!(*missed > 0);
                assert!(self.subscription.registration().status().missed >= *missed);
            }
        }
        let synced = self.subscription.registration().has_synced();
        if let (true, Some(expected)) = (synced, self.expected_initial) {
            assert_eq!(self.initial, expected, "synced without all initial objects");
        }
    }
}

impl Run {
    fn new() -> Self {
        Self {
            world: World::started(),
            handlers: Vec::new(),
            removed: Vec::new(),
            source: BTreeMap::new(),
            version: 1,
            bookmarks: 0,
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Change(key, verb) => self.change(KEYS[key], verb).await,
            Step::Relist { fresh, kept } => self.relist(fresh, kept).await,
            Step::Bookmark => self.bookmark().await,
            Step::Burst => self.burst().await,
            Step::Join(bound) => self.join(bound),
            Step::Leave(handler) => self.leave(handler).await,
            Step::Read(handler, count) => self.read(handler, count).await,
            Step::Settle => settled().await,
        }
        self.check_bounds();
    }

    async fn bookmark(&mut self) {
        self.bookmarks += 1;
        self.world.feed(&format!("!{}", self.version)).await;
    }

    async fn change(&mut self, key: &'static str, verb: Verb) {
        self.version += 1;
        let version = self.version;
        let fed = match verb {
            Verb::Put => {
                self.source.insert(key, version);
                format!("~{key}{version}")
            }
            Verb::Delete => {
                self.source.remove(key);
                format!("-{key}{version}")
            }
            Verb::Repeat => match self.source.get(key) {
                Some(known) => format!("+{key}{known}"),
                None => return,
            },
        };
        self.world.feed(&fed).await;
    }

    async fn relist(&mut self, fresh: u8, kept: u8) {
        self.version += 1;
        let version = self.version;
        for (index, key) in KEYS.into_iter().enumerate() {
            if fresh & (1 << index) != 0 {
                self.source.insert(key, version);
            } else if kept & (1 << index) == 0 {
                self.source.remove(key);
            }
        }
        let objects: Vec<_> = self
            .source
            .iter()
            .map(|(key, at)| format!("{key}{at}"))
            .collect();
        self.world
            .feed(&format!("={version}:{}", objects.join(",")))
            .await;
    }

    /// Feeds in parts that fit the queue, while everybody reads as far as is needed.
    async fn burst(&mut self) {
        self.drain_blocking().await;
        for index in 0..COALESCE_CHANGES_MAX + 100 {
            self.change(KEYS[usize::from(index.is_multiple_of(3))], Verb::Put)
                .await;
            if index.is_multiple_of(500) {
                self.drain_blocking().await;
            }
        }
        self.drain_blocking().await;
    }

    /// Reads for those who hold up the cache, until nobody does.
    async fn drain_blocking(&mut self) {
        self.drain(|handler| matches!(handler.bound, Bound::Block(_)))
            .await;
    }

    /// Reads until nothing comes any more. A bookmark is read too and tells nothing, so one
    /// silence for each of them proves nothing.
    async fn drain(&mut self, wanted: impl Fn(&Folding) -> bool) {
        let mut silences = 0;
        while silences <= self.bookmarks {
            settled().await;
            let mut read = 0;
            for handler in self.handlers.iter_mut().filter(|handler| wanted(handler)) {
                read += handler.read(usize::MAX).await;
            }
            silences = if read == 0 { silences + 1 } else { 0 };
        }
    }

    fn join(&mut self, bound: Bound) {
        let options = HandlerOptions {
            bound,
            ..HandlerOptions::default()
        };
        let informer = &self.world.informer;
        let expected = informer
            .has_synced()
            .then(|| informer.cache().snapshot().len());
        self.handlers.push(Folding {
            subscription: informer.subscribe(&options).unwrap(),
            bound,
            state: BTreeMap::new(),
            expected_initial: expected,
            initial: 0,
        });
    }

    async fn leave(&mut self, handler: usize) {
        if self.handlers.is_empty() {
            return;
        }
        let handler = self.handlers.swap_remove(handler % self.handlers.len());
        handler.subscription.registration().remove();
        self.removed.push(handler);
    }

    async fn read(&mut self, handler: usize, count: usize) {
        let handlers = self.handlers.len();
        if handlers > 0 {
            self.handlers[handler % handlers].read(count).await;
        }
    }

    /// The log keeps no more than the most patient handler may be behind, and one batch. What a
    /// removed one has left goes with the next batch.
    fn check_bounds(&self) {
        let handlers = self.handlers.iter().chain(&self.removed);
        let behind = handlers.map(|handler| match handler.bound {
            Bound::Block(most) => most.max(1) + BATCH_DELTAS_MAX,
            Bound::Drop(most) => most.max(1),
            Bound::Coalesce => usize::try_from(COALESCE_CHANGES_MAX).unwrap(),
        });
        let most = behind.max().unwrap_or(0);
        let length = self.world.informer.shared.log.len();
        assert!(
            length <= most,
            "{length} entries for handlers up to {most} behind"
        );
    }

    async fn finish(mut self) {
        self.drain(|_| true).await;
        let cached = folded(&self.world.informer.cache().snapshot());
        let source = self.source.iter().map(|(key, at)| ((*key).to_owned(), *at));
        assert_eq!(cached, source.collect());
        for handler in &self.handlers {
            assert_eq!(handler.state, cached, "{:?}", handler.bound);
            let synced = handler.subscription.registration().has_synced();
            assert_eq!(synced, self.world.informer.has_synced());
        }
        for handler in &mut self.removed {
            assert_eq!(handler.read(1).await, 0, "told after it was removed");
        }
        drop((self.handlers, self.removed));
        assert_eq!(self.world.informer.shared.log.len(), 0);
    }
}

fn folded(snapshot: &Snapshot<u64>) -> BTreeMap<String, u64> {
    let objects = snapshot.iter();
    objects
        .map(|object| (object.key.to_string(), object.body))
        .collect()
}

fn settings() -> ProptestConfig {
    ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn what_each_handler_was_told_adds_up_to_the_cache(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut run = Run::new();
            for step in steps {
                run.take(step).await;
            }
            run.finish().await;
        });
    }
}
