//! One run: a server, an informer of each kind, and everybody who makes trouble.

use std::time::Duration;

use fastrand::Rng;
use listwatch::{
    DecodeError, Decoder, DeltaQueue, Index, ReflectorSettings, SharedInformer,
    reflector::{BackoffSettings, ConsistencyCheck, Fill},
};
use tokio::time::sleep;

use super::{
    handlers::{Attached, Hurry, Place},
    server::{Server, Written},
    source::Weather,
    trace::{
        Body, Event, Found, HandlerId, Kind, Recorder, State, Trace, color, groups, number, parity,
        selector,
    },
};

/// Kinds of objects, each with an informer of its own.
const KINDS: usize = 3;

/// Handlers at one time. More are not added.
const HANDLERS_MAX: usize = 12;

/// Changes of one burst: more than any handler or queue may be behind.
const BURST_CHANGES: usize = 2_600;

/// Longer than all pauses, stalls and silences that may still be under way, one after another.
const QUIET: Duration = Duration::from_secs(900);

/// How long a reader waits for its version.
const READ_PATIENCE: Duration = Duration::from_secs(30);

/// Everything that takes part.
struct Simulation {
    random: Rng,
    recorder: Recorder,
    server: Server,
    informers: Vec<Observed>,
    handlers: Vec<Attached>,
    handlers_joined: usize,
    hurry: Hurry,
    last_write: Option<Written>,
}

/// An informer and what is known about it.
struct Observed {
    kind: Kind,
    informer: SharedInformer<Body>,
    groups: Option<Index<Body, u64>>,
    parity: Option<Index<Body, u64>>,
    lineage: Lineage,
}

/// Whether the versions of a cache and those of the server count the same changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lineage {
    /// They do.
    Shared,
    /// The server was restored while the cache was at this version, and the cache may not have
    /// seen that.
    Parted { at: u64 },
}

