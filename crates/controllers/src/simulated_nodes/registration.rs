//! The node objects and the leases by which they show that they live.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    api::{
        coordination::v1::{Lease, LeaseSpec},
        core::v1::{Node, NodeAddress, NodeCondition, NodeStatus, NodeSystemInfo},
    },
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use listwatch::wall_clock::WallClock;
use serde_json::json;
use tokio::time::interval;

use crate::{controllers::Stop, moment, objects::exists_already};

/// Where the leases of nodes are.
const LEASES: &str = "kube-node-lease";

/// How often a lease is renewed, and how long it lasts.
const RENEW_INTERVAL: Duration = Duration::from_secs(10);
const LEASE_SECONDS: i32 = 40;

/// Registers nodes, and renews their leases until told to stop.
pub(super) async fn run(client: Client, (names, clock): (Vec<String>, WallClock), mut stop: Stop) {
    let mut turns = interval(RENEW_INTERVAL);
    loop {
        tokio::select! {
            biased;
            () = stop.requested() => return,
            _ = turns.tick() => {}
        }
        for name in &names {
            if let Err(error) = show(&client, name, &clock).await {
                tracing::warn!("node {name}: {error}");
            }
        }
    }
}

/// Makes what is missing of a node, and renews its lease.
async fn show(client: &Client, name: &str, clock: &WallClock) -> kube::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    if nodes.get_metadata_opt(name).await?.is_none() {
        match nodes
            .create(&PostParams::default(), &node(name, clock))
            .await
        {
            Ok(_) => take_pods(&nodes, name).await?,
            Err(error) if exists_already(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let leases: Api<Lease> = Api::namespaced(client.clone(), LEASES);
    let renewal = json!({"spec": {"renewTime": clock.now()}});
    let parameters = PatchParams::default();
    match leases
        .patch(name, &parameters, &Patch::Merge(&renewal))
        .await
    {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        other => return other.map(drop),
    }
    let lease = Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(name.to_owned()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            renew_time: Some(clock.now()),
            ..LeaseSpec::default()
        }),
    };
    leases
        .create(&PostParams::default(), &lease)
        .await
        .map(drop)
}

/// Lets pods come, which the server holds off from every new node.
async fn take_pods(nodes: &Api<Node>, name: &str) -> kube::Result<()> {
    let patch = json!({"spec": {"taints": null}});
    let parameters = PatchParams::default();
    let patched = nodes.patch(name, &parameters, &Patch::Merge(&patch)).await;
    patched.map(drop)
}

fn node(name: &str, clock: &WallClock) -> Node {
    let quantity = |text: &str| Quantity(text.to_owned());
    let capacity = BTreeMap::from([
        ("cpu".to_owned(), quantity("8")),
        ("memory".to_owned(), quantity("32Gi")),
        ("pods".to_owned(), quantity("110")),
    ]);
    let labels = [
        ("kubernetes.io/hostname", name),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
    ];
    let labels = labels.map(|(label, value)| (label.to_owned(), value.to_owned()));
    Node {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from(labels)),
            ..ObjectMeta::default()
        },
        spec: None,
        status: Some(NodeStatus {
            capacity: Some(capacity.clone()),
            allocatable: Some(capacity),
            addresses: Some(vec![NodeAddress {
                type_: "Hostname".to_owned(),
                address: name.to_owned(),
            }]),
            conditions: Some(vec![ready(clock)]),
            node_info: Some(NodeSystemInfo {
                kubelet_version: "v1.37.1-simulated".to_owned(),
                operating_system: "linux".to_owned(),
                architecture: "amd64".to_owned(),
                ..NodeSystemInfo::default()
            }),
            ..NodeStatus::default()
        }),
    }
}

fn ready(clock: &WallClock) -> NodeCondition {
    let now = moment::second(&clock.now());
    NodeCondition {
        type_: "Ready".to_owned(),
        status: "True".to_owned(),
        reason: Some("KubeletReady".to_owned()),
        message: Some("simulated: nothing is run".to_owned()),
        last_heartbeat_time: Some(now.clone()),
        last_transition_time: Some(now),
    }
}
