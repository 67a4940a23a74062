//! Kills the server under load, again and again, and looks for what it had acknowledged.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::client::{Bookmarks as WithBookmarks, Client, Collection, ListOptions, WatchOptions};
use anyhow::{Context, bail};
use listwatch_api::ResourceVersion;
use serde_json::json;
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::{
    answers, checkers,
    history::{
        Answerer, Bookmarks, Ending, Freshness, History, List, ListEnd, Moment, ObjectKey,
        ObjectVersion, Origin, Received, Restart, StopManner, Token, Watch, WatchStart, Write,
        WriteOutcome, WriteRequest,
    },
    selection::Selection,
    target::{Binary, Target},
    workload::Circumstances,
};

const NAMESPACE: &str = "default";

/// How long the last watch may take to bring everything.
const REPLAY_TIMEOUT: Duration = Duration::from_secs(60);

/// What to do to the server.
#[derive(Clone, Debug)]
pub struct CrashPlan {
    /// What the moments of the kills follow from.
    pub seed: u64,
    /// Connections that create objects all the time.
    pub connections: usize,
    /// How often the server is killed.
    pub kills: usize,
    /// How many writes are acknowledged at most before it is killed.
    pub writes_per_life_max: u64,
    /// The size of each object.
    pub object_bytes: usize,
}

/// What was done, and found.
#[derive(Clone, Debug)]
pub struct CrashSummary {
    /// Writes that were acknowledged, all of which were found.
    pub acknowledged: usize,
    /// Writes without an answer.
    pub unknown: usize,
    /// Objects that there were in the end.
    pub objects: usize,
    /// Kills that the server survived.
    pub kills: usize,
}

/// Kills the command as planned; an error when it lost anything.
pub async fn run(plan: &CrashPlan, command: &Path) -> anyhow::Result<CrashSummary> {
    let mut target = Target::Binary(Binary::new(command, &Circumstances::usual())?);
    let mut random = fastrand::Rng::with_seed(plan.seed);
    let recorder = Arc::new(Recorder::default());
    let mut history = History::default();
    let mut client = target.start().await?;
    history.lists.push(list_all(&recorder, &client).await?);
    for _ in 0..plan.kills {
        let writes = random.u64(plan.writes_per_life_max / 2..=plan.writes_per_life_max);
        let mut load = Load::start(plan, &recorder, &client);
        load.acknowledges(writes).await?;
        let began = recorder.now();
        target.stop(StopManner::Abrupt).await?;
        history.writes.extend(load.end().await?);
        client = target.start().await?;
        history.restarts.push(Restart {
            began,
            ended: recorder.now(),
            manner: StopManner::Abrupt,
        });
        history.lists.push(list_all(&recorder, &client).await?);
    }
    history
        .watches
        .push(replay(&recorder, &client, &history).await?);
    target.stop(StopManner::Graceful).await?;
    judge(plan, &history)
}

fn judge(plan: &CrashPlan, history: &History) -> anyhow::Result<CrashSummary> {
    let verdict = checkers::check(history);
    if !verdict.holds() {
        bail!("a crash broke promises (seed {}):\n\n{verdict}", plan.seed);
    }
    let writes = history.writes.iter();
    let unknown = writes.filter(|write| matches!(write.outcome, WriteOutcome::Unknown));
    Ok(CrashSummary {
        acknowledged: history.writes.iter().filter_map(Write::stored).count(),
        unknown: unknown.count(),
        objects: history.lists.last().map_or(0, |list| list.items().count()),
        kills: history.restarts.len(),
    })
}

/// The order of things, and marks for writes.
#[derive(Debug, Default)]
struct Recorder {
    moments: AtomicU64,
    tokens: AtomicU64,
}

impl Recorder {
    fn now(&self) -> Moment {
        Moment(self.moments.fetch_add(1, Ordering::SeqCst))
    }

    fn next_token(&self) -> Token {
        Token(self.tokens.fetch_add(1, Ordering::SeqCst))
    }
}

/// Connections that create objects until the server is gone.
struct Load {
    creators: JoinSet<anyhow::Result<Vec<Write>>>,
    acknowledged: watch::Receiver<u64>,
}

impl Load {
    fn start(plan: &CrashPlan, recorder: &Arc<Recorder>, client: &Client) -> Self {
        let (sender, acknowledged) = watch::channel(0);
        let mut creators = JoinSet::new();
        for _ in 0..plan.connections {
            let creator = Creator {
                recorder: Arc::clone(recorder),
                client: client.clone(),
                acknowledged: sender.clone(),
                object_bytes: plan.object_bytes,
            };
            creators.spawn(creator.run());
        }
        Self {
            creators,
            acknowledged,
        }
    }

