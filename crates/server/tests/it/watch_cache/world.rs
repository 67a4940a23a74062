//! A store, a watch cache on it and some watchers, moved by words.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use listwatch_api::selector::{FieldSelector, LabelSelector};
use listwatch_server::{
    random::Random,
    watch_cache::{
        Area, CacheLimits, Interest, KindCache, Snapshot, WatchCaches, WatchError, Watcher,
    },
};
use listwatch_store::{Commit, Condition, Key, Operation, Revision, Store, Write};

use super::{
    gated_store::{Gate, GatedStore},
    thing::{OTHERS, THINGS, Thing, layouts},
};

/// Everything a scenario moves.
pub(super) struct World {
    store: Arc<GatedStore>,
    caches: WatchCaches,
    limits: CacheLimits,
    watchers: BTreeMap<String, Watcher>,
}

/// The words of a command: a verb, its objects, and `name=value` options.
struct Words<'a> {
    plain: Vec<&'a str>,
    options: BTreeMap<&'a str, &'a str>,
}

impl World {
    /// An empty store with a cache on it.
    pub(super) async fn new() -> Self {
        let store = GatedStore::new();
        let limits = CacheLimits {
            history_at_start_revisions: 0,
            ..CacheLimits::default()
        };
        Self {
            caches: start(&store, limits).await,
            store,
            limits,
            watchers: BTreeMap::new(),
        }
    }

    /// Does what the command says and tells what is seen.
    pub(super) async fn obey(&mut self, command: &str) -> String {
        let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
        let words = Words::new(rest);
        match verb {
            "limits" => self.limit(&words).await,
            "commit" => self.commit(&words).await,
            "others" => self.commit_others(words.number(0)).await,
            "watch" => self.watch(&words),
            "read" => self.read(&words).await,
            "drop" => self.drop_watcher(words.plain[0]),
            "position" => format!("@{}", self.watcher(&words).position()),
            "stage" => format!("{:?}", self.watcher(&words).stage()),
            "list" => self.list(&words).await,
            "stats" => self.stats(),
            "compact" => self.compact(words.number(0)).await,
            "gate" => self.move_gate(words.plain[0]).await,
            "restart" => self.restart().await,
            "advance" => advance(words.number(0)).await,
            "remove" => self.remove_things().await,
            "add" => self.add_things().await,
            _ => panic!("{verb} is no command"),
        }
    }

    fn things(&self) -> KindCache {
        self.caches.kind(THINGS).expect("things are served")
    }

    fn watcher(&mut self, words: &Words<'_>) -> &mut Watcher {
        self.watchers
            .get_mut(words.plain[0])
            .expect("the watcher has been started")
    }

    async fn limit(&mut self, words: &Words<'_>) -> String {
        let limits = &mut self.limits;
        for (name, value) in &words.options {
            let number: usize = value.parse().unwrap();
            match *name {
                "events" => limits.history_events_max = number,
                "bytes" => limits.history_bytes_max = number,
                "seconds" => limits.history_age_max = Duration::from_secs(number as u64),
                "log" => limits.group_log_events_max = number,
                "past" => limits.history_at_start_revisions = number as u64,
                _ => panic!("{name} is no limit"),
            }
        }
        self.restart().await
    }

    async fn restart(&mut self) -> String {
        self.watchers.clear();
        self.caches = start(&self.store, self.limits).await;
        String::new()
    }

    /// Commits each word; `a+b` are two objects in one commit.
    async fn commit(&mut self, words: &Words<'_>) -> String {
        let mut answers = Vec::new();
        for word in &words.plain {
            let operations = word.split('+').map(operation).collect();
            let revision = self
                .store
                .commit(Commit::together(operations))
                .await
                .unwrap();
            answers.push(format!("@{revision}"));
        }
        self.settle().await;
        answers.join(" ")
    }

    async fn commit_others(&mut self, count: u64) -> String {
        for number in 0..count {
            let key = Key::new(format!("{OTHERS}{number}"));
            let write = Write::put(Thing::default().bytes());
            let commit = Commit::one(key, Condition::Any, write);
            self.store.commit(commit).await.unwrap();
        }
        self.settle().await;
        format!("@{}", self.caches.revision())
    }

    /// Lets the feeder come as far as it can.
    async fn settle(&self) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    fn watch(&mut self, words: &Words<'_>) -> String {
        let after = words.options["after"].parse().unwrap();
        let watcher = self.things().watch(&words.interest(), Revision::new(after));
        let stage = format!("{:?}", watcher.stage());
        self.watchers.insert(words.plain[0].to_owned(), watcher);
        stage
    }

    fn drop_watcher(&mut self, name: &str) -> String {
        self.watchers.remove(name);
        String::new()
    }

    /// Reads until nothing comes any more.
    async fn read(&mut self, words: &Words<'_>) -> String {
        let budget = words
            .options
            .get("budget")
            .map_or(1 << 20, |text| text.parse().unwrap());
        let watcher = self.watcher(words);
        let mut seen = Vec::new();
        loop {
            let next = tokio::time::timeout(Duration::from_millis(1), watcher.next(budget));
            match next.await {
                Err(_) => break,
                Ok(Ok(batch)) => {
                    let events = batch.events.iter().map(|event| {
                        let content = event.event.content(event.event_type);
                        let (name, labels) = (name_of(content), labels_of(content));
                        format!(
                            "{} {name}{labels}@{}",
                            event.event_type,
                            event.event.revision()
                        )
                    });
                    seen.extend(events);
                    seen.push(format!("(@{})", batch.through));
                }
                Ok(Err(error)) => {
                    seen.push(describe(&error));
                    break;
                }
            }
        }
        seen.push(format!("{:?}", watcher.stage()));
        seen.join(" ")
    }

