//! The Endpoints of a service: one object with all addresses.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{
    EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Pod, Service, ServiceSpec,
};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use listwatch::{Next, Object, ObjectKey};

use super::{Services, address, handed_down, has_selector};
use crate::{
    objects::{is_homeless, unless_gone},
    workloads::is_ready,
};

/// Says who keeps an object.
const MANAGED_BY: (&str, &str) = ("endpoints.kubernetes.io/managed-by", "endpoint-controller");

/// Says that there are more addresses than fit.
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";

/// Addresses in one object. The others are left out.
const ADDRESSES_MAX: usize = 1000;

/// The service whose Endpoints we keep.
pub(super) fn service_of(endpoints: &Object<Endpoints>) -> Option<ObjectKey> {
    let (label, us) = MANAGED_BY;
    (endpoints.labels.get(label) == Some(us)).then(|| endpoints.key.clone())
}

pub(super) async fn reconcile(key: ObjectKey, services: Arc<Services>) -> kube::Result<Next> {
    let namespace = key.namespace().unwrap_or_default();
    let api: Api<Endpoints> = Api::namespaced(services.workloads.client.clone(), namespace);
    let snapshot = services.services.cache().snapshot();
    let Some(service) = snapshot.get(key.as_str()) else {
        let deleted = api.delete(key.name(), &DeleteParams::default()).await;
        return unless_gone(deleted).map(|_| Next::AwaitChange);
    };
    let Some(spec) = service.spec.as_ref().filter(|_| has_selector(service)) else {
        return Ok(Next::AwaitChange);
    };
    let pods = services.pods(service);
    let snapshot = services.endpoints.cache().snapshot();
    let known = snapshot.get(key.as_str());
    let parameters = PostParams::default();
    let written = match known {
        Some(known) => {
            let next = wanted((service, spec), &pods, known.body.clone());
            if next == known.body {
                return Ok(Next::AwaitChange);
            }
            api.replace(key.name(), &parameters, &next).await
        }
        None => {
            let mut new = wanted((service, spec), &pods, Endpoints::default());
            new.metadata.name = Some(key.name().to_owned());
            api.create(&parameters, &new).await
        }
    };
    match written {
        Err(error) if is_homeless(&error) => {}
        written => drop(written?),
    }
    Ok(Next::AwaitChange)
}

/// What should be written, in the place of what is.
fn wanted(
    (service, spec): (&Object<Service>, &ServiceSpec),
    pods: &[Arc<Object<Pod>>],
    known: Endpoints,
) -> Endpoints {
    let mut next = known;
    let mut labels = handed_down(service, spec);
    labels.insert(MANAGED_BY.0.to_owned(), MANAGED_BY.1.to_owned());
    next.metadata.labels = Some(labels);
    let mut subsets = subsets((service, spec), pods);
    let annotations = next.metadata.annotations.get_or_insert_default();
    annotations.remove(OVER_CAPACITY);
    if truncate(&mut subsets) == Fit::TooMany {
        annotations.insert(OVER_CAPACITY.to_owned(), "truncated".to_owned());
    }
    next.metadata.annotations = next.metadata.annotations.filter(|it| !it.is_empty());
    next.subsets = Some(subsets).filter(|subsets| !subsets.is_empty());
    next
}

/// The addresses with the same ports stand together.
fn subsets(
    (service, spec): (&Object<Service>, &ServiceSpec),
    pods: &[Arc<Object<Pod>>],
) -> Vec<EndpointSubset> {
    let publishes_all = spec.publish_not_ready_addresses == Some(true);
    let family = address::Family::of(service)[0];
    let mut groups: BTreeMap<Vec<address::Port>, EndpointSubset> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| address::may_answer(pod)) {
        let is_going = pod.metadata.deletion_timestamp.is_some();
        let Some(ip) = family.addresses(pod).into_iter().next() else {
            continue;
        };
        let ports = address::ports(spec, pod);
        let has_no_use = match spec.ports.as_ref().is_some_and(|ports| !ports.is_empty()) {
            true => ports.is_empty(),
            false => !address::is_headless(spec),
        };
        if has_no_use || (is_going && !publishes_all) {
            continue;
        }
        let endpoint = EndpointAddress {
            ip,
            hostname: address::hostname(service, pod),
            node_name: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
            target_ref: Some(address::reference(pod)),
        };
        let subset = groups.entry(ports).or_default();
        let addresses = match publishes_all || is_ready(pod) {
            true => &mut subset.addresses,
            false => &mut subset.not_ready_addresses,
        };
        addresses.get_or_insert_default().push(endpoint);
    }
    let subsets = groups.into_iter().map(|(ports, mut subset)| {
        subset.ports = Some(ports.into_iter().map(port).collect());
        subset.ports = subset.ports.filter(|ports: &Vec<_>| !ports.is_empty());
        for addresses in [&mut subset.addresses, &mut subset.not_ready_addresses] {
            let addresses = addresses.iter_mut();
            addresses.for_each(|them| them.sort_by(|one, other| one.ip.cmp(&other.ip)));
        }
        subset
    });
    subsets.collect()
}

fn port(port: address::Port) -> EndpointPort {
    EndpointPort {
        name: Some(port.name).filter(|name| !name.is_empty()),
        port: port.number,
        protocol: Some(port.protocol),
        app_protocol: port.app_protocol,
    }
}

/// Whether all addresses have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    All,
    TooMany,
}

/// Leaves out what does not fit: first of those that are not ready.
fn truncate(subsets: &mut [EndpointSubset]) -> Fit {
    let mut room = ADDRESSES_MAX;
    let mut fit = Fit::All;
    let mut cut = |addresses: &mut Option<Vec<EndpointAddress>>| {
        let Some(them) = addresses else {
            return;
        };
        if them.len() > room {
            fit = Fit::TooMany;
            them.truncate(room);
        }
        room -= them.len();
        *addresses = addresses.take().filter(|them| !them.is_empty());
    };
    subsets
        .iter_mut()
        .for_each(|subset| cut(&mut subset.addresses));
    subsets
        .iter_mut()
        .for_each(|subset| cut(&mut subset.not_ready_addresses));
    fit
}
