//! How a pod is reached through a service.

use std::net::IpAddr;

use k8s_openapi::{
    api::core::v1::{ObjectReference, Pod, PodSpec, Service, ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};
use listwatch::Object;

/// A kind of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

/// One port of a pod, as a service offers it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Port {
    pub(super) name: String,
    pub(super) number: i32,
    pub(super) protocol: String,
    pub(super) app_protocol: Option<String>,
}

impl Family {
    /// What slices call it.
    pub(super) fn address_type(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    /// The kinds of addresses that a service has, the main one first.
    pub(super) fn of(service: &Service) -> Vec<Self> {
        let families = service.spec.iter().flat_map(|spec| &spec.ip_families);
        let families = families.flatten().map(|family| match family.as_str() {
            "IPv6" => Self::V6,
            _ => Self::V4,
        });
        let families: Vec<_> = families.collect();
        match families.is_empty() {
            true => vec![Self::V4],
            false => families,
        }
    }

    /// The addresses of a pod that are of this kind.
    pub(super) fn addresses(self, pod: &Pod) -> Vec<String> {
        let status = pod.status.iter();
        let addresses = status.flat_map(|status| status.pod_ips.iter().flatten());
        let parsed = addresses.filter_map(|address| address.ip.parse::<IpAddr>().ok());
        parsed
            .filter(|address| address.is_ipv6() == (self == Self::V6))
            .map(|address| address.to_string())
            .collect()
    }
}

/// Whether a pod has an address and its containers may still answer.
pub(super) fn may_answer(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    let has_address = status.is_some_and(|status| {
        let addresses = status.pod_ips.as_ref();
        status.pod_ip.is_some() || addresses.is_some_and(|addresses| !addresses.is_empty())
    });
    has_address && !matches!(phase, Some("Succeeded" | "Failed"))
}

/// The ports of a service as this pod has them, those that it has. `None` if a service with ports
/// finds none.
pub(super) fn ports(spec: &ServiceSpec, pod: &Pod) -> Vec<Port> {
    let ports = spec.ports.iter().flatten();
    ports
        .filter_map(|port| {
            Some(Port {
                name: port.name.clone().unwrap_or_default(),
                number: number(port, pod.spec.as_ref()?)?,
                protocol: protocol(port.protocol.as_deref()).to_owned(),
                app_protocol: port.app_protocol.clone(),
            })
        })
        .collect()
}

fn protocol(given: Option<&str>) -> &str {
    given.unwrap_or("TCP")
}

/// The number of a port. One that is named is that of the container which calls it so.
fn number(port: &ServicePort, pod: &PodSpec) -> Option<i32> {
    let name = match &port.target_port {
        Some(IntOrString::Int(number)) if *number != 0 => return Some(*number),
        Some(IntOrString::String(name)) if !name.is_empty() => name,
        Some(_) | None => return Some(port.port),
    };
    let sidecars = pod.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|it| it.restart_policy.as_deref() == Some("Always"));
    let containers = pod.containers.iter().chain(sidecars);
    let mut offered = containers.flat_map(|container| container.ports.iter().flatten());
    let found = offered.find(|offered| {
        offered.name.as_ref() == Some(name)
            && protocol(offered.protocol.as_deref()) == protocol(port.protocol.as_deref())
    });
    found.map(|offered| offered.container_port)
}

/// The name by which a pod is found below its service.
pub(super) fn hostname(service: &Object<Service>, pod: &Pod) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let is_below = spec.subdomain.as_deref() == Some(service.key.name());
    spec.hostname
        .clone()
        .filter(|name| is_below && !name.is_empty())
}

/// What an address belongs to.
pub(super) fn reference(pod: &Object<Pod>) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".to_owned()),
        namespace: pod.key.namespace().map(str::to_owned),
        name: Some(pod.key.name().to_owned()),
        uid: pod.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// Whether a service has no address of its own.
pub(super) fn is_headless(spec: &ServiceSpec) -> bool {
    matches!(spec.cluster_ip.as_deref(), None | Some("" | "None"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_named_port_is_that_of_the_container_which_calls_it_so() {
        let pod = serde_json::from_value(json!({"spec": {
            "containers": [{"name": "c", "ports": [
                {"name": "web", "containerPort": 53, "protocol": "UDP"},
                {"name": "web", "containerPort": 8080},
            ]}],
            "initContainers": [
                {"name": "once", "ports": [{"name": "side", "containerPort": 1}]},
                {"name": "side", "restartPolicy": "Always",
                 "ports": [{"name": "side", "containerPort": 2}]},
            ],
        }}));
        let spec = serde_json::from_value(json!({"ports": [
            {"name": "a", "port": 80, "targetPort": "web"},
            {"name": "b", "port": 81, "targetPort": "side"},
            {"name": "c", "port": 82, "targetPort": "nothing"},
            {"name": "d", "port": 83},
            {"name": "e", "port": 84, "targetPort": 7},
        ]}));
        let ports = ports(&spec.unwrap(), &pod.unwrap()).into_iter();
        let ports: Vec<_> = ports.map(|port| (port.name, port.number)).collect();
        let wanted = [("a", 8080), ("b", 2), ("d", 83), ("e", 7)];
        assert_eq!(
            ports,
            wanted.map(|(name, number)| (name.to_owned(), number))
        );
    }

    #[test]
    fn addresses_are_told_apart_by_their_kind() {
        let pod = json!({"status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00:0::1"}]}});
        let pod = serde_json::from_value(pod).unwrap();
        assert_eq!(Family::V4.addresses(&pod), ["10.0.0.1"]);
        assert_eq!(Family::V6.addresses(&pod), ["fd00::1"]);
    }
}