/// Runs one seed.
pub async fn run(seed: u64) -> Trace {
    let mut simulation = Simulation::new(seed);
    let steps = simulation.random.usize(60..160);
    for observed in &simulation.informers {
        observed
            .informer
            .start()
            .expect("it has not been started before");
    }
    for _ in 0..steps {
        simulation.step();
        let pause = match simulation.random.u32(..4) {
            0 => 0,
            1 => simulation.random.u64(..20),
            _ => simulation.random.u64(..4_000),
        };
        sleep(Duration::from_millis(pause)).await;
        simulation.observe();
    }
    simulation.finish().await
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let recorder = Recorder::new();
        let server = Server::new(KINDS, &mut random, &recorder);
        let informers = (0..KINDS).map(|kind| Observed::new(Kind(kind), &server, &mut random));
        let informers = informers.collect();
        let mut simulation = Self {
            random,
            recorder,
            server,
            informers,
            handlers: Vec::new(),
            handlers_joined: 0,
            hurry: Hurry::default(),
            last_write: None,
        };
        let random = &mut simulation.random;
        let weather = Weather {
            delay_max: random.u64(..400),
            lose: random.u32(..60),
            repeat: random.u32(..80),
            mute: random.u32(..15),
            cut: random.u32(..120),
        };
        simulation.server.set_weather(weather);
        simulation
    }

    fn step(&mut self) {
        let kind = Kind(self.random.usize(..KINDS));
        match self.random.u32(..100) {
            0..45 => {
                let count = self.random.usize(1..12);
                self.write(count);
            }
            45 if self.random.u32(..3) == 0 => self.write(BURST_CHANGES),
            45..60 => self.join(kind),
            60..67 => self.leave(),
            67..80 => self.server.fail(kind, &mut self.random),
            80..84 => self.server.bookmark(kind),
            84..88 if self.may_write() => self.server.back_up(),
            88..92 => self.restore(),
            92..94 => self.add_index(kind),
            _ => self.read_what_was_written(),
        }
    }

    /// Writes to any kinds, as long as no informer could mistake the versions for those that it
    /// saw before a restore.
    fn write(&mut self, count: usize) {
        let only = (count == BURST_CHANGES).then(|| Kind(self.random.usize(..KINDS)));
        for _ in 0..count {
            if !self.may_write() {
                return;
            }
            let kind = only.unwrap_or_else(|| Kind(self.random.usize(..KINDS)));
            self.last_write = Some(self.server.write(kind, &mut self.random));
        }
    }

    fn may_write(&self) -> bool {
        let nobody_parted = self
            .informers
            .iter()
            .all(|observed| observed.lineage == Lineage::Shared);
        nobody_parted || self.is_everybody_filled()
    }

    fn is_everybody_filled(&self) -> bool {
        let mut informers = self.informers.iter();
        informers.all(|observed| self.server.way(observed.kind).is_filled())
    }

    fn join(&mut self, kind: Kind) {
        if self.handlers.len() == HANDLERS_MAX {
            return;
        }
        let id = HandlerId(self.handlers_joined);
        self.handlers_joined += 1;
        let place = Place {
            kind,
            informer: &self.informers[kind.0].informer,
            recorder: &self.recorder,
            hurry: &self.hurry,
        };
        let attached = Attached::join(id, &place, &mut self.random);
        self.handlers.extend(attached);
    }

    fn leave(&mut self) {
        if !self.handlers.is_empty() {
            let handler = self.random.usize(..self.handlers.len());
            self.handlers.swap_remove(handler).leave(&self.recorder);
        }
    }

    /// Restores the server, once everybody has seen the restore before.
    fn restore(&mut self) {
        if !self.is_everybody_filled() || !self.server.can_restore() {
            return;
        }
        self.server.restore();
        self.last_write = None;
        for observed in &mut self.informers {
            observed.lineage = Lineage::Parted {
                at: observed.version(),
            };
        }
    }

    fn add_index(&mut self, kind: Kind) {
        let observed = &mut self.informers[kind.0];
        if observed.groups.is_none() {
            let index = observed
                .informer
                .add_index("groups", |object| groups(object.body.token));
            observed.groups = index.ok();
        } else if observed.parity.is_none() {
            let index = observed
                .informer
                .add_index("parity", |object| parity(object.body.token));
            observed.parity = index.ok();
        }
    }

    fn read_what_was_written(&mut self) {
        let Some(written) = self.last_write else {
            return;
        };
        let observed = &self.informers[written.kind.0];
        if observed.lineage != Lineage::Shared {
            return;
        }
        let informer = observed.informer.clone();
        let recorder = self.recorder.clone();
        tokio::spawn(async move {
            let wanted = written.version.into();
            if let Ok(snapshot) = informer.read_at_least(&wanted, READ_PATIENCE).await {
                recorder.record(Event::Read {
                    kind: written.kind,
                    written: written.place,
                    wanted: written.version,
                    version: number(snapshot.version()),
                    objects: State::all(&snapshot),
                });
            }
        });
    }

    fn observe(&mut self) {
        for observed in &mut self.informers {
            observed.see_restore(&self.server);
            let backlog = observed.informer.backlog();
            self.recorder.record(Event::Waits {
                kind: observed.kind,
                deltas: backlog.deltas,
                changes: backlog.changes,
            });
        }
        for handler in &mut self.handlers {
            let informer = &self.informers[handler.kind.0].informer;
            handler.observe(informer, &self.recorder);
        }
        let kind = self.random.usize(..KINDS);
        self.recorder.record(self.informers[kind].look());
    }

    /// Lets everything come to rest, and ends it.
    async fn finish(mut self) -> Trace {
        self.server.calm();
        self.hurry.begin();
        for _ in 0..20 {
            sleep(QUIET / 20).await;
            for kind in 0..KINDS {
                self.server.bookmark(Kind(kind));
            }
        }
        sleep(Duration::from_secs(1)).await;
        self.observe();
        for observed in &self.informers {
            self.recorder.record(observed.look());
            let cache = State::all(&observed.informer.cache().snapshot());
            self.recorder.record(Event::Quiet(observed.kind, cache));
        }
        for observed in &self.informers {
            observed.informer.shut_down().await;
        }
        self.recorder.trace()
    }
}

