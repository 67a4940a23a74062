//! POST of what is done to a pod: it is bound to a node, or evicted from one.

use http::StatusCode;
use listwatch_api::{
    FieldError, FieldPath, GroupResource, Status, StatusCause, StatusDetails,
    field_error::aggregate,
    timestamp,
    write_options::{DeleteOptions, DryRun, WriteOptions},
};
use serde_json::{Map, Value, json};

use super::{delete, part::Part};
use crate::{
    admission::{Asked, Operation, read_selector, select, selects},
    commit::{Current, Next, Settled, Stored, metadata_mut, metadata_text},
    request::ResourceRequest,
    server::Server,
    watch_cache::Area,
};

const PODS: GroupResource<'static> = GroupResource::new("", "pods");
const BUDGETS: GroupResource<'static> = GroupResource::new("policy", "poddisruptionbudget");
const OVER_BUDGET: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
const BUDGET_CAUSE: &str = "DisruptionBudget";

/// Evictions of one budget that nobody has confirmed. At the bound further ones are refused.
const UNCONFIRMED_MAX: usize = 2000;

/// Seconds after which a client may try again whose budget is not known yet.
const RETRY_SECONDS: u32 = 10;

/// The answer to an action that was done.
pub(super) fn done() -> Status {
    let mut status = Status::success(StatusDetails::default());
    status.details = None;
    status.code = Some(StatusCode::CREATED.as_u16());
    status
}

/// Gives a pod its node.
pub(super) async fn bind(
    server: &Server,
    request: &ResourceRequest,
    (binding, options): (Value, &WriteOptions),
) -> Result<Status, Status> {
    let name = metadata_text(&binding, "name")
        .unwrap_or_default()
        .to_owned();
    if request.name.as_ref().is_some_and(|stated| *stated != name) {
        let message = "name in URL does not match name in Binding object";
        return Err(Status::bad_request(message));
    }
    let errors = check_binding(&binding);
    if !errors.is_empty() {
        return Err(Status::unclassified(aggregate(&errors)));
    }
    admit(server, request, (&binding, options)).await?;
    let pods = pod_request(server, request, &name);
    let destination = server.destination(&pods, &name, options.dry_run.into())?;
    let now = timestamp::format_seconds(server.settings.clock.now());
    let mut writing = server.committer.begin(&destination).await?;
    loop {
        let bound = match writing.stored() {
            Stored::Absent => Err(Status::not_found(PODS, &name)),
            there => {
                let current = there.object(Status::unknown_resource);
                current.and_then(|current| bound(current, &binding, &now))
            }
        };
        let proposal = bound.map(|pod| Next::Put(pod.into()).into());
        if let Settled::Done(_) = writing.settle(None, proposal).await? {
            return Ok(done());
        }
    }
}

fn check_binding(binding: &Value) -> Vec<FieldError> {
    let target = FieldPath::new("target");
    let text = |member: &str| binding["target"][member].as_str().unwrap_or_default();
    let mut errors = Vec::new();
    if !["", "Node"].contains(&text("kind")) {
        let known = ["Node", "<empty>"];
        errors.push(FieldError::not_supported(
            &target.child("kind"),
            text("kind"),
            &known,
        ));
    }
    if text("name").is_empty() {
        errors.push(FieldError::required(&target.child("name"), ""));
    }
    errors
}

