//! In which order groups and versions are preferred, as Kubernetes has it.

/// What an APIService says of the order of its group and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Priority {
    /// Groups with a larger one come first.
    pub(super) group: i64,
    /// Versions of a group with a larger one come first.
    pub(super) version: i64,
}

/// That of all custom kinds.
pub(super) const CUSTOM: Priority = Priority {
    group: 1_000,
    version: 100,
};

/// That of built-in kinds; `None` for the APIServices themselves, which nobody registers.
pub(super) fn of(group: &str, version: &str) -> Option<Priority> {
    let group_priority = match group {
        "" => 18_000,
        "apps" => 17_800,
        "events.k8s.io" => 17_750,
        "authentication.k8s.io" => 17_700,
        "authorization.k8s.io" => 17_600,
        "autoscaling" => 17_500,
        "batch" => 17_400,
        "certificates.k8s.io" => 17_300,
        "networking.k8s.io" => 17_200,
        "policy" => 17_100,
        "rbac.authorization.k8s.io" => 17_000,
        "storage.k8s.io" => 16_800,
        "admissionregistration.k8s.io" | "apiextensions.k8s.io" => 16_700,
        "scheduling.k8s.io" => 16_600,
        "coordination.k8s.io" => 16_500,
        "node.k8s.io" => 16_300,
        "discovery.k8s.io" | "resource.k8s.io" => 16_200,
        "flowcontrol.apiserver.k8s.io" => 16_100,
        "storagemigration.k8s.io" => 15_800,
        _ => return None,
    };
    let version_priority = match (group, version) {
        ("", _) => 1,
        ("autoscaling", "v2") => 30,
        ("flowcontrol.apiserver.k8s.io" | "resource.k8s.io", "v1") => 21,
        (_, "v1") => 15,
        _ => 9,
    };
    Some(Priority {
        group: group_priority,
        version: version_priority,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn groups_and_versions_are_told_in_the_order_of_their_priorities() {
        let registry = Registry::builtin();
        let mut last = Priority {
            group: i64::MAX,
            version: i64::MAX,
        };
        let mut last_group = "none yet";
        for definition in registry.definitions() {
            let (group, version) = (&*definition.group, &*definition.version);
            if group == "apiregistration.k8s.io" {
                assert_eq!(of(group, version), None);
                continue;
            }
            let own = of(group, version).unwrap_or_else(|| panic!("{version}.{group} has none"));
            assert!(own.group <= last.group, "{group} comes too late");
            if group == last_group {
                assert!(own.version <= last.version, "{version}.{group} too late");
            }
            (last, last_group) = (own, group);
        }
    }
}
