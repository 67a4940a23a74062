//! Endpoints that people write for a service without a selector, told once more as slices.

use std::{net::IpAddr, sync::Arc};

use k8s_openapi::{
    api::{
        core::v1::{EndpointAddress, EndpointSubset, Endpoints},
        discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use listwatch::{Next, Object, ObjectKey};

use super::{
    SERVICE_NAME, Services,
    address::Family,
    slices::{ENDPOINTS_MAX, MANAGED_BY, Plan},
};
use crate::{objects::is_homeless, workloads::reference_to};

/// Who keeps these slices.
const OURSELVES: &str = "endpointslicemirroring-controller.k8s.io";

/// Says that Endpoints are not to be told once more.
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";

/// Marks Endpoints that are a lock and lead nowhere.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

pub(super) async fn reconcile(key: ObjectKey, services: Arc<Services>) -> kube::Result<Next> {
    let found = services.services.cache().snapshot();
    let service = found.get(key.as_str()).filter(|service| {
        let spec = service.spec.as_ref();
        spec.is_some_and(|spec| spec.selector.as_ref().is_none_or(|it| it.is_empty()))
    });
    let found = services.endpoints.cache().snapshot();
    let endpoints = found.get(key.as_str()).filter(|it| is_mirrored(it));
    let wanted = match (service, endpoints) {
        (Some(_), Some(endpoints)) => slices(endpoints),
        (_, _) => Vec::new(),
    };
    let found = services.slices.cache().snapshot();
    let known = found
        .by_index(&services.slices_by_service, &key)
        .into_iter();
    let known = known.filter(|slice| slice.labels.get(MANAGED_BY) == Some(OURSELVES));
    let plan = plan(known.cloned().collect(), wanted);
    match plan.carry_out(&services, &key).await {
        Err(error) if is_homeless(&error) => Ok(Next::AwaitChange),
        done => done.map(|()| Next::AwaitChange),
    }
}

fn is_mirrored(endpoints: &Object<Endpoints>) -> bool {
    let annotations = endpoints.metadata.annotations.as_ref();
    let is_lock = annotations.is_some_and(|them| them.contains_key(LEADER));
    endpoints.labels.get(SKIP) != Some("true") && !is_lock
}

/// Slices that are there are written anew, as far as they can be.
fn plan(mut known: Vec<Arc<Object<EndpointSlice>>>, wanted: Vec<EndpointSlice>) -> Plan {
    let mut plan = Plan::default();
    for new in wanted {
        let place = known
            .iter()
            .position(|slice| slice.address_type == new.address_type);
        let Some(slice) = place.map(|place| known.remove(place)) else {
            plan.create.push(new);
            continue;
        };
        let mut next = slice.body.clone();
        next.endpoints = new.endpoints;
        next.ports = new.ports;
        next.metadata.labels = new.metadata.labels;
        if next != slice.body {
            plan.update.push(next);
        }
    }
    let left = known.iter().map(|slice| slice.key.name().to_owned());
    plan.delete.extend(left);
    plan
}

fn slices(endpoints: &Object<Endpoints>) -> Vec<EndpointSlice> {
    let mut slices = Vec::new();
    for subset in endpoints.subsets.iter().flatten() {
        for family in [Family::V4, Family::V6] {
            let them = members(subset, family);
            slices.extend(
                them.chunks(ENDPOINTS_MAX)
                    .map(|them| slice(endpoints, (subset, family), them)),
            );
        }
    }
    slices
}

/// The addresses of one kind, those that are ready first.
fn members(subset: &EndpointSubset, family: Family) -> Vec<Endpoint> {
    let is_of = |address: &&EndpointAddress| {
        let parsed = address.ip.parse::<IpAddr>();
        parsed.is_ok_and(|ip| ip.is_ipv6() == (family == Family::V6))
    };
    let member = |address: &EndpointAddress, ready| Endpoint {
        addresses: vec![address.ip.clone()],
        conditions: Some(EndpointConditions {
            ready: Some(ready),
            ..EndpointConditions::default()
        }),
        hostname: address.hostname.clone(),
        node_name: address.node_name.clone(),
        target_ref: address.target_ref.clone(),
        ..Endpoint::default()
    };
    let ready = subset.addresses.iter().flatten().filter(is_of);
    let others = subset.not_ready_addresses.iter().flatten().filter(is_of);
    ready
        .map(|address| member(address, true))
        .chain(others.map(|address| member(address, false)))
        .collect()
}

fn slice(
    endpoints: &Object<Endpoints>,
    (subset, family): (&EndpointSubset, Family),
    members: &[Endpoint],
) -> EndpointSlice {
    let mut labels = endpoints.metadata.labels.clone().unwrap_or_default();
    labels.insert(SERVICE_NAME.to_owned(), endpoints.key.name().to_owned());
    labels.insert(MANAGED_BY.to_owned(), OURSELVES.to_owned());
    let ports = subset.ports.iter().flatten().map(|port| EndpointPort {
        name: Some(port.name.clone().unwrap_or_default()),
        port: Some(port.port),
        protocol: port.protocol.clone(),
        app_protocol: port.app_protocol.clone(),
    });
    EndpointSlice {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", endpoints.key.name())),
            labels: Some(labels),
            owner_references: reference_to(&endpoints.body).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        address_type: family.address_type().to_owned(),
        endpoints: members.to_vec(),
        ports: Some(ports.collect()),
    }
}
