//! POST of a question: it is answered and not stored.
//!
//! There is no authentication and no authorization yet, so that whoever reaches the server is its
//! master, and every question about rights has the same true answer.

use bytes::Bytes;
use listwatch_api::{Status, object::Draft, timestamp};
use serde_json::{Value, json};

use crate::{
    admission::{GROUPS, USER},
    commit::{Changed, Outcome, Owners, metadata_mut},
    request::ResourceRequest,
    server::Server,
    service_accounts,
};

use super::submitted;

/// The question with its answer.
pub(super) async fn answer(
    server: &Server,
    request: &ResourceRequest,
    (owners, mut question): (Owners<'_>, Value),
) -> Result<Changed, Status> {
    submitted::refuse_other_namespace(request, &question)?;
    if request.subresource.is_some() {
        let namespace = request.namespace.as_deref().unwrap_or_default();
        let account = (namespace, request.object_name());
        service_accounts::give_token(server, account, &mut question).await?;
        return Ok(answered(question, None));
    }
    if let Some(members) = question.as_object_mut() {
        members.remove("status");
    }
    let managed_fields = owners.settle_new(&mut question);
    question["status"] = match &*request.definition.kind {
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            json!({"allowed": true})
        }
        "SelfSubjectRulesReview" => every_rule(),
        "SelfSubjectReview" => {
            let now = timestamp::format_seconds(server.settings.clock.now());
            metadata_mut(&mut question).insert("creationTimestamp".to_owned(), json!(now));
            json!({"userInfo": {"username": USER, "groups": GROUPS}})
        }
        "TokenReview" => service_accounts::review(server, &question["spec"]).await?,
        _ => return Err(Status::unknown_resource()),
    };
    Ok(answered(question, managed_fields))
}

/// A question that was answered. Who asked owns what it says.
fn answered(question: Value, managed_fields: Option<Bytes>) -> Changed {
    let draft = Draft {
        object: question,
        managed_fields,
        ..Draft::default()
    };
    Changed {
        object: draft.encode(),
        revision: None,
        outcome: Outcome::Created,
    }
}

fn every_rule() -> Value {
    json!({
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": false,
    })
}
