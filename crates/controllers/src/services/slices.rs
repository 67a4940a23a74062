//! The EndpointSlices of a service: a hundred addresses in each.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use k8s_openapi::{
    api::{
        core::v1::{Pod, Service, ServiceSpec},
        discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use listwatch::{Next, Object, ObjectKey};

use super::{
    SERVICE_NAME, Services,
    address::{self, Family, Port},
    handed_down, has_selector,
};
use crate::{
    objects::{is_homeless, unless_gone},
    workloads::{is_ready, reference_to},
};

/// Says who keeps a slice.
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// Who keeps these.
const OURSELVES: &str = "endpointslice-controller.k8s.io";

/// Where a node is, as slices tell it.
const ZONE: &str = "topology.kubernetes.io/zone";

/// Endpoints in one slice. Others go into the next.
pub(super) const ENDPOINTS_MAX: usize = 100;

type Slice = Arc<Object<EndpointSlice>>;

/// What is to be written.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) create: Vec<EndpointSlice>,
    pub(super) update: Vec<EndpointSlice>,
    pub(super) delete: Vec<String>,
}

pub(super) async fn reconcile(key: ObjectKey, services: Arc<Services>) -> kube::Result<Next> {
    let snapshot = services.services.cache().snapshot();
    // The slices of one that is gone are collected with it.
    let Some(service) = snapshot.get(key.as_str()) else {
        return Ok(Next::AwaitChange);
    };
    let Some(spec) = service.spec.as_ref().filter(|_| has_selector(service)) else {
        return Ok(Next::AwaitChange);
    };
    let snapshot = services.slices.cache().snapshot();
    let known = snapshot.by_index(&services.slices_by_service, &key);
    let known: Vec<Slice> = known
        .into_iter()
        .filter(|slice| slice.labels.get(MANAGED_BY) == Some(OURSELVES))
        .cloned()
        .collect();
    let families = Family::of(service);
    let mut plan = Plan::default();
    let is_of = |slice: &Slice, family: Family| slice.address_type == family.address_type();
    for &family in &families {
        let known: Vec<_> = known.iter().filter(|it| is_of(it, family)).collect();
        let wanted = endpoints(&services, (service, spec), family);
        plan.add((service, spec), (&known, family), wanted);
    }
    let others = known
        .iter()
        .filter(|slice| !families.iter().any(|family| is_of(slice, *family)));
    plan.delete
        .extend(others.map(|slice| slice.key.name().to_owned()));
    match plan.carry_out(&services, &key).await {
        Err(error) if is_homeless(&error) => Ok(Next::AwaitChange),
        done => done.map(|()| Next::AwaitChange),
    }
}

/// The endpoints of a service, those with the same ports together.
fn endpoints(
    services: &Services,
    (service, spec): (&Object<Service>, &ServiceSpec),
    family: Family,
) -> BTreeMap<Vec<Port>, Vec<Endpoint>> {
    let nodes = services.workloads.nodes.cache().snapshot();
    let publishes_all = spec.publish_not_ready_addresses == Some(true);
    let mut groups: BTreeMap<Vec<Port>, Vec<Endpoint>> = BTreeMap::new();
    for pod in services.pods(service) {
        let addresses = family.addresses(&pod);
        if !address::may_answer(&pod) || addresses.is_empty() {
            continue;
        }
        let node_name = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        let node = node_name.as_ref().and_then(|name| nodes.get(name.as_str()));
        // A pod on a node that is not there cannot be reached.
        if node.is_none() && !publishes_all {
            continue;
        }
        let endpoint = Endpoint {
            addresses,
            conditions: Some(conditions(&pod, spec)),
            hostname: address::hostname(service, &pod),
            node_name,
            target_ref: Some(address::reference(&pod)),
            zone: node.and_then(|node| node.labels.get(ZONE).map(str::to_owned)),
            ..Endpoint::default()
        };
        let ports = address::ports(spec, &pod);
        groups.entry(ports).or_default().push(endpoint);
    }
    groups
}

fn conditions(pod: &Pod, spec: &ServiceSpec) -> EndpointConditions {
    let publishes_all = spec.publish_not_ready_addresses == Some(true);
    let serving = is_ready(pod);
    let terminating = pod.metadata.deletion_timestamp.is_some();
    EndpointConditions {
        ready: Some(publishes_all || (serving && !terminating)),
        serving: Some(serving),
        terminating: Some(terminating),
    }
}

impl Plan {
    /// Endpoints stay in the slices in which they are; new ones fill these up before others are
    /// made. There is always one slice, so that it can be seen that there are no endpoints.
    fn add(
        &mut self,
        service: (&Object<Service>, &ServiceSpec),
        (known, family): (&[&Slice], Family),
        wanted: BTreeMap<Vec<Port>, Vec<Endpoint>>,
    ) {
        let before = (self.create.len(), self.delete.len());
        let is_empty = |slice: &Slice| slice.ports.iter().flatten().next().is_none();
        let placeholder = known
            .iter()
            .find(|slice| wanted.is_empty() && is_empty(slice) && slice.endpoints.is_empty());
        for slice in known {
            let is_wanted = wanted.keys().any(|ports| has_ports(slice, ports))
                || placeholder.is_some_and(|it| Arc::ptr_eq(it, slice));
            if !is_wanted {
                self.delete.push(slice.key.name().to_owned());
            }
        }
        for (ports, endpoints) in wanted {
            let same = known.iter().filter(|slice| has_ports(slice, &ports));
            let same: Vec<_> = same.copied().collect();
            self.fill(service, (&same, family), (ports, endpoints));
        }
        let made = self.create.len() - before.0;
        let left = known.len() - (self.delete.len() - before.1);
        if made + left == 0 {
            let slice = new_slice(service, family, Vec::new());
            self.create.push(slice);
        } else if let Some(slice) = placeholder {
            self.keep(service, (slice, slice.endpoints.clone()));
        }
    }

