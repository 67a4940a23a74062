//! What every cluster has from the start.

use std::net::SocketAddr;

use listwatch_api::object;
use listwatch_store::{
    Commit, CommitError, Condition, Key, KeyRange, Operation, Read, Store, Write,
};
use serde_json::{Value, json};

use crate::{
    commit::{object_key, stamp_new},
    registry::Registry,
    server::StartError,
    settings::Settings,
};

/// Namespaces that clients count on.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The address under which programs inside a cluster expect the API.
const SERVICE_ADDRESS: &str = "10.0.0.1";

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
    for (resource, namespace, mut object) in first_objects(address) {
        let definition = registry
            .find("", "v1", resource)
            .expect("the built-in kinds hold namespaces and services");
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

fn first_objects(address: SocketAddr) -> Vec<(&'static str, Option<&'static str>, Value)> {
    let namespaces = NAMESPACES
        .into_iter()
        .map(|name| ("namespaces", None, namespace(name)));
    namespaces
        .chain([("services", Some("default"), kubernetes_service(address))])
        .collect()
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

fn kubernetes_service(address: SocketAddr) -> Value {
    json!({
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {
            "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": SERVICE_ADDRESS,
            "clusterIPs": [SERVICE_ADDRESS],
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
