//! Which part of an object a path may change.

use listwatch_api::Status;
use listwatch_kinds::running;
use serde_json::Value;

use crate::{
    admission::ChangeOf,
    registry::{Definition, StatusWriting},
    request::ResourceRequest,
};

/// The part of an object that a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it but the status of kinds that keep it apart.
    Main,
    /// The status alone.
    Status,
    /// What was decided of a request for a certificate, in its status.
    Approval,
    /// The number of replicas, seen as a Scale.
    Scale,
    /// The finalizers of a namespace.
    Finalize,
    /// Containers added to a running pod.
    EphemeralContainers,
    /// The resources of a running pod's containers.
    Resize,
}

impl Part {
    /// The part that a request is about.
    pub(crate) fn of(request: &ResourceRequest) -> Result<Self, Status> {
        match request.subresource.as_deref() {
            None => Ok(Self::Main),
            Some("status") => Ok(Self::Status),
            Some("approval") => Ok(Self::Approval),
            Some("scale") => Ok(Self::Scale),
            Some("finalize") => Ok(Self::Finalize),
            Some("ephemeralcontainers") => Ok(Self::EphemeralContainers),
            Some("resize") => Ok(Self::Resize),
            Some(_) => Err(Status::unknown_resource()),
        }
    }

    /// The rules of the kind that a change of this part has to keep.
    pub(crate) fn rules(self) -> ChangeOf {
        match self {
            Self::Main | Self::Scale => ChangeOf::Object,
            Self::Status => ChangeOf::Status,
            Self::Approval => ChangeOf::Approval,
            Self::EphemeralContainers => ChangeOf::EphemeralContainers,
            Self::Resize => ChangeOf::Resources,
            Self::Finalize => ChangeOf::Finalizers,
        }
    }

    /// Whether a member of an object stays as it is, whatever is written through this part.
    pub(crate) fn keeps(self, definition: &Definition, member: &str) -> bool {
        match (self, member) {
            (_, "kind" | "apiVersion" | "metadata") => false,
            (Self::Main, "status") => definition.status != StatusWriting::Open,
            (Self::Status | Self::Approval, member) => member != "status",
            (_, _) => false,
        }
    }

    /// Puts back into `next` everything that this part may not change.
    pub(crate) fn keep_the_rest(self, definition: &Definition, current: &Value, next: &mut Value) {
        match self {
            Self::Main => {
                if definition.status != StatusWriting::Open {
                    keep(current, next, "status");
                }
                if is_namespace(definition) {
                    keep(current, next, "spec");
                }
            }
            Self::Finalize => keep(current, next, "status"),
            Self::Status | Self::Approval => {
                keep_all_but(current, next, &["metadata", "status"]);
                if definition.custom.is_some() {
                    keep_metadata(current, next);
                }
            }
            Self::Scale => {}
            Self::EphemeralContainers => {
                let added = next["spec"]["ephemeralContainers"].take();
                keep_all_but(current, next, &["metadata"]);
                if !added.is_null() {
                    next["spec"]["ephemeralContainers"] = added;
                }
            }
            Self::Resize => {
                keep(current, next, "status");
                running::keep_all_but_resources(current, next);
            }
        }
    }
}

fn is_namespace(definition: &Definition) -> bool {
    definition.group.is_empty() && &*definition.resource == "namespaces"
}

fn keep(current: &Value, next: &mut Value, member: &str) {
    let Some(members) = next.as_object_mut() else {
        return;
    };
    match current.get(member) {
        Some(value) => drop(members.insert(member.to_owned(), value.clone())),
        None => drop(members.remove(member)),
    }
}

/// Keeps the metadata but for who owns what.
fn keep_metadata(current: &Value, next: &mut Value) {
    let owners = next["metadata"].get("managedFields").cloned();
    next["metadata"] = current["metadata"].clone();
    if let Some(owners) = owners {
        next["metadata"]["managedFields"] = owners;
    }
}

fn keep_all_but(current: &Value, next: &mut Value, changed: &[&str]) {
    let Some(members) = next.as_object_mut() else {
        return;
    };
    members.retain(|name, _| changed.contains(&name.as_str()));
    for (name, value) in current.as_object().into_iter().flatten() {
        if !changed.contains(&name.as_str()) {
            members.insert(name.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    fn kept(part: Part, (group, resource): (&str, &str), current: Value, next: Value) -> Value {
        let registry = Registry::builtin();
        let definition = registry.find(group, "v1", resource).unwrap();
        let mut next = next;
        part.keep_the_rest(&definition, &current, &mut next);
        next
    }

    #[test]
    fn the_status_is_not_changed_by_the_main_path() {
        let current = json!({"spec": {"a": 1}, "status": {"b": 1}});
        let next = json!({"spec": {"a": 2}, "status": {"b": 2}});
        let expected = json!({"spec": {"a": 2}, "status": {"b": 1}});
        assert_eq!(
            kept(Part::Main, ("apps", "deployments"), current, next),
            expected
        );
    }

    #[test]
    fn the_status_path_changes_nothing_but_the_status() {
        let current = json!({"metadata": {}, "spec": {"a": 1}, "status": {"b": 1}});
        let next = json!({"metadata": {"labels": {}}, "spec": {"a": 2}, "status": {"b": 2}});
        let expected = json!({"metadata": {"labels": {}}, "spec": {"a": 1}, "status": {"b": 2}});
        assert_eq!(
            kept(Part::Status, ("apps", "deployments"), current, next),
            expected
        );
    }

    #[test]
    fn a_namespace_keeps_its_finalizers_until_they_are_finalized() {
        let current = json!({"spec": {"finalizers": ["kubernetes"]}, "status": {}});
        let next = json!({"spec": {"finalizers": []}, "status": {"phase": "x"}});
        let namespaces = ("", "namespaces");
        assert_eq!(
            kept(Part::Main, namespaces, current.clone(), next.clone()),
            current
        );
        let finalized = kept(Part::Finalize, namespaces, current, next);
        assert_eq!(finalized, json!({"spec": {"finalizers": []}, "status": {}}));
    }
}