impl Observed {
    fn new(kind: Kind, server: &Server, random: &mut Rng) -> Self {
        let way = server.way(kind).clone();
        let queue = match random.bool() {
            true => DeltaQueue::in_order(),
            false => DeltaQueue::compressing(),
        };
        let builder = SharedInformer::builder(std::sync::Arc::new(way), decoder());
        let informer = builder
            .name(format!("kind-{}", kind.0))
            .queue(queue)
            .reflector(settings(random))
            .random(random.fork())
            .build();
        Self {
            kind,
            informer,
            groups: None,
            parity: None,
            lineage: Lineage::Shared,
        }
    }

    fn version(&self) -> u64 {
        number(self.informer.cache().snapshot().version())
    }

    /// A cache that is older than it was, when the server has not come as far again, has been
    /// filled after the restore.
    fn see_restore(&mut self, server: &Server) {
        if let Lineage::Parted { at } = self.lineage {
            let filled = server.way(self.kind).is_filled();
            if filled && self.version() <= server.version() && server.version() < at {
                self.lineage = Lineage::Shared;
            }
        }
    }

    /// One moment of the cache, by all its indexes.
    fn look(&self) -> Event {
        let snapshot = self.informer.cache().snapshot();
        let by_index = |index: &Index<Body, u64>| -> Found {
            let values = snapshot.index_values(index).into_iter();
            let found = values.map(|value| {
                let keys = snapshot.index_keys(index, &*value);
                (*value, keys.iter().map(ToString::to_string).collect())
            });
            found.collect()
        };
        let colors = (0..4).map(|value| {
            let found = snapshot.select(&selector(value));
            let keys = found.sorted().into_iter();
            (value, keys.map(|object| object.key.to_string()).collect())
        });
        let colors: Found = colors
            .filter(|(_, keys): &(u64, Vec<String>)| !keys.is_empty())
            .collect();
        let mut indexes = vec![("color", colors)];
        indexes.extend(self.groups.iter().map(|index| ("groups", by_index(index))));
        indexes.extend(self.parity.iter().map(|index| ("parity", by_index(index))));
        Event::Looked {
            kind: self.kind,
            objects: State::all(&snapshot),
            indexes,
        }
    }
}

/// The values of a state in the index of this name.
pub fn values(index: &str, token: u64) -> Vec<u64> {
    match index {
        "groups" => groups(token).to_vec(),
        "parity" => parity(token).into_iter().collect(),
        _ => vec![color(token)],
    }
}

fn decoder() -> Decoder<Body> {
    Decoder::new(|raw| {
        let text = std::str::from_utf8(&raw.body).ok();
        let token = text.and_then(|text| text.parse().ok());
        let token = token.ok_or_else(|| DecodeError {
            reason: "not a number".to_owned(),
        })?;
        Ok(Body { token })
    })
}

fn settings(random: &mut Rng) -> ReflectorSettings {
    ReflectorSettings {
        fill: match random.bool() {
            true => Fill::Stream,
            false => Fill::List,
        },
        page_size: random.bool().then(|| random.u32(2..8)),
        watch_timeout_min: Duration::from_secs(random.u64(5..120)),
        backoff: BackoffSettings {
            first: Duration::from_millis(random.u64(50..1_000)),
            cap: Duration::from_secs(random.u64(2..30)),
            ..BackoffSettings::default()
        },
        internal_error_patience: Duration::from_secs(random.u64(..20)),
        bookmark_deadline: random
            .bool()
            .then(|| Duration::from_secs(random.u64(5..60))),
        consistency_check: match random.bool() {
            true => ConsistencyCheck::Off,
            false => ConsistencyCheck::Compare,
        },
        random: random.fork(),
        ..ReflectorSettings::default()
    }
}
