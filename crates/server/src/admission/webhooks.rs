//! Programs elsewhere that are asked about requests, and may change what is written.

mod review;

use std::{sync::Arc, time::Duration};

use listwatch_api::{
    Status,
    patch::{Patch, PatchFormat},
};
use serde_json::{Value, json};
use tokio::time::timeout;

use self::review::Verdict;
use super::{
    matching::Constraints,
    request::{Asked, Shown},
};
use crate::{registry::Definition, server::Server, webhook_client::Target};

/// How long a webhook may take that does not say.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// One webhook of a configuration.
pub(super) struct Webhook {
    /// Its name, as messages have it.
    pub(super) name: String,
    pub(super) constraints: Constraints,
    pub(super) conditions: super::conditions::Conditions,
    pub(super) reinvocation: Reinvocation,
    target: Result<Target, String>,
    on_failure: OnFailure,
    timeout: Duration,
    side_effects: SideEffects,
    review_version: Option<&'static str>,
}

/// Whether a webhook is asked again when others have changed the object after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reinvocation {
    Never,
    IfNeeded,
}

/// What becomes of a request when somebody who is asked about it gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnFailure {
    Refuse,
    Ignore,
}

impl Reinvocation {
    pub(super) fn read(policy: &Value) -> Self {
        match policy.as_str() {
            Some("IfNeeded") => Self::IfNeeded,
            _ => Self::Never,
        }
    }
}

impl OnFailure {
    pub(super) fn read(policy: &Value) -> Self {
        match policy.as_str() {
            Some("Ignore") => Self::Ignore,
            _ => Self::Refuse,
        }
    }
}

/// Whether a webhook does more than answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SideEffects {
    NotOnDryRun,
    Some,
}

/// Whether a webhook may change the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Mutate,
    Validate,
}

/// Why a webhook did not let a request pass.
pub(super) enum Failure {
    /// It gave no usable answer; what that means is the configuration's choice.
    NoAnswer(String),
    /// The request ends with this.
    Refused(Box<Status>),
}

impl Webhook {
    pub(super) fn read(webhook: &Value) -> Arc<Self> {
        let versions = super::matching::texts(&webhook["admissionReviewVersions"]);
        let known = versions.iter().find_map(|version| match version.as_str() {
            "v1" => Some("admission.k8s.io/v1"),
            "v1beta1" => Some("admission.k8s.io/v1beta1"),
            _ => None,
        });
        let seconds = webhook["timeoutSeconds"].as_u64();
        Arc::new(Self {
            name: webhook["name"].as_str().unwrap_or_default().to_owned(),
            constraints: Constraints::of_webhook(webhook),
            conditions: super::conditions::Conditions::compile(&webhook["matchConditions"]),
            reinvocation: Reinvocation::read(&webhook["reinvocationPolicy"]),
            target: Target::read(&webhook["clientConfig"]),
            on_failure: OnFailure::read(&webhook["failurePolicy"]),
            timeout: seconds.map_or(TIMEOUT_DEFAULT, Duration::from_secs),
            side_effects: match webhook["sideEffects"].as_str() {
                Some("None" | "NoneOnDryRun") => SideEffects::NotOnDryRun,
                _ => SideEffects::Some,
            },
            review_version: known,
        })
    }

    pub(super) fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    /// Asks it, and says what it makes of the object, if it changes it.
    pub(super) async fn ask(
        &self,
        server: &Server,
        (asked, version): (&Asked<'_>, &Definition),
        (purpose, shown): (Purpose, &Shown),
        warnings: &mut Vec<String>,
    ) -> Result<Option<Value>, Failure> {
        if asked.is_dry_run() && self.side_effects == SideEffects::Some {
            let reason = format!("admission webhook {:?} does not support dry run", self.name);
            return Err(Failure::Refused(Box::new(Status::bad_request(reason))));
        }
        let verdict = self
            .exchange(server, (asked, version), (purpose, shown))
            .await
            .map_err(Failure::NoAnswer)?;
        warnings.extend(verdict.warnings.iter().cloned());
        if !verdict.is_allowed {
            return Err(Failure::Refused(Box::new(self.denial(verdict))));
        }
        match verdict.patch {
            Some(patch) => self.apply(&patch, shown),
            None => Ok(None),
        }
    }

    async fn exchange(
        &self,
        server: &Server,
        (asked, version): (&Asked<'_>, &Definition),
        (purpose, shown): (Purpose, &Shown),
    ) -> Result<Verdict, String> {
        let review_version = self.review_version.ok_or(
            "could not create admission objects: webhook does not accept known AdmissionReview \
             versions (v1, v1beta1)",
        )?;
        let target = self.target.as_ref();
        let target = target.map_err(|why| format!("could not get REST client: {why}"))?;
        let uid = server.settings.random.uuid();
        let review = review::request((review_version, &uid), (asked, version), shown);
        let body = serde_json::to_vec(&review).expect("a tree has a text");
        let failed = |why: String| format!("failed to call webhook: {why}");
        let seconds = self.timeout.as_secs();
        let called = server.webhook_client.call(server, target, body, seconds);
        let answer = match timeout(self.timeout, called).await {
            Ok(answer) => answer.map_err(failed)?,
            Err(_) => {
                let url = target.url_with_timeout(seconds);
                let why = format!("Post {url:?}: context deadline exceeded");
                return Err(failed(why));
            }
        };
        let verdict = review::read((review_version, &uid), purpose, &answer);
        verdict.map_err(|why| format!("received invalid webhook response: {why}"))
    }

    fn denial(&self, verdict: Verdict) -> Status {
        let denied = format!("admission webhook {:?} denied the request", self.name);
        let result = verdict.status.unwrap_or_default();
        let text = |member: &str| result[member].as_str().unwrap_or_default().to_owned();
        let message = match (text("message"), text("reason")) {
            (message, _) if !message.is_empty() => format!("{denied}: {message}"),
            (_, reason) if !reason.is_empty() => format!("{denied}: {reason}"),
            _ => format!("{denied} without explanation"),
        };
        let code = result["code"]
            .as_u64()
            .and_then(|code| u16::try_from(code).ok());
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "code": code.unwrap_or_default().clamp(400, 599),
        });
        for member in ["reason", "details"] {
            if let Some(value) = result.get(member) {
                status[member] = value.clone();
            }
        }
        serde_json::from_value(status).unwrap_or_else(|_| {
            let mut plain = Status::unclassified(message);
            plain.code = Some(400);
            plain
        })
    }

    fn apply(&self, patch: &[u8], shown: &Shown) -> Result<Option<Value>, Failure> {
        let undecodable = |status: Status| {
            let why = status.message;
            Failure::NoAnswer(format!(
                "received undecodable patch in webhook response: {why}"
            ))
        };
        let decoded = Patch::decode(PatchFormat::Json, patch).map_err(undecodable)?;
        let Some(object) = &shown.object else {
            let why = format!(
                "admission webhook {:?} attempted to modify the object, which is not supported \
                 for this operation",
                self.name
            );
            return Err(Failure::Refused(Box::new(Status::internal(&why))));
        };
        let patched = decoded.patch.apply_without_schema(object.clone());
        let patched = patched
            .map_err(|status| Failure::Refused(Box::new(Status::internal(&status.message))))?;
        Ok((patched != *object).then_some(patched))
    }
}

/// The refusal of a request because somebody who must be asked did not answer.
pub(super) fn unanswered(webhook: &Webhook, why: &str) -> Status {
    Status::internal(&format!("failed calling webhook {:?}: {why}", webhook.name))
}
