//! A client that writes: creates, updates, patches, deletes, and reads in between.

use std::sync::Arc;

use crate::client::{Collection, Patch, Precondition, RequestError};
use anyhow::Context;
use serde_json::json;

use super::{kind::Look, world::World};
use crate::{
    answers,
    history::{
        Answerer, History, Moment, ObjectKey, ObjectVersion, Origin, Read, Refusal, Token, Write,
        WriteOutcome, WriteRequest,
    },
};

/// Updates sent at once against one version.
const RACERS: usize = 3;

/// Makes the namespaces that the writers use.
pub(super) async fn prepare(world: &World) -> anyhow::Result<()> {
    let client = world.client().await;
    for name in world.plan.kind.namespaces() {
        let namespace = json!({"metadata": {"name": name}});
        match client
            .create(&Collection::core("namespaces"), &namespace)
            .await
        {
            Ok(_) | Err(RequestError::AlreadyExists(_)) => {}
            Err(error) => return Err(error).context("a namespace could not be created"),
        }
    }
    Ok(())
}

/// Makes as many writes as planned.
pub(super) async fn run(world: Arc<World>, number: usize) -> anyhow::Result<History> {
    let random = world.plan.random_of("writer", number);
    let mut writer = Writer {
        random,
        history: History::default(),
        world,
    };
    while writer.history.writes.len() < writer.world.plan.writes_per_writer {
        writer.step().await?;
    }
    Ok(writer.history)
}

struct Writer {
    world: Arc<World>,
    random: fastrand::Rng,
    history: History,
}

impl Writer {
    async fn step(&mut self) -> anyhow::Result<()> {
        let key = self.world.plan.kind.random_key(&mut self.random);
        let Some(known) = self.world.ledger.object(&key) else {
            return self.create(key).await;
        };
        match self.random.u8(0..100) {
            0..25 => self.update(&known).await,
            25..55 => self.patch(key).await,
            55..65 => self.race(&known).await,
            65..80 => self.delete(&known).await,
            80..85 => self.create(key).await,
            85..95 => self.read(key).await,
            _ => self.patch_nothing(key).await,
        }
    }

    async fn create(&mut self, key: ObjectKey) -> anyhow::Result<()> {
        let (attempt, look) = self.attempt(key, WriteRequest::Create);
        let object = self
            .world
            .plan
            .kind
            .object(&attempt.key, attempt.token, look);
        let client = self.world.client().await;
        let attempt = attempt.begin(&self.world);
        let answer = client
            .create(&attempt.collection(&self.world), &object)
            .await;
        self.finish(attempt, answers::write_outcome(answer)?).await
    }

    async fn update(&mut self, known: &ObjectVersion) -> anyhow::Result<()> {
        let against = known.version;
        let (attempt, look) = self.attempt(known.key.clone(), WriteRequest::Update { against });
        let (attempt, outcome) = attempt.update(&self.world, look).await?;
        self.finish(attempt, outcome).await
    }

    /// Several updates against one version at once.
    async fn race(&mut self, known: &ObjectVersion) -> anyhow::Result<()> {
        let against = known.version;
        let mut racers = tokio::task::JoinSet::new();
        for _ in 0..RACERS {
            let request = WriteRequest::Update { against };
            let (attempt, look) = self.attempt(known.key.clone(), request);
            let world = Arc::clone(&self.world);
            racers.spawn(async move { attempt.update(&world, look).await });
        }
        while let Some(raced) = racers.join_next().await {
            let (attempt, outcome) = raced??;
            self.finish(attempt, outcome).await?;
        }
        Ok(())
    }

    async fn patch(&mut self, key: ObjectKey) -> anyhow::Result<()> {
        let (attempt, look) = self.attempt(key, WriteRequest::Patch);
        let kind = self.world.plan.kind;
        let patch = kind.patch(attempt.token, look, &mut self.random);
        let client = self.world.client().await;
        let attempt = attempt.begin(&self.world);
        let answer = client
            .patch(&attempt.collection(&self.world), &attempt.key.name, &patch)
            .await;
        self.finish(attempt, answers::write_outcome(answer)?).await
    }

