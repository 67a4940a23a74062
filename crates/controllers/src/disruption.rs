//! Says of every disruption budget how many of its pods may go now.
//!
//! Pods are followed from the first budget on: a server without budgets pays for none.

mod budget;
mod expectation;
mod member;

use std::sync::Arc;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::{Api, Client, api::PostParams};
use listwatch::{
    Controller, Decoder, HandlerOptions, Next, Object, ObjectKey, SharedInformer,
    wall_clock::WallClock,
};
use listwatch_in_process::ServerSource;
use listwatch_server::ServerHandle;

use self::{
    budget::Tally,
    expectation::Scales,
    member::{Member, Members},
};
use crate::{
    controllers::Stop,
    objects::{Objects, unless_gone},
    selection::selects,
    worker::again_on_conflict,
};

/// What the controller sees and writes with.
struct Disruption {
    client: Client,
    clock: WallClock,
    scales: Scales,
    budgets: SharedInformer<PodDisruptionBudget>,
    pods: SharedInformer<Member>,
}

/// Keeps the status of budgets until told to stop.
pub(crate) async fn run(
    server: ServerHandle,
    (client, clock): (Client, WallClock),
    mut stop: Stop,
) {
    let Ok(source) = ServerSource::all(&server, ("policy", "v1", "poddisruptionbudgets")) else {
        // The built-in kinds are there for as long as the server is.
        return;
    };
    let budgets = SharedInformer::new(Arc::new(source), Decoder::json());
    tokio::select! {
        biased;
        () = stop.requested() => return,
        () = first(&budgets) => {}
    }
    let Ok(source) = ServerSource::all(&server, ("", "v1", "pods")) else {
        return;
    };
    let pods = SharedInformer::new(Arc::new(source), member::decoder());
    let concerned = budgets.clone();
    let controller = Controller::new("disruption", &budgets)
        .owns_through(&pods, move |pod| budgets_of(&concerned, pod))
        .stop_on(async move { stop.requested().await });
    let disruption = Arc::new(Disruption {
        scales: Scales::new(server, Objects::new(client.clone())),
        client,
        clock,
        budgets,
        pods,
    });
    if let Err(error) = controller.run(reconcile, disruption).await {
        tracing::error!("disruption: {error}");
    }
}

/// Waits for a budget.
async fn first(budgets: &SharedInformer<PodDisruptionBudget>) {
    let subscribed = budgets.subscribe(&HandlerOptions::default());
    if let (Ok(mut subscription), Ok(())) = (subscribed, budgets.start()) {
        subscription.next().await;
    }
}

fn budgets_of(
    budgets: &SharedInformer<PodDisruptionBudget>,
    pod: &Object<Member>,
) -> Vec<ObjectKey> {
    let snapshot = budgets.cache().snapshot();
    let near = snapshot.namespace(pod.key.namespace().unwrap_or_default());
    near.filter(|budget| covers(budget, pod))
        .map(|budget| budget.key.clone())
        .collect()
}

/// Whether a budget is about a pod of its namespace.
fn covers(budget: &PodDisruptionBudget, pod: &Object<Member>) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    selector.is_some_and(|selector| selects(selector, &pod.labels))
}

async fn reconcile(key: ObjectKey, disruption: Arc<Disruption>) -> kube::Result<Next> {
    let found = disruption.budgets.cache().snapshot();
    match found.get(key.as_str()) {
        Some(budget) => again_on_conflict(disruption.tell(budget).await),
        None => Ok(Next::AwaitChange),
    }
}

impl Disruption {
    /// Counts anew, and writes down what is news.
    async fn tell(&self, budget: &Object<PodDisruptionBudget>) -> kube::Result<Next> {
        let pods = self.members(budget);
        let spec = budget.spec.clone().unwrap_or_default();
        let now = self.clock.now();
        let known = budget.status.clone().unwrap_or_default();
        let (status, next) = match self.scales.expectation(&spec, &pods).await {
            Ok(expectation) => {
                let tally = Tally::of(&pods, &known, &now);
                let next = tally.recheck.map_or(Next::AwaitChange, Next::After);
                let generation = budget.metadata.generation;
                let status = budget::status(&known, (tally, expectation), (generation, &now));
                (status, next)
            }
            Err(why) => (budget::failed(&known, &why, &now), Next::AwaitChange),
        };
        if budget.status.as_ref() != Some(&status) {
            let mut next = budget.body.clone();
            next.status = Some(status);
            let namespace = budget.key.namespace().unwrap_or_default();
            let api: Api<PodDisruptionBudget> = Api::namespaced(self.client.clone(), namespace);
            let parameters = PostParams::default();
            let written = api.replace_status(budget.key.name(), &parameters, &next);
            unless_gone(written.await)?;
        }
        Ok(next)
    }

    fn members(&self, budget: &Object<PodDisruptionBudget>) -> Members {
        let snapshot = self.pods.cache().snapshot();
        let near = snapshot.namespace(budget.key.namespace().unwrap_or_default());
        near.filter(|pod| covers(budget, pod)).cloned().collect()
    }
}
