//! Classes that are meant when none is named.

use serde_json::{Value, json};

use super::Surroundings;
use crate::commit::metadata_text;

pub(super) fn give_storage_class(surroundings: Surroundings<'_>, claim: &mut Value) {
    let annotations = &claim["metadata"]["annotations"];
    let old_way = annotations.get("volume.beta.kubernetes.io/storage-class");
    if old_way.is_some() || claim["spec"].get("storageClassName").is_some() {
        return;
    }
    let marks = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    if let Some(name) = default_class(surroundings, ("storage.k8s.io", "storageclasses"), &marks) {
        claim["spec"]["storageClassName"] = json!(name);
    }
}

pub(super) fn give_ingress_class(surroundings: Surroundings<'_>, ingress: &mut Value) {
    let annotations = &ingress["metadata"]["annotations"];
    let old_way = annotations.get("kubernetes.io/ingress.class");
    if old_way.is_some() || ingress["spec"].get("ingressClassName").is_some() {
        return;
    }
    let marks = ["ingressclass.kubernetes.io/is-default-class"];
    let kind = ("networking.k8s.io", "ingressclasses");
    if let Some(name) = default_class(surroundings, kind, &marks) {
        ingress["spec"]["ingressClassName"] = json!(name);
    }
}

/// The newest class that is marked as the default; of several, the first by name.
fn default_class(
    surroundings: Surroundings<'_>,
    (group, resource): (&str, &str),
    marks: &[&str],
) -> Option<String> {
    let classes = surroundings.all(group, resource).into_iter();
    let is_default = |class: &Value| {
        let annotations = &class["metadata"]["annotations"];
        marks.iter().any(|mark| annotations[*mark] == "true")
    };
    let marked = classes.filter(is_default).map(|class| {
        let text = |member| metadata_text(&class, member).unwrap_or_default().to_owned();
        (text("creationTimestamp"), text("name"))
    });
    let newest = marked.min_by(|(one_time, one), (other_time, other)| {
        other_time.cmp(one_time).then(one.cmp(other))
    });
    newest.map(|(_, name)| name)
}
