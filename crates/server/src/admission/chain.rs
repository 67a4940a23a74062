//! The order in which everybody is asked who wants to be asked about one write.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::join_all;
use listwatch_api::{GroupResource, Status};
use serde_json::Value;

use super::{
    matching::Constraints,
    request::{Asked, Shown, is_namespace},
    webhooks::{Failure, OnFailure, Purpose, Reinvocation, Webhook, unanswered},
};
use crate::{
    commit::{Stored, object_key, parse},
    registry::Definition,
};

/// How often the mutating ones are asked at the most.
const ROUNDS: [Round; 2] = [Round::First, Round::Again];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    First,
    /// Only those are asked who want to see what others made of it after them.
    Again,
}

/// Everybody who is to be asked about one write.
pub(crate) struct Chain<'a> {
    asked: Asked<'a>,
    mutating: Vec<Matched>,
    validating: Vec<Matched>,
    /// What the client should hear.
    pub(crate) warnings: Vec<String>,
}

/// A webhook, and the version of the object that it wants to see.
pub(super) struct Matched {
    pub(super) webhook: Arc<Webhook>,
    pub(super) version: Arc<Definition>,
}

impl<'a> Chain<'a> {
    pub(super) fn new(asked: Asked<'a>, mutating: Vec<Matched>, validating: Vec<Matched>) -> Self {
        Self {
            asked,
            mutating,
            validating,
            warnings: Vec::new(),
        }
    }

    /// What everybody makes of an object that is to be written, one after the other.
    pub(crate) async fn mutate(
        &mut self,
        mut object: Option<Value>,
        old: Option<&Value>,
    ) -> Result<Option<Value>, Status> {
        let mut asked_before = BTreeSet::new();
        let mut to_ask_again = BTreeSet::new();
        for round in ROUNDS {
            for place in 0..self.mutating.len() {
                if round == Round::Again && !to_ask_again.contains(&place) {
                    continue;
                }
                let Matched { webhook, version } = &self.mutating[place];
                let states = [object.as_ref(), old];
                if !self.is_asked(&webhook.constraints, states).await? {
                    continue;
                }
                let shown = self.shown(version, states);
                let answer = webhook.ask(
                    self.asked.server,
                    (&self.asked, version),
                    (Purpose::Mutate, &shown),
                    &mut self.warnings,
                );
                let changed = settle(webhook, answer.await)?;
                if let (Some(changed), Some(before)) = (changed, &object) {
                    object = Some(self.asked.restore(version, before, changed)?);
                    to_ask_again.append(&mut asked_before);
                }
                if webhook.reinvocation == Reinvocation::IfNeeded {
                    asked_before.insert(place);
                }
            }
        }
        Ok(object)
    }

    /// Asks everybody whether an object may be written or removed.
    pub(crate) async fn validate(
        &mut self,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let states = [object, old];
        let mut asked = Vec::new();
        for matched in &self.validating {
            if self.is_asked(&matched.webhook.constraints, states).await? {
                asked.push(matched);
            }
        }
        let answers = asked.into_iter().map(|matched| async {
            let Matched { webhook, version } = matched;
            let shown = self.shown(version, states);
            let mut warnings = Vec::new();
            let answer = webhook.ask(
                self.asked.server,
                (&self.asked, version),
                (Purpose::Validate, &shown),
                &mut warnings,
            );
            (settle(webhook, answer.await), warnings)
        });
        let answers = join_all(answers).await;
        let mut verdict = Ok(());
        for (answer, mut warnings) in answers {
            self.warnings.append(&mut warnings);
            verdict = verdict.and(answer.map(drop));
        }
        verdict
    }

    fn shown(&self, version: &Definition, [object, old]: [Option<&Value>; 2]) -> Shown {
        let show = |state: &Value| self.asked.show(version, state);
        Shown {
            object: object.map(show),
            old: old.map(show),
        }
    }

    async fn is_asked(
        &self,
        constraints: &Constraints,
        states: [Option<&Value>; 2],
    ) -> Result<bool, Status> {
        if !constraints.selects_object(states) {
            return Ok(false);
        }
        match self.asked.namespace() {
            Some(name) if constraints.looks_at_namespace() => {
                let labels = self.namespace_labels(name, states).await?;
                Ok(constraints.selects_namespace(&labels))
            }
            _ => Ok(true),
        }
    }

    async fn namespace_labels(
        &self,
        name: &str,
        [object, _]: [Option<&Value>; 2],
    ) -> Result<Value, Status> {
        let Asked {
            server, request, ..
        } = &self.asked;
        let is_itself = is_namespace(&request.definition) && self.asked.subresource().is_empty();
        if let Some(object) = object.filter(|_| is_itself) {
            return Ok(object["metadata"]["labels"].clone());
        }
        let definition = server.registry.find("", "v1", "namespaces");
        let definition = definition.expect("namespaces are built in");
        let cache = server.cache(&definition)?;
        let key = object_key(&definition, None, name);
        if let Some(cached) = cache.cached(&key) {
            return Ok(parse(cached.stored().value())["metadata"]["labels"].clone());
        }
        match server.committer.read(&cache, &key).await? {
            Stored::Object(current) => Ok(current.about()["metadata"]["labels"].clone()),
            Stored::Absent | Stored::Unreadable(_) => {
                let namespaces = GroupResource::new("", "namespaces");
                Err(Status::not_found(namespaces, name))
            }
        }
    }
}

/// What an answer, or the lack of one, means for the request.
fn settle(
    webhook: &Webhook,
    answer: Result<Option<Value>, Failure>,
) -> Result<Option<Value>, Status> {
    match answer {
        Ok(changed) => Ok(changed),
        Err(Failure::Refused(status)) => Err(*status),
        Err(Failure::NoAnswer(why)) => {
            tracing::warn!("failed calling webhook {:?}: {why}", webhook.name);
            match webhook.on_failure() {
                OnFailure::Refuse => Err(unanswered(webhook, &why)),
                OnFailure::Ignore => Ok(None),
            }
        }
    }
}
