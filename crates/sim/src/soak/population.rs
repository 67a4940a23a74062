//! The objects of a soak, and those who make, change and delete them.

use std::time::Duration;

use anyhow::{Context, bail};
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet, time};

use crate::client::{Client, Collection, Patch, Precondition, RequestError};

/// The namespaces over which the objects are spread.
pub(super) const NAMESPACES: [&str; 5] = ["soak-a", "soak-b", "soak-c", "soak-d", "soak-e"];

/// Connections that fill the server.
const FILLERS: usize = 16;

/// Connections that change what is there.
const WRITERS: usize = 8;

/// Objects that each writer comes back to again and again.
const FAVOURITES: usize = 25;

/// How long the writers may take for what is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the server is; `None` while it is down.
pub(super) type Server = watch::Receiver<Option<Client>>;

/// Whether anything is to change any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Writing,
    Done,
}

/// The writers at work.
pub(super) struct Writers {
    phase: watch::Sender<Phase>,
    acknowledged: watch::Sender<u64>,
    tasks: JoinSet<anyhow::Result<()>>,
}

/// What to change, and how fast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Churn {
    pub(super) objects: usize,
    pub(super) writes_per_second: u32,
}

/// Makes the namespaces and all objects.
pub(super) async fn fill(client: &Client, objects: usize, random: &mut Rng) -> anyhow::Result<()> {
    for namespace in NAMESPACES {
        let object = json!({"metadata": {"name": namespace}});
        made(
            client
                .create(&Collection::core("namespaces"), &object)
                .await,
        )?;
    }
    let mut fillers = JoinSet::new();
    for first in 0..FILLERS {
        let client = client.clone();
        let mut random = random.fork();
        fillers.spawn(async move {
            for slot in (first..objects).step_by(FILLERS) {
                let object = object(slot, &mut random);
                made(client.create(&configmaps(slot), &object).await)?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(filled) = fillers.join_next().await {
        filled??;
    }
    Ok(())
}

fn made(answer: Result<Value, RequestError>) -> anyhow::Result<()> {
    match answer {
        Ok(_) | Err(RequestError::AlreadyExists(_)) => Ok(()),
        Err(error) => Err(error).context("the server could not be filled"),
    }
}

impl Writers {
    pub(super) fn start(churn: Churn, server: &Server, random: &mut Rng) -> Self {
        let phase = watch::Sender::new(Phase::Writing);
        let acknowledged = watch::Sender::new(0);
        let mut tasks = JoinSet::new();
        for first in 0..WRITERS {
            let writer = Writer {
                server: server.clone(),
                phase: phase.subscribe(),
                acknowledged: acknowledged.clone(),
                random: random.fork(),
                first,
                objects: churn.objects,
            };
            let pause = Duration::from_secs(1) * WRITERS as u32 / churn.writes_per_second;
            tasks.spawn(writer.run(pause));
        }
        Self {
            phase,
            acknowledged,
            tasks,
        }
    }

    /// Waits until so many more writes have been acknowledged.
    pub(super) async fn acknowledge(&self, more: u64) -> anyhow::Result<()> {
        let enough = *self.acknowledged.borrow() + more;
        let mut acknowledged = self.acknowledged.subscribe();
        let reached = acknowledged.wait_for(|count| *count >= enough);
        let reached = time::timeout(PATIENCE, reached).await;
        reached.context("the server takes too few writes")??;
        Ok(())
    }

    /// Ends them, each after its last answer, and says how many writes were acknowledged.
    pub(super) async fn stop(mut self) -> anyhow::Result<u64> {
        self.phase.send_replace(Phase::Done);
        while let Some(ended) = self.tasks.join_next().await {
            ended??;
        }
        Ok(*self.acknowledged.borrow())
    }
}

/// Changes every `WRITERS`th object, by chance.
struct Writer {
    server: Server,
    phase: watch::Receiver<Phase>,
    acknowledged: watch::Sender<u64>,
    random: Rng,
    first: usize,
    objects: usize,
}

impl Writer {
    async fn run(mut self, pause: Duration) -> anyhow::Result<()> {
        let mut ticks = time::interval(pause);
        ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        while *self.phase.borrow() == Phase::Writing {
            ticks.tick().await;
            let client = self.server.borrow().clone();
            let Some(client) = client else { continue };
            match self.write(&client).await {
                Ok(()) => self.acknowledged.send_modify(|count| *count += 1),
                Err(
                    RequestError::Unreachable { .. }
                    | RequestError::Disconnected { .. }
                    | RequestError::TooManyRequests { .. }
                    | RequestError::ServerFault(_)
                    | RequestError::AlreadyExists(_)
                    | RequestError::NotFound(_)
                    | RequestError::Conflict(_),
                ) => {}
                Err(error) => bail!("a write was refused: {error}"),
            }
        }
        Ok(())
    }

    async fn write(&mut self, client: &Client) -> Result<(), RequestError> {
        let slot = self.slot();
        let (collection, name) = (configmaps(slot), name(slot));
        let patch = match self.random.u8(0..100) {
            0..40 => json!({"data": {"of": self.random.u32(..).to_string()}}),
            40..65 => json!({"metadata": {"labels": labels(&mut self.random)}}),
            65..80 => {
                let deleted = client.delete(&collection, &name, Precondition::None).await;
                return deleted.map(drop);
            }
            80..98 => {
                let object = object(slot, &mut self.random);
                return client.create(&collection, &object).await.map(drop);
            }
            _ => {
                let name = NAMESPACES[self.random.usize(..NAMESPACES.len())];
                let patch = json!({"metadata": {"labels": labels(&mut self.random)}});
                let namespaces = Collection::core("namespaces");
                let patched = client.patch(&namespaces, name, &Patch::Merge(patch)).await;
                return patched.map(drop);
            }
        };
        let patched = client.patch(&collection, &name, &Patch::Merge(patch)).await;
        patched.map(drop)
    }

    /// One of its own objects: half of the time a favourite.
    fn slot(&mut self) -> usize {
        let own = self.objects.div_ceil(WRITERS).max(1);
        let among = match self.random.bool() {
            true => own.min(FAVOURITES),
            false => own,
        };
        self.first + self.random.usize(..among) * WRITERS
    }
}

fn configmaps(slot: usize) -> Collection {
    Collection::core("configmaps").in_namespace(NAMESPACES[slot % NAMESPACES.len()])
}

fn name(slot: usize) -> String {
    format!("object-{slot:06}")
}

fn object(slot: usize, random: &mut Rng) -> Value {
    let mut labels = labels(random);
    if let Some(labels) = labels.as_object_mut() {
        labels.retain(|_, value| !value.is_null());
    }
    json!({
        "metadata": {"name": name(slot), "labels": labels},
        "data": {"of": random.u32(..).to_string(), "filler": "x".repeat(random.usize(..200))},
    })
}

/// Labels that selectors look for, each there or not. For a merge: `null` removes.
fn labels(random: &mut Rng) -> Value {
    let tier = if random.bool() { "front" } else { "back" };
    let mut labels = json!({"tier": tier, "hidden": "yes"});
    for name in ["tier", "hidden"] {
        if random.bool() {
            labels[name] = Value::Null;
        }
    }
    labels
}