    async fn delete(&mut self, known: &ObjectVersion) -> anyhow::Result<()> {
        let against = self.random.bool().then_some(known.version);
        let request = WriteRequest::Delete { against };
        let (attempt, _) = self.attempt(known.key.clone(), request);
        let precondition = against.map_or(Precondition::None, Precondition::Unchanged);
        let client = self.world.client().await;
        let attempt = attempt.begin(&self.world);
        let name = &attempt.key.name;
        let answer = client
            .delete(&attempt.collection(&self.world), name, precondition)
            .await;
        self.finish(attempt, answers::delete_outcome(answer)?).await
    }

    async fn read(&mut self, key: ObjectKey) -> anyhow::Result<()> {
        let client = self.world.client().await;
        let began = self.world.ledger.now();
        let collection = self.world.plan.kind.collection_of(&key);
        let seen = match client.get(&collection, &key.name).await {
            Ok(answer) => Some(answers::object(answer)?),
            Err(RequestError::NotFound(_)) => None,
            Err(_) => return Ok(()),
        };
        self.record_read(began, key, seen);
        Ok(())
    }

    /// A patch that changes nothing is a read: no new version, and no event.
    async fn patch_nothing(&mut self, key: ObjectKey) -> anyhow::Result<()> {
        let client = self.world.client().await;
        let began = self.world.ledger.now();
        let collection = self.world.plan.kind.collection_of(&key);
        let patch = Patch::Merge(json!({}));
        let seen = match client.patch(&collection, &key.name, &patch).await {
            Ok(answer) => Some(answers::object(answer)?),
            Err(RequestError::NotFound(_)) => None,
            Err(_) => return Ok(()),
        };
        self.record_read(began, key, seen);
        Ok(())
    }

    fn record_read(&mut self, began: Moment, key: ObjectKey, seen: Option<ObjectVersion>) {
        let ended = self.world.ledger.now();
        match &seen {
            Some(object) => self.world.ledger.stored(object),
            None => self.world.ledger.gone(&key),
        }
        self.history.reads.push(Read {
            began,
            ended,
            key,
            seen,
            answerer: Answerer::default(),
        });
    }

    fn attempt(&mut self, key: ObjectKey, request: WriteRequest) -> (Attempt, Look) {
        let attempt = Attempt {
            key,
            token: self.world.ledger.next_token(),
            request,
            began: Moment::default(),
        };
        (attempt, Look::random(&mut self.random))
    }

    async fn finish(
        &mut self,
        attempt: Attempt,
        outcome: Option<WriteOutcome>,
    ) -> anyhow::Result<()> {
        let Some(outcome) = outcome else {
            return Ok(());
        };
        let ended = self.world.ledger.now();
        match &outcome {
            WriteOutcome::Stored(object) => {
                self.world.ledger.stored(object);
                let origin = Origin::Write;
                self.world
                    .ledger
                    .heard_of(object.version, origin, &mut self.random);
            }
            WriteOutcome::Deleted { .. } | WriteOutcome::Refused(Refusal::NotFound) => {
                self.world.ledger.gone(&attempt.key);
            }
            WriteOutcome::Refused(Refusal::Busy) => {
                tokio::time::sleep(answers::BUSY_PAUSE).await;
            }
            WriteOutcome::Refused(_) | WriteOutcome::Unknown => {
                // What is known of the object is out of date: the next write finds out.
                self.read(attempt.key.clone()).await?;
            }
        }
        self.history.writes.push(Write {
            began: attempt.began,
            ended,
            key: attempt.key,
            token: attempt.token,
            request: attempt.request,
            outcome,
            answerer: Answerer::default(),
        });
        self.world.a_write_ended();
        Ok(())
    }
}

/// A write on its way.
struct Attempt {
    key: ObjectKey,
    token: Token,
    request: WriteRequest,
    began: Moment,
}

impl Attempt {
    fn begin(mut self, world: &World) -> Self {
        self.began = world.ledger.now();
        self
    }

    fn collection(&self, world: &World) -> Collection {
        world.plan.kind.collection_of(&self.key)
    }

    async fn update(
        self,
        world: &World,
        look: Look,
    ) -> anyhow::Result<(Self, Option<WriteOutcome>)> {
        let mut object = world.plan.kind.object(&self.key, self.token, look);
        if let WriteRequest::Update { against } = self.request {
            object["metadata"]["resourceVersion"] = json!(against.to_string());
        }
        let client = world.client().await;
        let attempt = self.begin(world);
        let name = &attempt.key.name;
        let answer = client
            .update(&attempt.collection(world), name, &object)
            .await;
        let outcome = answers::write_outcome(answer)?;
        Ok((attempt, outcome))
    }
}
