//! A client that writes and reads single objects, and turns to another server when one fails it.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    plan::{KIND, Verb, WriterAction},
    stage::{Route, Stage, Turn},
};
use crate::{
    answers,
    client::{Collection, Patch, Precondition, RequestError},
    history::{
        History, ObjectKey, ObjectVersion, Origin, Read, Refusal, Token, Write, WriteOutcome,
        WriteRequest,
    },
    workload::kind::Look,
};

/// Updates sent at once against one version.
const RACERS: usize = 3;

/// Servers that are asked for one thing before the client gives up.
const ATTEMPTS_MAX: usize = 3;

/// Makes the namespaces that the writers use.
pub(super) async fn prepare(stage: &Stage) -> anyhow::Result<()> {
    let (client, _) = stage.server(Route::to(0));
    for name in KIND.namespaces() {
        let namespace = json!({"metadata": {"name": name}});
        let created = client
            .create(&Collection::core("namespaces"), &namespace)
            .await;
        created?;
    }
    Ok(())
}

/// Does what is planned for one writer.
pub(super) async fn run(stage: Arc<Stage>, number: usize) -> anyhow::Result<History> {
    let mut writer = Writer {
        route: Route::to(number),
        random: fastrand::Rng::with_seed(0),
        history: History::default(),
        stage,
    };
    let steps = writer.stage.plan.writers[number].clone();
    for step in steps {
        if writer.stage.turn(step.at).await == Turn::TooLate {
            continue;
        }
        writer.random = fastrand::Rng::with_seed(step.chance);
        writer.act(step.action).await?;
    }
    Ok(writer.history)
}

/// Creates one more object, after which nothing changes, and tells of it.
pub(super) async fn write_last(stage: &Stage, key: ObjectKey) -> anyhow::Result<Option<Write>> {
    let mut random = fastrand::Rng::with_seed(0);
    let attempt = Attempt::create(stage, key, &mut random);
    attempt.send(stage, &mut Route::to(0)).await
}

struct Writer {
    stage: Arc<Stage>,
    route: Route,
    random: fastrand::Rng,
    history: History,
}

impl Writer {
    async fn act(&mut self, action: WriterAction) -> anyhow::Result<()> {
        let WriterAction { key, verb } = action;
        let known = self.stage.ledger.object(&key);
        let stage = Arc::clone(&self.stage);
        let attempt = match (verb, known) {
            (Verb::Get, _) => return self.read(key).await,
            (Verb::PatchNothing, _) => return self.patch_nothing(key).await,
            (Verb::Race, Some(known)) => return self.race(&known).await,
            (Verb::Create, _) | (Verb::Put | Verb::Race, None) => {
                Attempt::create(&stage, key, &mut self.random)
            }
            (Verb::Put, Some(known)) => Attempt::update(&stage, &known, &mut self.random),
            (Verb::Patch, _) => Attempt::patch(&stage, key, &mut self.random),
            (Verb::DeleteUnchanged, Some(known)) => {
                Attempt::delete(&stage, key, Precondition::Unchanged(known.version))
            }
            (Verb::Delete | Verb::DeleteUnchanged, _) => {
                Attempt::delete(&stage, key, Precondition::None)
            }
        };
        let write = attempt.send(&stage, &mut self.route).await?;
        self.finish(write).await
    }

    /// Several updates against one version at once, each by another server.
    async fn race(&mut self, known: &ObjectVersion) -> anyhow::Result<()> {
        let mut racers = JoinSet::new();
        for number in 0..RACERS {
            let stage = Arc::clone(&self.stage);
            let attempt = Attempt::update(&stage, known, &mut self.random);
            racers.spawn(async move { attempt.send(&stage, &mut Route::to(number)).await });
        }
        while let Some(raced) = racers.join_next().await {
            self.finish(raced??).await?;
        }
        Ok(())
    }

    async fn read(&mut self, key: ObjectKey) -> anyhow::Result<()> {
        let collection = KIND.collection_of(&key);
        for _ in 0..ATTEMPTS_MAX {
            let (client, answerer) = self.stage.server(self.route);
            let began = self.stage.ledger.now();
            let answer = client.get(&collection, &key.name).await;
            let read = |seen| Read {
                began,
                ended: self.stage.ledger.now(),
                key: key.clone(),
                seen,
                answerer,
            };
            match answer {
                Ok(answer) => {
                    let read = read(Some(answers::object(answer)?));
                    self.keep(read);
                    return Ok(());
                }
                Err(RequestError::NotFound(_)) => {
                    let read = read(None);
                    self.keep(read);
                    return Ok(());
                }
                Err(error) => self.stage.move_on_after(&error, &mut self.route),
            }
        }
        Ok(())
    }