    async fn list(&self, words: &Words<'_>) -> String {
        let things = self.things();
        let snapshot = match words.options.get_key_value("at") {
            None => Ok(things.latest()),
            Some((_, &"fresh")) => things.fresh().await,
            Some((_, text)) => match text.split_once("..") {
                Some((revision, _)) => {
                    things
                        .at_least(Revision::new(revision.parse().unwrap()))
                        .await
                }
                None => things.exactly(Revision::new(text.parse().unwrap())).await,
            },
        };
        match snapshot {
            Ok(snapshot) => format!("@{}: {}", snapshot.revision(), names(&snapshot, words)),
            Err(error) => error.to_string(),
        }
    }

    fn stats(&self) -> String {
        let stats = self.things().stats();
        format!(
            "{} objects, {} watchers, {} groups, {} events in history, @{}",
            stats.objects, stats.watchers, stats.groups, stats.history_events, stats.revision
        )
    }

    async fn compact(&mut self, before: u64) -> String {
        self.store.compact(Revision::new(before)).await.unwrap();
        String::new()
    }

    async fn move_gate(&mut self, gate: &str) -> String {
        self.store.set(match gate {
            "open" => Gate::Open,
            "closed" => Gate::Closed,
            "broken" => Gate::Broken,
            _ => panic!("{gate} is no gate"),
        });
        self.settle().await;
        String::new()
    }

    async fn remove_things(&mut self) -> String {
        self.caches.remove(THINGS).await.unwrap();
        String::new()
    }

    async fn add_things(&mut self) -> String {
        match self.caches.add(layouts().remove(0)).await {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }
}

async fn start(store: &Arc<GatedStore>, limits: CacheLimits) -> WatchCaches {
    let store = Arc::clone(store) as Arc<dyn Store>;
    WatchCaches::start(store, layouts(), limits, Random::seeded(1))
        .await
        .unwrap()
}

async fn advance(seconds: u64) -> String {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    String::new()
}

fn describe(error: &WatchError) -> String {
    match error {
        WatchError::Expired { .. } => format!("ERROR {error}"),
        WatchError::Removed | WatchError::Unavailable { .. } => format!("CLOSED {error}"),
    }
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        let is_option = |word: &str| {
            let name = word.split_once('=').map_or("", |(name, _)| name);
            [
                "after",
                "namespace",
                "name",
                "labels",
                "fields",
                "at",
                "budget",
            ]
            .contains(&name)
                || ["events", "bytes", "seconds", "log", "past"].contains(&name)
        };
        let words = text.split_whitespace();
        let (options, plain): (Vec<_>, Vec<_>) = words.partition(|word| is_option(word));
        Self {
            plain,
            options: options
                .into_iter()
                .filter_map(|word| word.split_once('='))
                .collect(),
        }
    }

    fn number(&self, index: usize) -> u64 {
        self.plain[index].parse().unwrap()
    }

    fn interest(&self) -> Interest {
        let option = |name: &str| self.options.get(name).copied();
        Interest {
            area: match (option("namespace"), option("name")) {
                (None, None) => Area::Everywhere,
                (Some(namespace), None) => Area::Namespace(namespace.into()),
                (None, Some(name)) => Area::Name(name.into()),
                (Some(namespace), Some(name)) => {
                    Area::NamespaceAndName(namespace.into(), name.into())
                }
            },
            labels: LabelSelector::parse(option("labels").unwrap_or_default()).unwrap(),
            fields: FieldSelector::parse(option("fields").unwrap_or_default()).unwrap(),
        }
    }
}

/// `a`, `team/a`, `a:app=web,node=n1` put an object; `-a` deletes it.
fn operation(word: &str) -> Operation {
    let (name, write) = match word.strip_prefix('-') {
        Some(name) => (name, Write::Delete),
        None => {
            let (name, parts) = word.split_once(':').unwrap_or((word, ""));
            (name, Write::put(thing(parts).bytes()))
        }
    };
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    Operation {
        key: Key::new(format!("{THINGS}{namespace}/{name}")),
        condition: Condition::Any,
        write,
    }
}

fn thing(parts: &str) -> Thing {
    let mut thing = Thing::default();
    for (name, value) in parts.split(',').filter_map(|part| part.split_once('=')) {
        match name {
            "node" => thing.node = Some(value.to_owned()),
            "phase" => thing.phase = Some(value.to_owned()),
            _ => drop(thing.labels.insert(name.to_owned(), value.to_owned())),
        }
    }
    thing
}

fn names(snapshot: &Snapshot, words: &Words<'_>) -> String {
    let selected = snapshot.select(&words.interest(), b"");
    let names = selected.map(|object| format!("{}@{}", name_of(object), object.revision()));
    let names: Vec<_> = names.collect();
    match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.join(" "),
    }
}

fn name_of(object: &listwatch_server::watch_cache::CachedObject) -> String {
    match object.namespace() {
        Some("default") | None => object.name().to_owned(),
        Some(namespace) => format!("{namespace}/{}", object.name()),
    }
}

fn labels_of(object: &listwatch_server::watch_cache::CachedObject) -> String {
    let labels = object
        .stored()
        .labels()
        .map(|(key, value)| format!("{key}={value}"));
    let labels = labels.collect::<Vec<_>>().join(",");
    match labels.is_empty() {
        true => labels,
        false => format!(":{labels}"),
    }
}
