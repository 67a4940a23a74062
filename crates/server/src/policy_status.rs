//! Tells of each ValidatingAdmissionPolicy whether its expressions fit the kinds that it is about.

use std::{collections::BTreeMap, sync::Arc};

use listwatch_api::Status;
use listwatch_store::Revision;
use serde_json::{Value, json};

use crate::{
    admission::expression_warnings,
    commit::parse,
    custom::own_request,
    registry::Definition,
    server::{Server, StartError},
    upkeep::{self, Upkeep},
    verbs,
    watch_cache::{Area, Interest, KindCache},
};

const GROUP: &str = "admissionregistration.k8s.io";
const RESOURCE: &str = "validatingadmissionpolicies";
/// In whose name the status is written.
const MANAGER: &str = "validatingadmissionpolicy-status";

/// Keeps the status of all policies until the server goes.
pub(crate) fn start(server: &Arc<Server>) -> Result<(), StartError> {
    let definition = server.registry.find(GROUP, "v1", RESOURCE);
    let definition = definition.expect("policies are built in");
    upkeep::start(server, &Arc::clone(&definition), |objects| PolicyStatus {
        definition,
        objects,
        known: BTreeMap::new(),
    })
}

struct PolicyStatus {
    definition: Arc<Definition>,
    objects: KindCache,
    /// The states that need not be looked at again.
    known: BTreeMap<Box<str>, Revision>,
}

impl Upkeep for PolicyStatus {
    const WHAT: &'static str = "policies";

    async fn mend(&mut self, server: &Server) -> Result<(), String> {
        let snapshot = self.objects.latest();
        let is_there = |name: &str| snapshot.get(None, name).is_some();
        self.known.retain(|name, _| is_there(name));
        let everything = Interest::everything_in(Area::Everywhere);
        for object in snapshot.select(&everything, b"") {
            let (name, revision) = (object.name(), object.revision());
            if self.known.get(name) == Some(&revision) {
                continue;
            }
            let policy = parse(object.stored().value());
            if is_unseen(&policy) {
                self.tell(server, &policy, name).await?;
                tokio::task::yield_now().await;
            }
            self.known.insert(name.into(), revision);
        }
        Ok(())
    }
}

impl PolicyStatus {
    /// Checks a policy, and writes down what was found, unless it is another by then.
    async fn tell(&self, server: &Server, policy: &Value, name: &str) -> Result<(), String> {
        let warnings = expression_warnings(&server.registry, policy);
        let checked = match warnings.is_empty() {
            true => json!({}),
            false => json!({"expressionWarnings": warnings}),
        };
        let definition = Arc::clone(&self.definition);
        let request = own_request(definition, (None, name), Some("status"));
        let changed = verbs::change_status(server, (&request, MANAGER), |current| {
            let mut next = current.whole();
            let of = |policy: &Value, member: &str| policy["metadata"][member].clone();
            let is_same = |member| of(&next, member) == of(policy, member);
            if !is_same("uid") || !is_same("generation") {
                return Err(Status::modified_meanwhile(request.group_resource(), name));
            }
            if !next["status"].is_object() {
                next["status"] = json!({});
            }
            next["status"]["typeChecking"] = checked.clone();
            next["status"]["observedGeneration"] = of(policy, "generation");
            Ok(next)
        });
        match changed.await {
            Ok(_) => Ok(()),
            // Its newer state wakes this task again.
            Err(status) if matches!(status.code, Some(404 | 409)) => Ok(()),
            Err(status) => Err(status.message),
        }
    }
}

/// Whether nobody has looked at the policy as it is now.
fn is_unseen(policy: &Value) -> bool {
    let seen = policy["status"]["observedGeneration"].as_i64();
    let generation = policy["metadata"]["generation"].as_i64();
    generation.unwrap_or_default() > seen.unwrap_or_default()
}