    fn fill(
        &mut self,
        service: (&Object<Service>, &ServiceSpec),
        (known, family): (&[&Slice], Family),
        (ports, endpoints): (Vec<Port>, Vec<Endpoint>),
    ) {
        let name = |endpoint: &Endpoint| endpoint.target_ref.as_ref().map(|it| it.name.clone());
        let mut left: HashMap<_, _> = endpoints
            .into_iter()
            .map(|endpoint| (name(&endpoint), endpoint))
            .collect();
        let mut filled: Vec<(&Slice, Vec<Endpoint>)> = known
            .iter()
            .map(|slice| {
                let kept = slice.endpoints.iter();
                let kept = kept.filter_map(|endpoint| left.remove(&name(endpoint)));
                (*slice, kept.take(ENDPOINTS_MAX).collect())
            })
            .collect();
        let mut new: Vec<_> = left.into_values().collect();
        new.sort_by(|one, other| other.addresses.cmp(&one.addresses));
        for (_, endpoints) in &mut filled {
            let room = ENDPOINTS_MAX - endpoints.len();
            let start = new.len().saturating_sub(room);
            endpoints.extend(new.drain(start..).rev());
        }
        for (slice, endpoints) in filled {
            match endpoints.is_empty() {
                true => self.delete.push(slice.key.name().to_owned()),
                false => self.keep(service, (slice, endpoints)),
            }
        }
        new.reverse();
        for endpoints in new.chunks(ENDPOINTS_MAX) {
            let mut slice = new_slice(service, family, ports.clone());
            slice.endpoints = endpoints.to_vec();
            self.create.push(slice);
        }
    }

    /// Writes a slice anew if that is news.
    fn keep(
        &mut self,
        (service, spec): (&Object<Service>, &ServiceSpec),
        (slice, endpoints): (&Slice, Vec<Endpoint>),
    ) {
        let mut next = slice.body.clone();
        next.endpoints = endpoints;
        next.metadata.labels = Some(labels(service, spec));
        if next != slice.body {
            self.update.push(next);
        }
    }

    /// Writes what is to be written, and waits until it shows.
    pub(super) async fn carry_out(
        self,
        services: &Services,
        service: &ObjectKey,
    ) -> kube::Result<()> {
        let namespace = service.namespace().unwrap_or_default();
        let client = services.workloads.client.clone();
        let api: Api<EndpointSlice> = Api::namespaced(client, namespace);
        let parameters = PostParams::default();
        let mut last = None;
        for slice in &self.create {
            last = Some(api.create(&parameters, slice).await?);
        }
        for slice in &self.update {
            let name = slice.metadata.name.as_deref().unwrap_or_default();
            last = Some(api.replace(name, &parameters, slice).await?);
        }
        for name in &self.delete {
            unless_gone(api.delete(name, &DeleteParams::default()).await)?;
        }
        if let Some(last) = last {
            crate::workloads::settle(&services.slices, &last.metadata).await;
        }
        Ok(())
    }
}

fn has_ports(slice: &EndpointSlice, ports: &[Port]) -> bool {
    let mut known: Vec<_> = slice.ports.clone().unwrap_or_default();
    let mut wanted: Vec<_> = ports.iter().map(port).collect();
    let order = |port: &EndpointPort| (port.name.clone(), port.port, port.protocol.clone());
    known.sort_by_key(order);
    wanted.sort_by_key(order);
    known == wanted
}

fn port(port: &Port) -> EndpointPort {
    EndpointPort {
        name: Some(port.name.clone()),
        port: Some(port.number),
        protocol: Some(port.protocol.clone()),
        app_protocol: port.app_protocol.clone(),
    }
}

fn new_slice(
    (service, spec): (&Object<Service>, &ServiceSpec),
    family: Family,
    ports: Vec<Port>,
) -> EndpointSlice {
    EndpointSlice {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", service.key.name())),
            labels: Some(labels(service, spec)),
            owner_references: reference_to(&service.body).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        address_type: family.address_type().to_owned(),
        endpoints: Vec::new(),
        ports: Some(ports.iter().map(port).collect()),
    }
}

/// Those of the service, and those that say what a slice is.
fn labels(service: &Object<Service>, spec: &ServiceSpec) -> BTreeMap<String, String> {
    let mut labels = handed_down(service, spec);
    labels.insert(SERVICE_NAME.to_owned(), service.key.name().to_owned());
    labels.insert(MANAGED_BY.to_owned(), OURSELVES.to_owned());
    labels
}
