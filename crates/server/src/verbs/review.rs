//! POST of a question: it is answered and not stored.
//!
//! There is no authentication and no authorization yet, so that whoever reaches the server is its
//! master, and every question about rights has the same true answer.

use listwatch_api::{Status, object::Draft, timestamp};
use serde_json::{Value, json};

use crate::{
    commit::{Changed, Outcome, metadata_mut},
    request::ResourceRequest,
    server::Server,
};

/// Who everybody is on a server without authentication.
const USER: &str = "system:unsecured";

/// The question with its answer.
pub(super) fn answer(
    server: &Server,
    request: &ResourceRequest,
    mut question: Value,
) -> Result<Changed, Status> {
    question["status"] = match &*request.definition.kind {
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            json!({"allowed": true})
        }
        "SelfSubjectRulesReview" => every_rule(),
        "SelfSubjectReview" => {
            let now = timestamp::format_seconds(server.settings.clock.now());
            metadata_mut(&mut question).insert("creationTimestamp".to_owned(), json!(now));
            let groups = ["system:masters", "system:authenticated"];
            json!({"userInfo": {"username": USER, "groups": groups}})
        }
        "TokenReview" => json!({"authenticated": false, "user": {}}),
        _ => return Err(Status::unknown_resource()),
    };
    let object = Draft::from(question).encode();
    let (revision, outcome) = (None, Outcome::Created);
    Ok(Changed {
        object,
        revision,
        outcome,
    })
}

fn every_rule() -> Value {
    json!({
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": false,
    })
}
