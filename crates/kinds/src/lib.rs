//! What built-in kinds fill in and refuse, beyond the shape of their objects and the rules of
//! metadata that all kinds share.
//!
//! Pure functions on trees: no clock, no store, no request. Objects are in the version in which
//! they are stored, and have the members that decoding always gives them.

mod rules;
mod field;
mod bounds;
mod tree;
mod address;
mod resource_name;
mod condition;
mod difference;
mod struct_diff;
mod workloads;
pub mod service;
mod endpoints;
mod configuration;
pub mod cluster;
mod quota;
mod volumes;
mod storage;
mod access;
mod ingress;
mod network;
mod scaling;
mod coordination;
mod scheduling;
mod admission;
pub mod certificates;
mod flow;
mod registration;
mod devices;

pub use rules::{Change, Rules};
pub use workloads::running;

/// The rules of a kind; `None` for one that takes whatever fits its shape.
pub fn rules(group: &str, resource: &str) -> Option<&'static Rules> {
    match group {
        "" => core(resource),
        "apps" => apps(resource),
        "batch" => batch(resource),
        "rbac.authorization.k8s.io" => access(resource),
        "networking.k8s.io" => networking(resource),
        "storage.k8s.io" => storage(resource),
        "admissionregistration.k8s.io" => admission(resource),
        _ => others(group, resource),
    }
}

fn core(resource: &str) -> Option<&'static Rules> {
    Some(match resource {
        "pods" => &workloads::PODS,
        "podtemplates" => &workloads::POD_TEMPLATES,
        "replicationcontrollers" => &workloads::REPLICATION_CONTROLLERS,
        "services" => &service::SERVICES,
        "endpoints" => &endpoints::ENDPOINTS,
        "configmaps" => &configuration::CONFIG_MAPS,
        "secrets" => &configuration::SECRETS,
        "namespaces" => &cluster::NAMESPACES,
        "nodes" => &cluster::NODES,
        "events" => &cluster::EVENTS,
        "persistentvolumes" => &volumes::VOLUMES,
        "persistentvolumeclaims" => &volumes::CLAIMS,
        "limitranges" => &quota::LIMIT_RANGES,
        "resourcequotas" => &quota::RESOURCE_QUOTAS,
        _ => return None,
    })
}

fn apps(resource: &str) -> Option<&'static Rules> {
    Some(match resource {
        "replicasets" => &workloads::REPLICA_SETS,
        "deployments" => &workloads::DEPLOYMENTS,
        "daemonsets" => &workloads::DAEMON_SETS,
        "statefulsets" => &workloads::STATEFUL_SETS,
        "controllerrevisions" => &workloads::CONTROLLER_REVISIONS,
        _ => return None,
    })
}

fn batch(resource: &str) -> Option<&'static Rules> {
    Some(match resource {
        "jobs" => &workloads::JOBS,
        "cronjobs" => &workloads::CRON_JOBS,
        _ => return None,
    })
}

fn access(resource: &str) -> Option<&'static Rules> {
    Some(match resource {
        "roles" => &access::ROLES,
        "clusterroles" => &access::CLUSTER_ROLES,
        "rolebindings" => &access::ROLE_BINDINGS,
        "clusterrolebindings" => &access::CLUSTER_ROLE_BINDINGS,
        _ => return None,
    })
}

fn networking(resource: &str) -> Option<&'static Rules> {
    Some(match resource {
        "ingresses" => &ingress::INGRESSES,
        "ingressclasses" => &ingress::INGRESS_CLASSES,
        "networkpolicies" => &network::NETWORK_POLICIES,
        "ipaddresses" => &network::IP_ADDRESSES,
        "servicecidrs" => &network::SERVICE_CIDRS,
        _ => return None,
    })
}

fn storage(resource: &str) -> Option<&'static Rules> {
    Some(match resource {
        "storageclasses" => &storage::STORAGE_CLASSES,
        "volumeattributesclasses" => &storage::VOLUME_ATTRIBUTES_CLASSES,
        "csidrivers" => &storage::CSI_DRIVERS,
        "csinodes" => &storage::CSI_NODES,
        "csistoragecapacities" => &storage::STORAGE_CAPACITIES,
        "volumeattachments" => &storage::VOLUME_ATTACHMENTS,
        _ => return None,
    })
}

fn admission(resource: &str) -> Option<&'static Rules> {
    Some(match resource {
        "validatingwebhookconfigurations" => &admission::VALIDATING_WEBHOOKS,
        "mutatingwebhookconfigurations" => &admission::MUTATING_WEBHOOKS,
        "validatingadmissionpolicies" => &admission::policies::VALIDATING_POLICIES,
        "mutatingadmissionpolicies" => &admission::policies::MUTATING_POLICIES,
        "validatingadmissionpolicybindings" => &admission::policies::VALIDATING_BINDINGS,
        "mutatingadmissionpolicybindings" => &admission::policies::MUTATING_BINDINGS,
        _ => return None,
    })
}

fn others(group: &str, resource: &str) -> Option<&'static Rules> {
    Some(match (group, resource) {
        ("events.k8s.io", "events") => &cluster::NEW_EVENTS,
        ("discovery.k8s.io", "endpointslices") => &endpoints::ENDPOINT_SLICES,
        ("autoscaling", "horizontalpodautoscalers") => &scaling::AUTOSCALERS,
        ("policy", "poddisruptionbudgets") => &scaling::DISRUPTION_BUDGETS,
        ("coordination.k8s.io", "leases") => &coordination::LEASES,
        ("coordination.k8s.io", "leasecandidates") => &coordination::LEASE_CANDIDATES,
        ("scheduling.k8s.io", "priorityclasses") => &scheduling::PRIORITY_CLASSES,
        ("node.k8s.io", "runtimeclasses") => &scheduling::RUNTIME_CLASSES,
        ("certificates.k8s.io", "certificatesigningrequests") => &certificates::SIGNING_REQUESTS,
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => &flow::FLOW_SCHEMAS,
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => &flow::PRIORITY_LEVELS,
        ("apiregistration.k8s.io", "apiservices") => &registration::API_SERVICES,
        ("storagemigration.k8s.io", "storageversionmigrations") => &registration::MIGRATIONS,
        ("resource.k8s.io", "resourceclaims") => &devices::CLAIMS,
        ("resource.k8s.io", "resourceclaimtemplates") => &devices::CLAIM_TEMPLATES,
        ("resource.k8s.io", "resourceslices") => &devices::SLICES,
        _ => return None,
    })
}
