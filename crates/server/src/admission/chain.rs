//! The order in which everybody is asked who wants to be asked about one write.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::join_all;
use listwatch_api::{GroupResource, Status, field_set};
use serde_json::Value;

use super::{
    conditions::Conditions,
    expressions::Facts,
    matching::{Constraints, Subject},
    policies::{self, Policy},
    request::{Asked, Shown, is_namespace},
    webhooks::{Failure, OnFailure, Purpose, Reinvocation, Webhook, unanswered},
};
use crate::{
    commit::{Stored, metadata_text, object_key, parse},
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

/// Somebody who is asked about writes.
#[derive(Clone)]
pub(super) enum Interceptor {
    Policy(Arc<Policy>),
    Webhook(Arc<Webhook>),
}

impl Interceptor {
    pub(super) fn constraints(&self) -> &Constraints {
        match self {
            Self::Policy(policy) => &policy.constraints,
            Self::Webhook(webhook) => &webhook.constraints,
        }
    }

    fn reinvocation(&self) -> Reinvocation {
        match self {
            Self::Policy(policy) => policy.reinvocation,
            Self::Webhook(webhook) => webhook.reinvocation,
        }
    }
}

/// Somebody who is asked, and the version of the object that they want to see.
pub(super) struct Matched {
    pub(super) interceptor: Interceptor,
    pub(super) version: Arc<Definition>,
}

/// The states of an object before and after a write, as they are stored.
type States<'a> = [Option<&'a Value>; 2];

