//! What every cluster has from the start.

mod own_endpoints;

use std::{collections::BTreeSet, net::SocketAddr};

use listwatch_api::{object, timestamp};
use listwatch_store::{
    Commit, CommitError, Condition, Key, KeyRange, Operation, Read, Store, Write,
};
use serde_json::{Value, json};

use crate::{
    admission::{AddressRange, ServiceAddresses, address_object},
    api_services,
    commit::{metadata_text, object_key, stamp_new},
    registry::{Definition, Registry},
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
    for ((group, resource), namespace, object) in first_objects(settings, address) {
        let definition = registry.find(group, "v1", resource);
        let definition = definition.expect("what every cluster has is of built-in kinds");
        let operation = creation(&definition, namespace, object, settings);
        let range = KeyRange::single(&operation.key);
        if !keys(store, range).await?.contains(&operation.key) {
            operations.push(operation);
        }
    }
    operations.extend(second_range(registry, store, settings).await?);
    let place = (settings, address);
    operations.extend(own_endpoints::corrections(registry, store, place).await?);
    let definition = api_services::definition(registry);
    let told = KeyRange::prefix(definition.storage_prefix.as_bytes());
    let told = keys(store, told).await?;
    let api_services = api_services::built_in(registry, settings).into_iter();
    let api_services = api_services.map(|object| creation(&definition, None, object, settings));
    operations.extend(api_services.filter(|operation| !told.contains(&operation.key)));
    Ok(operations)
}

/// What is to be written when the addresses of a second family are added to those of a cluster.
/// Ranges that became others are left as they are stored: services have addresses in them.
async fn second_range(
    registry: &Registry,
    store: &dyn Store,
    settings: &Settings,
) -> Result<Option<Operation>, StartError> {
    let definition = registry.find("networking.k8s.io", "v1", "servicecidrs");
    let definition = definition.expect("ranges of addresses are built in");
    let key = object_key(&definition, None, "kubernetes");
    let page = store.read(Read::newest(KeyRange::single(&key))).await;
    let page = page.map_err(|error| StartError::Store(error.to_string()))?;
    let Some(entry) = page.entries.into_iter().next() else {
        return Ok(None);
    };
    let Ok(mut stored) = serde_json::from_slice::<Value>(&entry.value) else {
        // Others may have stored it in another form; then it is theirs to keep.
        return Ok(None);
    };
    let wanted = cidrs(settings.service_addresses);
    let (had, wanted) = (stored["spec"]["cidrs"].take(), json!(wanted));
    if had == wanted {
        return Ok(None);
    }
    if had[0] != wanted[0] || had[1].is_string() {
        tracing::warn!("services have addresses of {had}, and get them from {wanted} from now on");
        return Ok(None);
    }
    stored["spec"]["cidrs"] = wanted;
    Ok(Some(Operation {
        key,
        condition: Condition::Unchanged(entry.revision),
        write: Write::put(object::to_canonical(&stored)),
    }))
}

fn creation(
    definition: &Definition,
    namespace: Option<&str>,
    mut object: Value,
    settings: &Settings,
) -> Operation {
    let name = metadata_text(&object, "name").unwrap_or_default();
    let key = object_key(definition, namespace, name);
    let given = (&settings.clock, &settings.random);
    stamp_new(definition, &mut object, namespace, given);
    Operation {
        key,
        condition: Condition::Absent,
        write: Write::put(object::to_canonical(&object)),
    }
}

/// The keys of a range that have a value.
async fn keys(store: &dyn Store, range: KeyRange) -> Result<BTreeSet<Key>, StartError> {
    let page = store.read(Read::newest(range)).await;
    let page = page.map_err(|error| StartError::Store(error.to_string()))?;
    Ok(page.entries.into_iter().map(|entry| entry.key).collect())
}

/// An object with the group and resource of its kind and where it lives.
type First = ((&'static str, &'static str), Option<&'static str>, Value);

fn first_objects(settings: &Settings, address: SocketAddr) -> Vec<First> {
    let namespaces = NAMESPACES
        .into_iter()
        .map(|name| (("", "namespaces"), None, namespace(name)));
    let ranges = settings.service_addresses;
    let api = ranges.primary().first().to_string();
    let service = kubernetes_service(ranges.primary(), address);
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
                service_range(ranges, &ready),
            ),
        ])
        .collect()
}

fn cidrs(ranges: ServiceAddresses) -> Vec<String> {
    ranges.ranges().map(|range| range.to_string()).collect()
}

fn service_range(ranges: ServiceAddresses, ready: &str) -> Value {
    json!({
        "kind": "ServiceCIDR",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": cidrs(ranges)},
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

fn kubernetes_service(range: AddressRange, address: SocketAddr) -> Value {
    let api = range.first().to_string();
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
            "ipFamilies": [range.family().word()],
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
