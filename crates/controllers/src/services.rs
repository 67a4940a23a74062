//! Which pods a service leads to, written down as Endpoints and EndpointSlices: by choice.

mod address;
mod endpoints;
mod mirror;
mod slices;

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::{
    core::v1::{Endpoints, Pod, Service, ServiceSpec},
    discovery::v1::EndpointSlice,
};
use listwatch::{Controller, Index, Next, Object, ObjectKey, SharedInformer};
use listwatch_server::ServerHandle;
use tokio::task::JoinSet;

use crate::{
    choice::{Choice, Name},
    controllers::Stop,
    worker::again_on_conflict,
    workloads::{Workloads, informer},
};

/// Says which service a slice belongs to.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Marks what belongs to a service without an address of its own.
const HEADLESS: &str = "service.kubernetes.io/headless";

/// What both controllers see and write with.
pub(crate) struct Services {
    workloads: Arc<Workloads>,
    services: SharedInformer<Service>,
    endpoints: SharedInformer<Endpoints>,
    slices: SharedInformer<EndpointSlice>,
    slices_by_service: Index<EndpointSlice, ObjectKey>,
}

impl Services {
    /// Informers of services and what leads to their pods. None has begun.
    pub(crate) fn new(server: &ServerHandle, workloads: Arc<Workloads>) -> Option<Arc<Self>> {
        let slices: SharedInformer<EndpointSlice> = informer(server)?;
        let by_service = slices.add_index("service", service_of);
        Some(Arc::new(Self {
            workloads,
            services: informer(server)?,
            endpoints: informer(server)?,
            slices_by_service: by_service.expect("a new informer has no index"),
            slices,
        }))
    }

    /// Starts the controllers that were chosen.
    pub(crate) fn spawn(self: &Arc<Self>, choice: &Choice, stop: &Stop, tasks: &mut JoinSet<()>) {
        if choice.includes(Name::Endpoint) {
            let controller = self
                .controller("endpoint")
                .owns_through(&self.endpoints, endpoints::service_of);
            tasks.spawn(self.run(controller, stop, endpoints::reconcile));
        }
        if choice.includes(Name::EndpointSlice) {
            let all = self.services.clone();
            let controller = self
                .controller("endpointslice")
                .owns_through(&self.slices, service_of)
                .watches(&self.workloads.nodes, move |_| {
                    let snapshot = all.cache().snapshot();
                    let keys = snapshot.iter().map(|service| service.key.clone());
                    keys.collect::<Vec<_>>()
                });
            tasks.spawn(self.run(controller, stop, slices::reconcile));
        }
        if choice.includes(Name::EndpointSliceMirroring) {
            let controller = Controller::new("endpointslicemirroring", &self.services)
                .owns_through(&self.slices, service_of)
                .owns_through(&self.endpoints, |it| Some(it.key.clone()));
            tasks.spawn(self.run(controller, stop, mirror::reconcile));
        }
    }

    fn controller(&self, name: &str) -> Controller<Service> {
        let services = self.services.clone();
        Controller::new(name, &self.services)
            .owns_through(&self.workloads.pods.informer, move |pod| {
                leading_to(&services, pod)
            })
    }

    fn run<R, F>(
        self: &Arc<Self>,
        controller: Controller<Service>,
        stop: &Stop,
        reconcile: R,
    ) -> impl Future<Output = ()> + Send + 'static + use<R, F>
    where
        R: Fn(ObjectKey, Arc<Services>) -> F + Send + Sync + 'static,
        F: Future<Output = kube::Result<Next>> + Send + 'static,
    {
        let mut stop = stop.clone();
        let controller = controller.stop_on(async move { stop.requested().await });
        let patient = move |key, services| {
            let run = reconcile(key, services);
            async move { again_on_conflict(run.await) }
        };
        let services = Arc::clone(self);
        async move {
            if let Err(error) = controller.run(patient, services).await {
                tracing::error!("a controller of services has stopped: {error}");
            }
        }
    }

    /// The pods that a service selects, in the order of their names.
    fn pods(&self, service: &Object<Service>) -> Vec<Arc<Object<Pod>>> {
        let snapshot = self.workloads.pods.informer.cache().snapshot();
        let near = snapshot.namespace(service.key.namespace().unwrap_or_default());
        near.filter(|pod| leads_to(service, pod)).cloned().collect()
    }
}

fn service_of(slice: &Object<EndpointSlice>) -> Option<ObjectKey> {
    let service = slice.labels.get(SERVICE_NAME)?;
    Some(ObjectKey::new(slice.key.namespace(), service))
}

fn leading_to(services: &SharedInformer<Service>, pod: &Object<Pod>) -> Vec<ObjectKey> {
    let snapshot = services.cache().snapshot();
    let near = snapshot.namespace(pod.key.namespace().unwrap_or_default());
    near.filter(|service| leads_to(service, pod))
        .map(|service| service.key.clone())
        .collect()
}

/// Whether a service selects a pod of its namespace. One without a selector leads where people
/// say.
fn leads_to(service: &Service, pod: &Object<Pod>) -> bool {
    let mut selector = service
        .spec
        .iter()
        .flat_map(|spec| &spec.selector)
        .flatten();
    has_selector(service)
        && selector.all(|(name, value)| pod.labels.get(name) == Some(value.as_str()))
}

/// Whether it is for us to say where a service leads.
fn has_selector(service: &Service) -> bool {
    service.spec.as_ref().is_some_and(|spec| {
        let selector = spec.selector.as_ref();
        spec.type_.as_deref() != Some("ExternalName")
            && selector.is_some_and(|selector| !selector.is_empty())
    })
}

/// The labels of a service, as what is made for it has them.
fn handed_down(service: &Service, spec: &ServiceSpec) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.remove(HEADLESS);
    if address::is_headless(spec) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels
}