/// A pod with the node that it is bound to.
fn bound(current: &Current, binding: &Value, now: &str) -> Result<Value, Status> {
    let mut pod = current.whole();
    let name = metadata_text(&pod, "name").unwrap_or_default().to_owned();
    let conflict = |why: String| {
        let resource = GroupResource::new("", "pods/binding");
        Err(Status::conflict(resource, &name, &why))
    };
    let wanted = |member| metadata_text(binding, member);
    let is_other = wanted("uid").is_some_and(|uid| Some(uid) != metadata_text(&pod, "uid"));
    let version = current.revision.to_string();
    if is_other || wanted("resourceVersion").is_some_and(|wanted| wanted != version) {
        return Err(Status::modified_meanwhile(PODS, &name));
    }
    if metadata_text(&pod, "deletionTimestamp").is_some() {
        return conflict(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if !node.is_empty() {
        return conflict(format!("pod {name} is already assigned to node {node:?}"));
    }
    let gates = pod["spec"]["schedulingGates"].as_array();
    if gates.is_some_and(|gates| !gates.is_empty()) {
        return conflict(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    pod["spec"]["nodeName"] = binding["target"]["name"].clone();
    for member in ["annotations", "labels"] {
        let given = binding["metadata"][member]
            .as_object()
            .into_iter()
            .flatten();
        let given: Map<String, Value> = given
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !given.is_empty() {
            let known = metadata_mut(&mut pod)
                .entry(member)
                .or_insert_with(|| json!({}));
            given
                .into_iter()
                .for_each(|(key, value)| known[key] = value);
        }
    }
    if let Value::Object(status) = &mut pod["status"] {
        status.remove("nominatedNodeName");
    }
    set_condition(
        &mut pod,
        json!({
            "type": "PodScheduled", "status": "True",
            "lastProbeTime": null, "lastTransitionTime": now,
        }),
    );
    Ok(pod)
}

/// Sets a condition of a pod, in the place of an earlier one.
fn set_condition(pod: &mut Value, mut condition: Value) {
    if !pod["status"].is_object() {
        pod["status"] = json!({});
    }
    let conditions = &mut pod["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let listed = conditions.as_array_mut().expect("made a list above");
    let same = |other: &&mut Value| other["type"] == condition["type"];
    match listed.iter_mut().find(same) {
        Some(known) => {
            if known["status"] == condition["status"] {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => listed.push(condition),
    }
}

/// The same request, about a pod itself.
fn pod_request(server: &Server, request: &ResourceRequest, name: &str) -> ResourceRequest {
    let mut pods = request.for_object(request.namespace.as_deref(), name);
    let definition = server.registry.find("", "v1", "pods");
    pods.definition = definition.expect("pods are built in");
    pods
}

/// Asks everybody who is to be asked about an action.
async fn admit(
    server: &Server,
    request: &ResourceRequest,
    (action, options): (&Value, &WriteOptions),
) -> Result<(), Status> {
    let asked = || Asked {
        server,
        request,
        part: Part::Main,
        operation: Operation::Create,
        name: request.object_name().to_owned(),
        options: json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}),
        persistence: options.dry_run.into(),
    };
    let Some(mut chain) = server.interceptors.chain(asked, &request.definition) else {
        return Ok(());
    };
    let action = chain.mutate(Some(action.clone()), None).await?;
    chain.validate(action.as_ref(), None).await
}

/// Deletes a pod, if the budget for disruptions that it belongs to allows that.
pub(super) async fn evict(
    server: &Server,
    request: &ResourceRequest,
    (eviction, options): (Value, &WriteOptions),
) -> Result<Status, Status> {
    let name = request.object_name();
    if metadata_text(&eviction, "name") != Some(name) {
        let message = "name in URL does not match name in Eviction object";
        return Err(Status::bad_request(message));
    }
    admit(server, request, (&eviction, options)).await?;
    let mut deletion = match eviction.get("deleteOptions") {
        Some(stated) if stated.is_object() => DeleteOptions::from_body(stated)?,
        _ => DeleteOptions::default(),
    };
    if options.dry_run == DryRun::All {
        deletion.dry_run = DryRun::All;
    }
    let pods = pod_request(server, request, name);
    let destination = server.destination(&pods, name, deletion.dry_run.into())?;
    let writing = server.committer.begin(&destination).await?;
    let (pod, revision) = match writing.stored() {
        Stored::Absent => return Err(Status::not_found(PODS, name)),
        there => {
            let current = there.object(Status::unknown_resource)?;
            (current.whole(), current.revision)
        }
    };
    drop(writing);
    if !needs_no_budget(&pod)
        && spend(server, &pods, &pod, deletion.dry_run).await? == Spent::Unhealthy
    {
        let unset = deletion.preconditions.resource_version.is_none();
        if unset {
            deletion.preconditions.resource_version = Some(revision.to_string());
        }
    }
    if deletion.dry_run == DryRun::Off {
        mark_disrupted(server, &pods, &mut deletion).await?;
    }
    delete::remove(server, &pods, name, &deletion).await?;
    Ok(done())
}

/// Whether the end of a pod disrupts nothing: it does not run.
fn needs_no_budget(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    ["Succeeded", "Failed", "Pending"].contains(&phase)
        || metadata_text(pod, "deletionTimestamp").is_some()
}

/// What an eviction took from a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spent {
    /// One disruption, or nothing because there is no budget.
    Counted,
    /// Nothing: the pod is not healthy, as long as it stays so.
    Unhealthy,
}

async fn spend(
    server: &Server,
    pods: &ResourceRequest,
    pod: &Value,
    dry_run: DryRun,
) -> Result<Spent, Status> {
    let definition = server.registry.find("policy", "v1", "poddisruptionbudgets");
    let definition = definition.expect("budgets are built in");
    let cache = server.cache(&definition)?;
    let namespace = pods.namespace.as_deref().unwrap_or_default();
    let labels = &pod["metadata"]["labels"];
    let budgets = select(&cache, Area::Namespace(namespace.into()));
    let concerns = |budget: &Value| match budget["spec"].get("selector") {
        Some(selector) => selects(&read_selector(selector), labels),
        None => false,
    };
    let names: Vec<String> = budgets
        .iter()
        .filter(|budget| concerns(budget))
        .map(|budget| metadata_text(budget, "name").unwrap_or_default().to_owned())
        .collect();
    let name = match names.as_slice() {
        [] => return Ok(Spent::Counted),
        [name] => name,
        _ => {
            return Err(Status::unclassified(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource \
                 does not support.",
            ));
        }
    };
    let mut request = pods.for_object(Some(namespace), name);
    request.definition = definition;
    let destination = server.destination(&request, name, dry_run.into())?;
    let now = timestamp::format_seconds(server.settings.clock.now());
    let mut writing = server.committer.begin(&destination).await?;
    loop {
        let Stored::Object(current) = writing.stored() else {
            return Ok(Spent::Counted);
        };
        let mut budget = current.whole();
        if is_unhealthy_and_free(pod, &budget) {
            return Ok(Spent::Unhealthy);
        }
        let taken = take_one(
            &mut budget,
            metadata_text(pod, "name").unwrap_or_default(),
            &now,
        );
        let proposal = taken.map(|()| Next::Put(budget.into()).into());
        if let Settled::Done(_) = writing.settle(None, proposal).await? {
            return Ok(Spent::Counted);
        }
    }
}

/// Whether a pod may go without counting, because it is not ready.
fn is_unhealthy_and_free(pod: &Value, budget: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut conditions = conditions.filter(|condition| condition["type"] == "Ready");
    if conditions.any(|condition| condition["status"] == "True") {
        return false;
    }
    let count = |member: &str| budget["status"][member].as_i64().unwrap_or_default();
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || (count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0)
}

fn take_one(budget: &mut Value, pod: &str, now: &str) -> Result<(), Status> {
    let name = metadata_text(budget, "name").unwrap_or_default().to_owned();
    let caused = |mut status: Status, message: String| {
        let cause = StatusCause::new(BUDGET_CAUSE, message, "");
        status.details.get_or_insert_default().causes.push(cause);
        Err(status)
    };
    let status = &budget["status"];
    let number = |member: &str| status[member].as_i64().unwrap_or_default();
    let generation = budget["metadata"]["generation"]
        .as_i64()
        .unwrap_or_default();
    if number("observedGeneration") < generation {
        let message =
            format!("The disruption budget {name} is still being processed by the server.");
        return caused(
            Status::too_many_requests(OVER_BUDGET, RETRY_SECONDS),
            message,
        );
    }
    let refuses = format!("The disruption budget {name} does not allow evicting pods currently");
    let allowed = number("disruptionsAllowed");
    if allowed < 0 {
        let why = "pdb disruptions allowed is negative";
        let forbidden = Status::forbidden(BUDGETS, &name, why);
        return caused(forbidden, format!("{refuses}: {why}"));
    }
    if status["disruptedPods"]
        .as_object()
        .is_some_and(|pods| pods.len() > UNCONFIRMED_MAX)
    {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        let forbidden = Status::forbidden(BUDGETS, &name, why);
        let told = "too many pending evictions not confirmed by PDB controller";
        return caused(forbidden, format!("{refuses}: {told}"));
    }
    if allowed == 0 {
        let (needed, there) = (number("desiredHealthy"), number("currentHealthy"));
        let message = match there <= needed {
            true => format!(
                "The disruption budget {name} needs {needed} healthy pods and has {there} \
                 currently"
            ),
            false => refuses,
        };
        return caused(Status::too_many_requests(OVER_BUDGET, 0), message);
    }
    budget["status"]["disruptionsAllowed"] = json!(allowed - 1);
    budget["status"]["disruptedPods"][pod] = json!(now);
    Ok(())
}

/// Writes down on a pod why it goes.
async fn mark_disrupted(
    server: &Server,
    pods: &ResourceRequest,
    deletion: &mut DeleteOptions,
) -> Result<(), Status> {
    let name = pods.object_name();
    let destination = server.destination(pods, name, DryRun::Off.into())?;
    let now = timestamp::format_seconds(server.settings.clock.now());
    let mut writing = server.committer.begin(&destination).await?;
    let changed = loop {
        let marked = match writing.stored() {
            Stored::Absent => Err(Status::not_found(PODS, name)),
            there => there.object(Status::unknown_resource).and_then(|current| {
                delete::refuse_other(pods, current, &deletion.preconditions)?;
                let mut pod = current.whole();
                set_condition(
                    &mut pod,
                    json!({
                        "type": "DisruptionTarget", "status": "True",
                        "lastProbeTime": null, "lastTransitionTime": now,
                        "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
                    }),
                );
                Ok(Next::Put(pod.into()).into())
            }),
        };
        if let Settled::Done(changed) = writing.settle(None, marked).await? {
            break changed;
        }
    };
    if let (Some(wanted), Some(revision)) = (
        &mut deletion.preconditions.resource_version,
        changed.revision,
    ) {
        *wanted = revision.to_string();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_the_time_of_its_last_change() {
        let mut pod = json!({"status": {"conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "then"},
        ]}});
        let ready = |status: &str| {
            json!({
                "type": "Ready", "status": status, "lastTransitionTime": "now",
            })
        };
        set_condition(&mut pod, ready("True"));
        assert_eq!(pod["status"]["conditions"][0]["lastTransitionTime"], "then");
        set_condition(&mut pod, ready("False"));
        assert_eq!(pod["status"]["conditions"], json!([ready("False")]));
    }

    #[test]
    fn a_budget_is_spent_until_nothing_is_left() {
        let mut budget = json!({
            "metadata": {"name": "b", "generation": 1},
            "status": {
                "observedGeneration": 1, "disruptionsAllowed": 1,
                "currentHealthy": 2, "desiredHealthy": 1,
            },
        });
        take_one(&mut budget, "p", "now").unwrap();
        assert_eq!(budget["status"]["disruptedPods"], json!({"p": "now"}));
        let refused = take_one(&mut budget, "q", "now").unwrap_err();
        assert_eq!((refused.code, &*refused.message), (Some(429), OVER_BUDGET));
        budget["metadata"]["generation"] = json!(2);
        let unknown = take_one(&mut budget, "q", "now").unwrap_err();
        let causes = &unknown.details.unwrap().causes;
        assert!(
            causes[0]
                .message
                .ends_with("is still being processed by the server.")
        );
    }
}
