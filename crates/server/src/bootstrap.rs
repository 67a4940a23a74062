//! What every cluster has from the start.

use std::net::SocketAddr;

use listwatch_api::{object, timestamp};
use listwatch_store::{
    Commit, CommitError, Condition, Key, KeyRange, Operation, Read, Store, Write,
};
use serde_json::{Value, json};

use crate::{
    admission::{AddressRange, address_object},
    commit::{object_key, stamp_new},
    registry::Registry,
    server::StartError,
    settings::Settings,
};

/// Namespaces that clients count on.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// How often other servers may be faster with one of them. Then something else is wrong.
const ATTEMPTS_MAX: usize = 16;

/// Creates, in one commit, whatever of it is missing.
pub(crate) async fn run(
    registry: &Registry,
    store: &dyn Store,
    settings: &Settings,
    address: SocketAddr,
) -> Result<(), StartError> {
    for _ in 0..ATTEMPTS_MAX {
        let operations = missing(registry, store, settings, address).await?;
        if operations.is_empty() {
            return Ok(());
        }
        match store.commit(Commit::together(operations)).await {
            Ok(_) => return Ok(()),
            // Another server on the same store was faster, perhaps with a part of it.
            Err(CommitError::Conflict { .. }) => {}
            Err(error) => return Err(StartError::Store(error.to_string())),
        }
    }
    let reason = "what every cluster has comes and goes".to_owned();
    Err(StartError::Store(reason))
}

/// What is to be written so that nothing is missing.
async fn missing(
    registry: &Registry,
    store: &dyn Store,
    settings: &Settings,
    address: SocketAddr,
) -> Result<Vec<Operation>, StartError> {
    let mut operations = Vec::new();
    for (kind, namespace, mut object) in first_objects(settings, address) {
        let (group, resource) = kind;
        let definition = registry.find(group, "v1", resource);
        let definition = definition.expect("what every cluster has is of built-in kinds");
        let name = object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let key = object_key(&definition, namespace, &name);
        if exists(store, &key).await? {
            continue;
        }
        stamp_new(
            &definition,
            &mut object,
            namespace,
            (&settings.clock, &settings.random),
        );
        operations.push(Operation {
            key,
            condition: Condition::Absent,
            write: Write::put(object::to_canonical(&object)),
        });
    }
    Ok(operations)
}

async fn exists(store: &dyn Store, key: &Key) -> Result<bool, StartError> {
    let read = store
        .read(Read::newest(KeyRange::single(key)).limit(1))
        .await;
    let page = read.map_err(|error| StartError::Store(error.to_string()))?;
    Ok(!page.entries.is_empty())
}

/// An object with the group and resource of its kind and where it lives.
type First = ((&'static str, &'static str), Option<&'static str>, Value);

fn first_objects(settings: &Settings, address: SocketAddr) -> Vec<First> {
    let namespaces = NAMESPACES
        .into_iter()
        .map(|name| (("", "namespaces"), None, namespace(name)));
    let range = settings.service_addresses;
    let api = range.first().to_string();
    let service = kubernetes_service(&api, address);
    let ready = timestamp::format_seconds(settings.clock.now());
    let held = address_object(&api, ("default", "kubernetes"));
    let networking = "networking.k8s.io";
    namespaces
        .chain([
            (("", "services"), Some("default"), service),
            ((networking, "ipaddresses"), None, held),
            (
                (networking, "servicecidrs"),
                None,
                service_range(range, &ready),
            ),
        ])
        .collect()
}

fn service_range(range: AddressRange, ready: &str) -> Value {
    json!({
        "kind": "ServiceCIDR",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": [range.to_string()]},
        "status": {"conditions": [{
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": ready,
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }]},
    })
}

fn namespace(name: &str) -> Value {
    json!({
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    })
}

fn kubernetes_service(api: &str, address: SocketAddr) -> Value {
    json!({
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {
            "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": api,
            "clusterIPs": [api],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [
                {"name": "http", "port": 80, "protocol": "TCP", "targetPort": address.port()},
            ],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    })
}
