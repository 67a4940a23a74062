//! Classes that are meant when none is named.

use listwatch_api::Status;
use serde_json::{Value, json};

use super::{super::amounts::amounts, Surroundings};
use crate::commit::metadata_text;

const STORAGE_CLASSES: (&str, &str) = ("storage.k8s.io", "storageclasses");
const OLD_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) fn give_storage_class(surroundings: Surroundings<'_>, claim: &mut Value) {
    let annotations = &claim["metadata"]["annotations"];
    let old_way = annotations.get(OLD_STORAGE_CLASS);
    if old_way.is_some() || claim["spec"].get("storageClassName").is_some() {
        return;
    }
    let marks = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    if let Some(name) = default_class(surroundings, STORAGE_CLASSES, &marks) {
        claim["spec"]["storageClassName"] = json!(name);
    }
}

/// A claim may ask for more only once it has a volume, and only if its class lets volumes grow.
pub(super) fn check_growth(
    surroundings: Surroundings<'_>,
    before: &Value,
    claim: &Value,
) -> Result<(), Status> {
    let size = |claim: &Value| {
        let mut amounts = amounts(&claim["spec"]["resources"]["requests"]);
        amounts.remove("storage").map(|(amount, _)| amount)
    };
    if size(claim) <= size(before) {
        return Ok(());
    }
    if before["status"]["phase"] != "Bound" {
        let why = "Only bound persistent volume claims can be expanded";
        return Err(surroundings.forbidden(claim, why));
    }
    let name = class_of_claim(claim);
    let class = name.and_then(|name| surroundings.find(STORAGE_CLASSES, name));
    let may_grow = class.is_some_and(|class| class["allowVolumeExpansion"] == json!(true));
    if may_grow && name == class_of_claim(before) {
        return Ok(());
    }
    let why = "only dynamically provisioned pvc can be resized and the storageclass that \
               provisions the pvc must support resize";
    Err(surroundings.forbidden(claim, why))
}

/// The class that a claim names, by either way of naming it.
fn class_of_claim(claim: &Value) -> Option<&str> {
    let old_way = claim["metadata"]["annotations"].get(OLD_STORAGE_CLASS);
    let named = old_way.or(claim["spec"].get("storageClassName"));
    named?.as_str().filter(|name| !name.is_empty())
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
