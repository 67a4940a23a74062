//! Answers of a real kube-apiserver, replayed in order and compared with ours.
//!
//! The scripts are `conformance/golden/*.http`; `differences.json` beside them lists every place
//! where we answer otherwise, with the reason. A listed difference that is gone fails too.

mod bindings;
mod built_in;
mod comparison;
mod connection;
mod known;
mod script;

use std::{net::SocketAddr, path::Path, sync::Arc};

use listwatch_server::{Settings, clock::Clock};
use listwatch_store::{MemoryStore, Read, Store};
use tokio::runtime::Handle;

use self::{
    bindings::Bindings,
    comparison::Difference,
    known::KnownDifferences,
    script::{Action, Block, Request, Step},
};
use crate::{etcd_store, running::start_on};

const WATCHES: &[&str] = &["02-watch.http"];
const LISTS_WRITES_AND_DISCOVERY: &[&str] = &[
    "01-list-errors.http",
    "03-crud.http",
    "04-compaction.http",
    "05-expired-table-discovery.http",
];
const CUSTOM_KINDS: &[&str] = &["06-custom-kinds.http"];
const APPLIES: &[&str] = &["09-server-side-apply.http"];

#[tokio::test(flavor = "multi_thread")]
async fn watches_answer_as_recorded() {
    replay(WATCHES, Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_writes_and_discovery_answer_as_recorded() {
    replay(LISTS_WRITES_AND_DISCOVERY, Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_kinds_answer_as_recorded() {
    replay(CUSTOM_KINDS, Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn applies_answer_as_recorded() {
    replay(APPLIES, Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_answers_as_recorded_on_etcd_too() {
    for names in [WATCHES, LISTS_WRITES_AND_DISCOVERY, CUSTOM_KINDS, APPLIES] {
        let Some(store) = etcd_store::open_or_skip().await else {
            return;
        };
        replay(names, store).await;
    }
}

/// Replays scripts one after the other on one server.
async fn replay(names: &[&'static str], store: Arc<dyn Store>) {
    let server = start_on(store, settings()).await;
    let mut player = Player {
        address: server.address(),
        store: Arc::clone(&server.store),
        runtime: Handle::current(),
        bindings: Bindings::default(),
        known: KnownDifferences::read(&recorded("differences.json")),
        report: Vec::new(),
    };
    let names = names.to_vec();
    let report = tokio::task::spawn_blocking(move || {
        for name in names {
            player.play(name);
        }
        player.report
    });
    let report = report.await.unwrap();
    assert!(report.is_empty(), "{}", report.join("\n\n"));
}

/// So little history that a script can outrun it, and a clock that stands still: owners of fields
/// are sorted by time, and the recording took less than a second.
fn settings() -> Settings {
    let mut settings = Settings {
        clock: Clock::simulated(|| "2026-01-01T00:00:00Z".parse().unwrap()),
        ..Settings::default()
    };
    settings.cache.history_events_max = 64;
    settings
}

fn recorded(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/golden");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

struct Player {
    address: SocketAddr,
    store: Arc<dyn Store>,
    runtime: Handle,
    bindings: Bindings,
    known: KnownDifferences,
    report: Vec<String>,
}

impl Player {
    fn play(&mut self, name: &str) {
        for step in script::parse(&recorded(name)) {
            match step {
                Step::Prepare(action) => self.prepare(&action),
                Step::Block(block) => self.block(name, &block),
            }
        }
    }

    fn prepare(&self, action: &Action) {
        match action {
            Action::Request(request) => self.write(request),
            Action::Repeat(times, request) => (0..*times).for_each(|time| {
                let body = request.body.replace("COUNT", &time.to_string());
                self.write(&Request {
                    body,
                    ..request.clone()
                });
            }),
            Action::Compact => self.runtime.block_on(async {
                let page = self.store.read(Read::revision_only()).await.unwrap();
                self.store.compact(page.revision).await.unwrap();
            }),
        }
    }

    fn block(&mut self, script: &str, block: &Block) {
        let request = self.bindings.fill_request(&block.request);
        let opened = connection::open(self.address, &request);
        for meanwhile in &block.meanwhile {
            self.write(meanwhile);
        }
        let found = opened.read_to_end();
        let ignored = self.known.everywhere();
        let differences =
            comparison::compare(&block.expected, &found, &ignored, &mut self.bindings);
        let place = format!("{script}: {}", block.title);
        self.judge(&place, &block.title, differences);
    }

    /// Drops what is known, and reports the rest and what is wrongly thought known.
    fn judge(&mut self, place: &str, title: &str, differences: Vec<Difference>) {
        let mut expected = self.known.of(title);
        for difference in differences {
            let known = expected.remove(&difference.at);
            let is_known = known
                .is_some_and(|ours| comparison::same(&ours, &difference.found, &mut self.bindings));
            if !is_known {
                self.report.push(format!("{place}: {difference}"));
            }
        }
        for at in expected.keys() {
            self.report
                .push(format!("{place}: no longer differs at {at}"));
        }
    }

    fn write(&self, request: &Request) {
        let request = self.bindings.fill_request(request);
        let response = connection::open(self.address, &request).read_to_end();
        assert!(response.status < 300, "{request:?}: {response:?}");
    }
}
