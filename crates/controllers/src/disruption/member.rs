//! As much of a pod as its budgets ask for.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use listwatch::{DecodeError, Decoder, Object, RawObject};
use serde::{Deserialize, de::IgnoredAny};

/// The pods of a budget.
pub(super) type Members = Vec<Arc<Object<Member>>>;

/// What is kept of a pod.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) health: Health,
    /// Who made it.
    pub(super) controller: Option<OwnerReference>,
}

/// Whether a pod counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It can be used.
    Ready,
    /// It cannot.
    NotReady,
    /// It is going.
    Ending,
}

#[derive(Deserialize)]
struct WirePod {
    metadata: WireMetadata,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMetadata {
    deletion_timestamp: Option<IgnoredAny>,
    #[serde(default)]
    owner_references: Vec<OwnerReference>,
}

#[derive(Default, Deserialize)]
struct WireStatus {
    #[serde(default)]
    conditions: Vec<WireCondition>,
}

#[derive(Deserialize)]
struct WireCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

/// Reads what is kept from the bytes of a pod.
pub(super) fn decoder() -> Decoder<Member> {
    Decoder::new(|raw: &RawObject| {
        let pod: WirePod = serde_json::from_slice(&raw.body).map_err(|error| DecodeError {
            reason: error.to_string(),
        })?;
        Ok(pod.member())
    })
}

impl WirePod {
    fn member(self) -> Member {
        let mut conditions = self.status.conditions.iter();
        let is_ready = conditions.any(|it| it.type_ == "Ready" && it.status == "True");
        let mut owners = self.metadata.owner_references.into_iter();
        Member {
            health: match (self.metadata.deletion_timestamp, is_ready) {
                (Some(_), _) => Health::Ending,
                (None, true) => Health::Ready,
                (None, false) => Health::NotReady,
            },
            controller: owners.find(|owner| owner.controller == Some(true)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_counts_of_a_pod_is_kept() {
        let member = |pod| serde_json::from_value::<WirePod>(pod).unwrap().member();
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let owners = json!([
            {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1"},
            {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "2", "controller": true},
        ]);
        let pod = json!({
            "metadata": {"ownerReferences": owners},
            "status": {"conditions": ready},
        });
        let kept = member(pod);
        assert_eq!(kept.health, Health::Ready);
        assert_eq!(kept.controller.unwrap().name, "b");
        let going = json!({
            "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            "status": {"conditions": ready},
        });
        assert_eq!(member(going).health, Health::Ending);
        assert_eq!(member(json!({"metadata": {}})).health, Health::NotReady);
    }
}
