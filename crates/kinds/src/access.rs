//! Roles and who has them.

use listwatch_api::{FieldError, field_error::BadValue, name};
use serde_json::Value;

use crate::bounds::shown;
use crate::field::{Field, LabelValues, check, check_label_selector};
use crate::rules::{Change, Rules};
use crate::tree::{each, fill, text};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Whether a kind of access control lives in namespaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Namespace,
    Cluster,
}

/// Roles.
pub(crate) const ROLES: Rules = Rules {
    check_new: |role| check(role, |role| check_rules(role, Reach::Namespace)),
    check_change: |change| check(change.next, |role| check_rules(role, Reach::Namespace)),
    ..Rules::NONE
};

/// ClusterRoles.
pub(crate) const CLUSTER_ROLES: Rules = Rules {
    check_new: |role| check(role, check_cluster_role),
    check_change: |change| check(change.next, check_cluster_role),
    ..Rules::NONE
};

/// RoleBindings.
pub(crate) const ROLE_BINDINGS: Rules = Rules {
    default: default_binding,
    check_new: |binding| check(binding, |binding| check_binding(binding, Reach::Namespace)),
    check_change: |change| check_binding_change(change, Reach::Namespace),
    ..Rules::NONE
};

/// ClusterRoleBindings.
pub(crate) const CLUSTER_ROLE_BINDINGS: Rules = Rules {
    default: default_binding,
    check_new: |binding| check(binding, |binding| check_binding(binding, Reach::Cluster)),
    check_change: |change| check_binding_change(change, Reach::Cluster),
    ..Rules::NONE
};

fn default_binding(binding: &mut Value) {
    fill(&mut binding["roleRef"], "apiGroup", GROUP);
    for subject in each(binding, "subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            fill(subject, "apiGroup", GROUP);
        }
    }
}

fn check_cluster_role(role: &Field<'_, '_>) {
    check_rule_targets(role, Reach::Cluster);
    if let Some(aggregation) = role.given("aggregationRule") {
        let selectors = aggregation.child("clusterRoleSelectors");
        selectors.need_because(
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
        );
        for selector in selectors.elements() {
            let is_good =
                selector.passes(|selector| check_label_selector(selector, LabelValues::Checked));
            if !is_good {
                selector.invalid_value(&Value::Null, "invalid label selector.");
            }
        }
    }
    check_verbs(role);
}

fn check_rules(role: &Field<'_, '_>, reach: Reach) {
    check_rule_targets(role, reach);
    check_verbs(role);
}

fn check_rule_targets(role: &Field<'_, '_>, reach: Reach) {
    for rule in role.child("rules").elements() {
        let (urls, groups, resources) = (
            rule.child("nonResourceURLs"),
            rule.child("apiGroups"),
            rule.child("resources"),
        );
        if urls.is_empty() {
            groups.need_because("resource rules must supply at least one api group");
            resources.need_because("resource rules must supply at least one resource");
            continue;
        }
        if reach == Reach::Namespace {
            urls.invalid("namespaced rules cannot apply to non-resource URLs");
        }
        if !groups.is_empty() || !resources.is_empty() || !rule.child("resourceNames").is_empty() {
            urls.invalid("rules cannot apply to both regular resources and non-resource URLs");
        }
    }
}

fn check_verbs(role: &Field<'_, '_>) {
    for rule in role.child("rules").elements() {
        rule.child("verbs").need();
    }
}

fn check_binding(binding: &Field<'_, '_>, reach: Reach) {
    let role = binding.child("roleRef");
    role.child("apiGroup").one_of(&[GROUP]);
    match reach {
        Reach::Namespace => role.child("kind").one_of(&["Role", "ClusterRole"]),
        Reach::Cluster => role.child("kind").one_of(&["ClusterRole"]),
    }
    if !role.child("name").is_empty() {
        role.child("name").named(name::check_path_segment);
    }
    let subjects = binding.child("subjects");
    subjects
        .elements()
        .for_each(|subject| check_subject(&subject, reach));
    subjects.elements().for_each(|subject| {
        subject.child("name").need();
    });
    role.child("name").need();
}

fn check_subject(subject: &Field<'_, '_>, reach: Reach) {
    let (kind, name, group) = (
        subject.child("kind"),
        subject.child("name"),
        subject.child("apiGroup"),
    );
    match kind.text() {
        "ServiceAccount" => {
            if !name.is_empty() {
                name.dns_subdomain();
            }
            if !group.is_empty() {
                group.not_supported(&[""]);
            }
            if reach == Reach::Cluster {
                subject.child("namespace").need();
            }
        }
        "User" | "Group" => group.one_of(&[GROUP]),
        _ => kind.one_of(&["ServiceAccount", "User", "Group"]),
    }
}

fn check_binding_change(change: Change<'_>, reach: Reach) -> Vec<FieldError> {
    check(change.next, |binding| {
        check_binding(binding, reach);
        let role = binding.child("roleRef");
        if change.before["roleRef"] != *role.value() {
            let members = [("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name")];
            let shown = shown(role.value(), &members);
            role.report(|path| {
                FieldError::invalid(path, BadValue::json(shown), "field is immutable")
            });
        }
    })
}
