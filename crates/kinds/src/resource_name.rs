//! Names of what can be counted: processors, memory, objects, devices.

use listwatch_api::name;

use crate::field::{Field, non_negative_quantity};

const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
const MEASURED: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

pub(crate) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether a quota can bound it under this name.
pub(crate) fn is_in_quotas(name: &str) -> bool {
    COUNTED.contains(&name)
        || MEASURED.contains(&name)
        || is_huge_page(name)
        || name.starts_with("requests.hugepages-")
}

/// Whether a container has it, not counting what others define.
pub(crate) fn is_of_containers(name: &str) -> bool {
    is_usual(name) || is_huge_page(name)
}

/// Whether it is one of the few that nearly all containers have, of which there is no more to ask.
fn is_usual(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage")
}

/// Whether Kubernetes itself defines it.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether more of it may be promised than there is.
pub(crate) fn may_be_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Whether it is a device or the like, which others define.
pub(crate) fn is_extended(resource: &str) -> bool {
    !is_native(resource)
        && !resource.starts_with("requests.")
        && name::check_qualified_name(&format!("requests.{resource}")).is_empty()
}

impl Field<'_, '_> {
    /// Demands that `resource`, the key of this entry, names a resource.
    pub(crate) fn resource_name(&self, resource: &str) {
        let problems = name::check_qualified_name(resource);
        problems
            .iter()
            .for_each(|problem| self.invalid_value(resource, problem));
        let is_standard = is_in_quotas(resource) || resource == "storage";
        if problems.is_empty() && !resource.contains('/') && !is_standard {
            self.invalid_value(
                resource,
                "must be a standard resource type or fully qualified",
            );
        }
    }

    /// Demands that `resource` names something that containers can have.
    pub(crate) fn container_resource_name(&self, resource: &str) {
        if is_usual(resource) {
            return;
        }
        self.resource_name(resource);
        if !resource.contains('/') {
            if !is_of_containers(resource) {
                self.invalid_value(resource, "must be a standard resource for containers");
            }
        } else if !is_native(resource) && !is_extended(resource) {
            self.invalid_value(resource, "doesn't follow extended resource name standard");
        }
    }

    /// Demands that `resource` names something that quotas can bound.
    pub(crate) fn quota_resource_name(&self, resource: &str) {
        self.resource_name(resource);
        if !resource.contains('/') && !is_in_quotas(resource) {
            self.invalid_value(resource, "must be a standard resource for quota");
        }
    }

    /// Demands an amount that can be had of `resource`.
    pub(crate) fn amount_of(&self, resource: &str) {
        non_negative_quantity(self);
        if is_usual(resource) {
            return;
        }
        let is_counted = COUNTED.contains(&resource) || is_extended(resource);
        if is_counted && self.quantity().whole().is_none() {
            self.invalid("must be an integer");
        }
    }
}