    /// A patch that changes nothing is a read.
    async fn patch_nothing(&mut self, key: ObjectKey) -> anyhow::Result<()> {
        let (client, answerer) = self.stage.server(self.route);
        let collection = KIND.collection_of(&key);
        let began = self.stage.ledger.now();
        let patch = Patch::Merge(json!({}));
        let seen = match client.patch(&collection, &key.name, &patch).await {
            Ok(answer) => Some(answers::object(answer)?),
            Err(RequestError::NotFound(_)) => None,
            Err(error) => {
                self.stage.move_on_after(&error, &mut self.route);
                return Ok(());
            }
        };
        let ended = self.stage.ledger.now();
        self.keep(Read {
            began,
            ended,
            key,
            seen,
            answerer,
        });
        Ok(())
    }

    fn keep(&mut self, read: Read) {
        self.stage.a_consistent_read_succeeded();
        match &read.seen {
            Some(object) => self.stage.ledger.stored(object),
            None => self.stage.ledger.gone(&read.key),
        }
        self.history.reads.push(read);
    }

    async fn finish(&mut self, write: Option<Write>) -> anyhow::Result<()> {
        let Some(write) = write else {
            return Ok(());
        };
        let key = write.key.clone();
        let ledger = &self.stage.ledger;
        let in_doubt = match &write.outcome {
            WriteOutcome::Stored(object) => {
                self.stage.a_write_succeeded();
                ledger.stored(object);
                ledger.heard_of(object.version, Origin::Write, &mut self.random);
                false
            }
            WriteOutcome::Deleted { .. } => {
                self.stage.a_write_succeeded();
                ledger.gone(&key);
                false
            }
            WriteOutcome::Refused(Refusal::NotFound) => {
                ledger.gone(&key);
                false
            }
            WriteOutcome::Refused(Refusal::Busy) => false,
            WriteOutcome::Refused(_) | WriteOutcome::Unknown => true,
        };
        self.history.writes.push(write);
        if in_doubt {
            self.read(key).await?;
        }
        Ok(())
    }
}

/// A write that is to be sent.
struct Attempt {
    key: ObjectKey,
    token: Token,
    request: WriteRequest,
    message: Message,
}

enum Message {
    Create(Value),
    Update(Value),
    Patch(Patch),
    Delete(Precondition),
}

impl Attempt {
    fn create(stage: &Stage, key: ObjectKey, random: &mut fastrand::Rng) -> Self {
        let token = stage.ledger.next_token();
        let object = KIND.object(&key, token, Look::random(random));
        Self {
            key,
            token,
            request: WriteRequest::Create,
            message: Message::Create(object),
        }
    }

    fn update(stage: &Stage, known: &ObjectVersion, random: &mut fastrand::Rng) -> Self {
        let token = stage.ledger.next_token();
        let mut object = KIND.object(&known.key, token, Look::random(random));
        object["metadata"]["resourceVersion"] = json!(known.version.to_string());
        Self {
            key: known.key.clone(),
            token,
            request: WriteRequest::Update {
                against: known.version,
            },
            message: Message::Update(object),
        }
    }

    fn patch(stage: &Stage, key: ObjectKey, random: &mut fastrand::Rng) -> Self {
        let token = stage.ledger.next_token();
        let look = Look::random(random);
        Self {
            key,
            token,
            request: WriteRequest::Patch,
            message: Message::Patch(KIND.patch(token, look, random)),
        }
    }

    fn delete(stage: &Stage, key: ObjectKey, precondition: Precondition) -> Self {
        let against = match precondition {
            Precondition::None => None,
            Precondition::Unchanged(version) => Some(version),
        };
        Self {
            key,
            token: stage.ledger.next_token(),
            request: WriteRequest::Delete { against },
            message: Message::Delete(precondition),
        }
    }

    /// Sends it to one server after the other until one could be reached; `None` if none could.
    /// What has been sent is never sent again.
    async fn send(self, stage: &Stage, route: &mut Route) -> anyhow::Result<Option<Write>> {
        for _ in 0..ATTEMPTS_MAX {
            let (_, answerer) = stage.server(*route);
            let began = stage.ledger.now();
            let outcome = self.send_once(stage, route).await?;
            let ended = stage.ledger.now();
            if let Some(outcome) = outcome {
                return Ok(Some(Write {
                    began,
                    ended,
                    key: self.key,
                    token: self.token,
                    request: self.request,
                    outcome,
                    answerer,
                }));
            }
        }
        Ok(None)
    }

    async fn send_once(
        &self,
        stage: &Stage,
        route: &mut Route,
    ) -> anyhow::Result<Option<WriteOutcome>> {
        let (client, _) = stage.server(*route);
        let collection = KIND.collection_of(&self.key);
        let name = &self.key.name;
        let answer = match &self.message {
            Message::Create(object) => client.create(&collection, object).await,
            Message::Update(object) => client.update(&collection, name, object).await,
            Message::Patch(patch) => client.patch(&collection, name, patch).await,
            Message::Delete(precondition) => {
                let answer = client.delete(&collection, name, *precondition).await;
                if let Err(error) = &answer {
                    stage.move_on_after(error, route);
                }
                return answers::delete_outcome(answer);
            }
        };
        if let Err(error) = &answer {
            stage.move_on_after(error, route);
        }
        answers::write_outcome(answer)
    }
}