    async fn acknowledges(&mut self, writes: u64) -> anyhow::Result<()> {
        let reached = self.acknowledged.wait_for(|count| *count >= writes).await;
        reached
            .map(|_| ())
            .context("the server went away before it was killed")
    }

    async fn end(mut self) -> anyhow::Result<Vec<Write>> {
        let mut writes = Vec::new();
        while let Some(part) = self.creators.join_next().await {
            writes.extend(part??);
        }
        Ok(writes)
    }
}

struct Creator {
    recorder: Arc<Recorder>,
    client: Client,
    acknowledged: watch::Sender<u64>,
    object_bytes: usize,
}

impl Creator {
    async fn run(self) -> anyhow::Result<Vec<Write>> {
        let mut writes = Vec::new();
        while let Some(write) = self.create().await? {
            let gone = matches!(write.outcome, WriteOutcome::Unknown);
            if write.stored().is_some() {
                self.acknowledged.send_modify(|count| *count += 1);
            }
            writes.push(write);
            if gone {
                break;
            }
        }
        Ok(writes)
    }

    /// One write; `None` when the server cannot be reached any more.
    async fn create(&self) -> anyhow::Result<Option<Write>> {
        let token = self.recorder.next_token();
        let key = ObjectKey::new(NAMESPACE, &format!("crash-{}", token.0));
        let object = json!({
            "metadata": {
                "name": key.name,
                "annotations": {ObjectVersion::TOKEN_ANNOTATION: token.0.to_string()},
            },
            "data": {"filler": "x".repeat(self.object_bytes)},
        });
        let began = self.recorder.now();
        let answer = self.client.create(&configmaps(), &object).await;
        let outcome = answers::write_outcome(answer)?;
        let ended = self.recorder.now();
        Ok(outcome.map(|outcome| Write {
            began,
            ended,
            key,
            token,
            request: WriteRequest::Create,
            outcome,
            answerer: Answerer::default(),
        }))
    }
}

fn configmaps() -> Collection {
    Collection::core("configmaps").in_namespace(NAMESPACE)
}

async fn list_all(recorder: &Recorder, client: &Client) -> anyhow::Result<List> {
    let began = recorder.now();
    let everywhere = Collection::core("configmaps");
    let page = client.list(&everywhere, &ListOptions::default()).await;
    let page = answers::page(page.context("a list after a start")?, Answerer::default())?;
    Ok(List {
        began,
        ended: recorder.now(),
        selection: Selection::everything(),
        freshness: Freshness::MostRecent,
        pages: vec![page],
        end: ListEnd::Complete,
    })
}

/// A watch from the very first version: history, too, survives.
async fn replay(recorder: &Recorder, client: &Client, history: &History) -> anyhow::Result<Watch> {
    let at = |list: Option<&List>| list.and_then(List::at).context("a list without a page");
    let first = at(history.lists.first())?;
    let through = at(history.lists.last())?;
    let newest = history.lists.last().into_iter().flat_map(List::items);
    let newest = newest.map(|item| item.version).max();
    let options = WatchOptions {
        label_selector: None,
        field_selector: None,
        start: crate::client::WatchStart::After(first),
        bookmarks: WithBookmarks::Unwanted,
        timeout: None,
    };
    let mut watch = Watch {
        began: recorder.now(),
        selection: Selection::everything(),
        start: WatchStart::After(first, Origin::List),
        bookmarks: Bookmarks::Unwanted,
        frames: Vec::new(),
        ending: Ending::Drained { through },
        answerer: Answerer::default(),
    };
    let mut stream = client
        .watch(&Collection::core("configmaps"), &options)
        .await?;
    while last_version(&watch) < newest {
        match timeout(REPLAY_TIMEOUT, stream.next()).await {
            Ok(Some(Ok(event))) => watch.frames.push(Received {
                at: recorder.now(),
                frame: answers::frame(event)?,
            }),
            Ok(Some(Err(error))) => {
                watch.ending = answers::ended_watch(error);
                break;
            }
            // The checkers find what is missing.
            Ok(None) | Err(_) => break,
        }
    }
    Ok(watch)
}

fn last_version(watch: &Watch) -> Option<ResourceVersion> {
    watch.frames.last().map(|received| received.frame.version())
}
