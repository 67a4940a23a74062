//! What etcd itself tells of all objects, from the first revision to the last.
//!
//! Every member is watched. All of them tell the same in the same order, so whichever is ahead is
//! believed, and a member that is gone delays nothing.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Context;
use listwatch_api::ResourceVersion;
use listwatch_etcd::{Client, Event, KeyRange, KeyValue, Settings, WatchRequest, WatchUpdate};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    history::{
        Answerer, Bookmarks, Ending, Frame, ObjectVersion, Origin, Received, Watch, WatchStart,
    },
    selection::Selection,
    workload::ledger::Ledger,
};

/// Where the servers keep the objects that the clients work on.
pub(super) const PREFIX: &str = "/registry/configmaps/";

/// How long to wait before a member that failed is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// Watches etcd until it is dropped.
pub(super) struct Witness {
    record: Arc<Record>,
    watching: JoinSet<()>,
}

/// What was told, shared with whoever has to wait for it.
pub(super) struct Record {
    told: Mutex<Told>,
    reached: watch::Sender<u64>,
}

struct Told {
    watch: Watch,
    /// The last state of each object that there is.
    objects: BTreeMap<Vec<u8>, ObjectVersion>,
    trouble: Option<String>,
}

impl Witness {
    /// Watches from the revision that etcd has now.
    pub(super) async fn start(
        members: Vec<Settings>,
        ledger: &Arc<Ledger>,
    ) -> anyhow::Result<Self> {
        let first = members.first().context("a cluster without members")?;
        let revision = Client::new(first.clone())?.revision().await?;
        let record = Arc::new(Record {
            told: Mutex::new(Told {
                watch: Watch {
                    began: ledger.now(),
                    selection: Selection::everything(),
                    start: WatchStart::After(ResourceVersion::new(revision), Origin::List),
                    bookmarks: Bookmarks::Unwanted,
                    frames: Vec::new(),
                    ending: Ending::Cut,
                    answerer: Answerer::Store,
                },
                objects: BTreeMap::new(),
                trouble: None,
            }),
            reached: watch::Sender::new(revision),
        });
        let mut watching = JoinSet::new();
        for settings in members {
            let client = Client::new(settings)?;
            let (record, ledger) = (Arc::clone(&record), Arc::clone(ledger));
            watching.spawn(async move {
                loop {
                    record.follow(&client, &ledger).await;
                    sleep(PAUSE).await;
                }
            });
        }
        Ok(Self { record, watching })
    }

    pub(super) fn record(&self) -> Arc<Record> {
        Arc::clone(&self.record)
    }

    /// All that was told, which is everything up to this revision.
    pub(super) async fn finish(mut self, through: ResourceVersion) -> anyhow::Result<Watch> {
        let reached = self.record.reach(through.get(), Duration::from_secs(20));
        anyhow::ensure!(
            reached.await,
            "etcd does not tell what it had acknowledged: @{through}"
        );
        self.watching.shutdown().await;
        let told = self.record.told.lock();
        if let Some(trouble) = &told.trouble {
            anyhow::bail!("the witness cannot read what etcd has: {trouble}");
        }
        let mut watch = told.watch.clone();
        watch.ending = Ending::Drained { through };
        Ok(watch)
    }
}

impl Record {
    /// The newest revision that was told.
    pub(super) fn newest(&self) -> u64 {
        *self.reached.borrow()
    }

    /// Waits for a revision; whether it came in time.
    pub(super) async fn reach(&self, revision: u64, patience: Duration) -> bool {
        let mut reached = self.reached.subscribe();
        let told = reached.wait_for(|newest| *newest >= revision);
        matches!(timeout(patience, told).await, Ok(Ok(_)))
    }

    /// Listens to one member until it fails.
    async fn follow(&self, client: &Client, ledger: &Ledger) {
        let keys = KeyRange::prefix(PREFIX);
        let request = WatchRequest::from_revision(keys, self.newest() + 1);
        let Ok(mut watch) = client.watch(request).await else {
            return;
        };
        while let Ok(update) = watch.next().await {
            let WatchUpdate::Events(events) = update else {
                continue;
            };
            for event in events {
                self.learn(event, ledger);
            }
        }
    }

    fn learn(&self, event: Event, ledger: &Ledger) {
        let mut told = self.told.lock();
        let revision = match &event {
            Event::Put { current, .. } => current.mod_revision,
            Event::Delete { revision, .. } => *revision,
        };
        if revision <= self.newest() {
            return;
        }
        match told.frame(event, revision) {
            Ok(frame) => {
                let at = ledger.now();
                told.watch.frames.push(Received { at, frame });
            }
            Err(reason) => told.trouble = Some(reason),
        }
        self.reached.send_replace(revision);
    }
}

impl Told {
    fn frame(&mut self, event: Event, revision: u64) -> Result<Frame, String> {
        match event {
            Event::Put { current, .. } => {
                let object = object(&current)?;
                let before = self.objects.insert(current.key.to_vec(), object.clone());
                Ok(match before {
                    Some(_) => Frame::Modified(object),
                    None => Frame::Added(object),
                })
            }
            Event::Delete { key, .. } => {
                let before = self.objects.remove(key.as_ref());
                let mut object = before.ok_or("a deletion of what was not there")?;
                object.version = ResourceVersion::new(revision);
                Ok(Frame::Deleted(object))
            }
        }
    }
}

/// The object as a server would show it.
fn object(stored: &KeyValue) -> Result<ObjectVersion, String> {
    let mut value: Value =
        serde_json::from_slice(&stored.value).map_err(|error| error.to_string())?;
    value["metadata"]["resourceVersion"] = json!(stored.mod_revision.to_string());
    ObjectVersion::from_json(value)
}