/// Everybody who is to be asked about one write.
pub(crate) struct Chain<'a> {
    asked: Asked<'a>,
    mutating: Vec<Matched>,
    validating: Vec<Matched>,
    /// What the client should hear.
    pub(crate) warnings: Vec<String>,
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
        let mutating = std::mem::take(&mut self.mutating);
        let mut asked_before = BTreeSet::new();
        let mut to_ask_again = BTreeSet::new();
        for round in ROUNDS {
            for (place, matched) in mutating.iter().enumerate() {
                if round == Round::Again && !to_ask_again.contains(&place) {
                    continue;
                }
                let states = [object.as_ref(), old];
                if !self.is_asked(matched, states).await? {
                    continue;
                }
                if let Some(changed) = self.change(matched, states).await? {
                    object = Some(changed);
                    to_ask_again.append(&mut asked_before);
                }
                if matched.interceptor.reinvocation() == Reinvocation::IfNeeded {
                    asked_before.insert(place);
                }
            }
        }
        self.mutating = mutating;
        Ok(object)
    }

    /// What one of them makes of the object; `None` if they leave it as it is.
    async fn change(
        &mut self,
        matched: &Matched,
        states: States<'_>,
    ) -> Result<Option<Value>, Status> {
        let Matched {
            interceptor,
            version,
        } = matched;
        let changed = match interceptor {
            Interceptor::Webhook(webhook) => {
                let shown = self.shown(version, states).await?;
                let answer = webhook.ask(
                    self.asked.server,
                    (&self.asked, version),
                    (Purpose::Mutate, &shown),
                    &mut self.warnings,
                );
                settle(webhook, answer.await)?
            }
            Interceptor::Policy(policy) => self.change_by(policy, version, states).await?,
        };
        match (changed, states[0]) {
            (Some(changed), Some(before)) => {
                let restored = self.asked.restore(version, before, changed);
                restored.await.map(Some)
            }
            _ => Ok(None),
        }
    }

    async fn change_by(
        &self,
        policy: &Policy,
        version: &Definition,
        states: States<'_>,
    ) -> Result<Option<Value>, Status> {
        let mut facts = self.facts(version, states).await?;
        if facts.object.is_null() {
            return Ok(None);
        }
        let server = self.asked.server;
        let merge = |object: &Value, stated: &Value| match version.schema {
            Some(type_id) => {
                let schema = server.registry.schema();
                let problems = field_set::check_conformity(schema, type_id, stated);
                match problems.first() {
                    Some(problem) => Err(problem.to_string()),
                    None => Ok(field_set::merge(schema, type_id, object, stated)),
                }
            }
            None => Err("the kind has no schema".to_owned()),
        };
        let before = facts.object.clone();
        for binding in &policy.bindings {
            if !self.is_bound(binding, states).await? {
                continue;
            }
            let refuse = |why: &str| {
                let forbidden = |why: &str| self.forbidden(states, why);
                policies::unchangeable(policy, binding, why, forbidden)
            };
            let params = policies::collect(server, policy, binding, self.asked.namespace());
            let params = match params {
                Ok(params) => params,
                Err(why) => {
                    let why = format!("failed to configure binding: {why}");
                    refuse(&why).map_or(Ok(()), Err)?;
                    continue;
                }
            };
            for param in params {
                facts.params = param;
                if let Err(why) = policy.mutate(&mut facts, &merge) {
                    refuse(&why).map_or(Ok(()), Err)?;
                }
            }
        }
        Ok((facts.object != before).then_some(facts.object))
    }

    /// Asks everybody whether an object may be written or removed.
    pub(crate) async fn validate(
        &mut self,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let states = [object, old];
        let validating = std::mem::take(&mut self.validating);
        let mut webhooks = Vec::new();
        for matched in &validating {
            if !self.is_asked(matched, states).await? {
                continue;
            }
            match &matched.interceptor {
                Interceptor::Policy(policy) => {
                    self.judge_by(policy, &matched.version, states).await?;
                }
                Interceptor::Webhook(webhook) => webhooks.push((webhook, &matched.version)),
            }
        }
        let answers = webhooks.into_iter().map(|(webhook, version)| async {
            let mut warnings = Vec::new();
            let shown = match self.shown(version, states).await {
                Ok(shown) => shown,
                Err(status) => return (Err(status), warnings),
            };
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

    async fn judge_by(
        &mut self,
        policy: &Policy,
        version: &Definition,
        states: States<'_>,
    ) -> Result<(), Status> {
        let server = self.asked.server;
        let mut facts = self.facts(version, states).await?;
        for binding in &policy.bindings {
            if !self.is_bound(binding, states).await? {
                continue;
            }
            let forbidden = |why: &str| self.forbidden(states, why);
            let params = policies::collect(server, policy, binding, self.asked.namespace());
            let params = match params {
                Ok(params) => params,
                Err(why) => {
                    let refusal = policies::misconfigured(policy, binding, &why, forbidden);
                    refusal.map_or(Ok(()), Err)?;
                    continue;
                }
            };
            let mut told = Vec::new();
            for param in params {
                facts.params = param;
                for objection in policy.judge(&facts) {
                    told.extend(binding.warning(policy, &objection));
                    let refusal = binding.denial(policy, objection, forbidden);
                    refusal.map_or(Ok(()), Err)?;
                }
            }
            self.warnings.append(&mut told);
        }
        Ok(())
    }

    fn forbidden(&self, states: States<'_>, why: &str) -> Status {
        let object = states.into_iter().flatten().next();
        let text = |member| object.and_then(|object| metadata_text(object, member));
        let name = text("name")
            .or_else(|| text("generateName"))
            .unwrap_or("Unknown");
        Status::forbidden(self.asked.request.group_resource(), name, why)
    }

    async fn shown(&self, version: &Definition, states: States<'_>) -> Result<Shown, Status> {
        let mut shown = [None, None];
        for (shown, state) in shown.iter_mut().zip(states) {
            if let Some(state) = state {
                *shown = Some(self.asked.show(version, state).await?);
            }
        }
        let [object, old] = shown;
        Ok(Shown { object, old })
    }

    /// What expressions look at.
    async fn facts(&self, version: &Definition, states: States<'_>) -> Result<Facts, Status> {
        let Shown { object, old } = self.shown(version, states).await?;
        let is_itself = is_namespace(&self.asked.request.definition);
        let namespace = match self.asked.namespace() {
            Some(name) if !is_itself => self.namespace(name).await?,
            _ => Value::Null,
        };
        Ok(Facts {
            object: object.unwrap_or_default(),
            old: old.unwrap_or_default(),
            request: self.asked.describe(version),
            params: Value::Null,
            namespace,
        })
    }

    async fn is_asked(&self, matched: &Matched, states: States<'_>) -> Result<bool, Status> {
        if !self
            .is_selected(matched.interceptor.constraints(), states)
            .await?
        {
            return Ok(false);
        }
        match &matched.interceptor {
            Interceptor::Webhook(webhook) if !webhook.conditions.is_empty() => {
                let facts = self.facts(&matched.version, states).await?;
                self.meets(webhook, &webhook.conditions, (&facts, states))
            }
            _ => Ok(true),
        }
    }

    /// Whether the conditions of a webhook hold. If that cannot be said, its failure policy does.
    fn meets(
        &self,
        webhook: &Webhook,
        conditions: &Conditions,
        (facts, states): (&Facts, States<'_>),
    ) -> Result<bool, Status> {
        match (conditions.hold_of(facts), webhook.on_failure()) {
            (Ok(hold), _) => Ok(hold),
            (Err(_), OnFailure::Ignore) => Ok(false),
            (Err(why), OnFailure::Refuse) => Err(self.forbidden(states, &why)),
        }
    }

    async fn is_bound(
        &self,
        binding: &policies::Binding,
        states: States<'_>,
    ) -> Result<bool, Status> {
        let Some(constraints) = &binding.constraints else {
            return Ok(true);
        };
        let definition = &self.asked.request.definition;
        let subject = Subject {
            definition,
            subresource: self.asked.subresource(),
            operation: self.asked.operation,
            name: &self.asked.name,
        };
        let versions = self.asked.server.registry.versions(definition);
        let versions = versions.iter().map(|version| &**version);
        if !constraints.includes(subject, versions) {
            return Ok(false);
        }
        self.is_selected(constraints, states).await
    }

    async fn is_selected(
        &self,
        constraints: &Constraints,
        states: States<'_>,
    ) -> Result<bool, Status> {
        if !constraints.selects_object(states) {
            return Ok(false);
        }
        let Some(name) = self
            .asked
            .namespace()
            .filter(|_| constraints.looks_at_namespace())
        else {
            return Ok(true);
        };
        let is_itself = is_namespace(&self.asked.request.definition);
        let labels = match states[0] {
            Some(object) if is_itself && self.asked.subresource().is_empty() => {
                object["metadata"]["labels"].clone()
            }
            _ => self.namespace(name).await?["metadata"]["labels"].clone(),
        };
        Ok(constraints.selects_namespace(&labels))
    }

    /// A namespace, without the owners of its fields.
    async fn namespace(&self, name: &str) -> Result<Value, Status> {
        let server = self.asked.server;
        let definition = server.registry.find("", "v1", "namespaces");
        let definition = definition.expect("namespaces are built in");
        let cache = server.cache(&definition)?;
        let key = object_key(&definition, None, name);
        let mut namespace = match cache.cached(&key) {
            Some(cached) => parse(cached.stored().value()),
            None => match server.committer.read(&cache, &key).await? {
                Stored::Object(current) => current.whole(),
                Stored::Absent | Stored::Unreadable(_) => {
                    let namespaces = GroupResource::new("", "namespaces");
                    return Err(Status::not_found(namespaces, name));
                }
            },
        };
        if let Some(metadata) = namespace["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        Ok(namespace)
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
