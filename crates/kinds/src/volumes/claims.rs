//! Claims to volumes.

use listwatch_api::{FieldError, Quantity};
use serde_json::{Value, json};

use super::{check_basic, check_modes};
use crate::field::{
    Field, LabelValues, check, check_label_selector, non_negative_quantity, positive_quantity,
};
use crate::network::selector_was_bad;
use crate::rules::{Change, Rules};
use crate::struct_diff::{self, Shape};
use crate::tree::{add_name, clear, fill, text};

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// PersistentVolumeClaims.
pub(crate) const CLAIMS: Rules = Rules {
    default: |claim| {
        fill(&mut claim["status"], "phase", "Pending");
        fill(&mut claim["spec"], "volumeMode", "Filesystem");
    },
    begin: |claim| {
        claim["status"] = json!({"phase": "Pending"});
        add_name(
            &mut claim["metadata"],
            "finalizers",
            "kubernetes.io/pvc-protection",
        );
        drop_odd_source(&mut claim["spec"]);
        align_sources(&mut claim["spec"]);
    },
    adjust: |before, next| {
        let old = &before["spec"];
        if old["dataSource"].is_null() && old["dataSourceRef"].is_null() {
            drop_odd_source(&mut next["spec"]);
        }
        align_sources(&mut next["spec"]);
    },
    check_new: |claim| {
        check(claim, |claim| {
            check_claim(&claim.child("spec"), LabelValues::Checked)
        })
    },
    check_change: check_claim_change,
    check_status: |change| check(change.next, check_claim_status),
    warn: warn_claim,
};

fn warn_claim(claim: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if !claim["metadata"]["annotations"][CLASS].is_null() {
        warnings.push(format!(
            "metadata.annotations[{CLASS}]: deprecated since v1.8; use \"storageClassName\" \
             attribute instead"
        ));
    }
    for part in ["requests", "limits"] {
        let amount = claim["spec"]["resources"][part]["storage"]
            .as_str()
            .unwrap_or("0");
        if Quantity::parse(amount).is_ok_and(|amount| amount.whole().is_none()) {
            warnings.push(format!(
                "spec.resources.{part}[storage]: fractional byte value {amount:?} is invalid, must \
                 be an integer"
            ));
        }
    }
    warnings
}

/// The older of the two members that name what a claim is filled from takes two kinds; others are
/// dropped in silence.
fn drop_odd_source(spec: &mut Value) {
    let source = &spec["dataSource"];
    let is_known = matches!(
        (text(source, "apiGroup"), text(source, "kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    );
    if spec["dataSourceRef"].is_null() && !is_known {
        clear(spec, "dataSource");
    }
}

/// The two members that name what a claim is filled from say the same.
fn align_sources(spec: &mut Value) {
    let (old, new) = (&spec["dataSource"], &spec["dataSourceRef"]);
    match (old.is_null(), new.is_null()) {
        (false, true) => spec["dataSourceRef"] = old.clone(),
        (true, false) if text(new, "namespace").is_empty() => {
            let mut source = new.clone();
            clear(&mut source, "namespace");
            spec["dataSource"] = source;
        }
        _ => {}
    }
}

/// Checks the spec of a claim, by itself or in a template.
pub(crate) fn check_claim(spec: &Field<'_, '_>, values: LabelValues) {
    spec.child("accessModes")
        .need_because("at least 1 access mode is required");
    check_label_selector(&spec.child("selector"), values);
    check_modes(spec);
    let resources = spec.child("resources");
    let storage = resources.key("storage");
    let asked = &resources.value()["requests"]["storage"];
    match asked {
        Value::Null => storage.required(""),
        asked => {
            let storage = storage.with_value(asked);
            if storage.passes(positive_quantity) {
                non_negative_quantity(&storage);
            }
        }
    }
    for name in ["storageClassName"] {
        if !spec.child(name).is_empty() {
            spec.child(name).dns_subdomain();
        }
    }
    if let Some(mode) = spec.given("volumeMode") {
        mode.one_of(&["Block", "Filesystem"]);
    }
    check_data_sources(spec);
    if !spec.child("volumeAttributesClassName").is_empty() {
        spec.child("volumeAttributesClassName").dns_subdomain();
    }
}

fn check_data_sources(spec: &Field<'_, '_>) {
    let (old, new) = (spec.child("dataSource"), spec.child("dataSourceRef"));
    for source in [&old, &new].into_iter().filter(|source| source.is_set()) {
        source.child("name").need();
        source.child("kind").need();
        let (group, kind) = (source.child("apiGroup"), source.child("kind"));
        if !group.is_empty() {
            group.dns_subdomain();
        } else if kind.text() != "PersistentVolumeClaim" {
            let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            source.invalid_value(kind.text(), why);
        }
        if !source.child("namespace").is_empty() {
            source.child("namespace").dns_label();
        }
    }
    if !old.is_set() || !new.is_set() {
        return;
    }
    let is_same = ["apiGroup", "kind", "name"]
        .iter()
        .all(|member| old.value()[*member] == new.value()[*member]);
    let why = match new.child("namespace").is_empty() {
        false => "may not be specified when dataSourceRef.namespace is specified",
        true if !is_same => "must match dataSourceRef",
        true => return,
    };
    spec.report(|path| FieldError::invalid(path, &json!({}), why));
}

fn check_claim_change(change: Change<'_>) -> Vec<FieldError> {
    let (before, next) = (change.before, change.next);
    let values = match selector_was_bad(&before["spec"]["selector"]) {
        true => LabelValues::Any,
        false => LabelValues::Checked,
    };
    check(next, |claim| {
        let spec = claim.child("spec");
        check_claim(&spec, values);
        let annotation = |object: &Value| object["metadata"]["annotations"][CLASS].clone();
        if !upgrades_class(before, next) && annotation(before) != annotation(next) {
            let metadata = claim.child("metadata");
            metadata.child("annotations").child(CLASS).invalid_value(
                text(&next["metadata"]["annotations"], CLASS),
                "field is immutable",
            );
        }
        check_claim_kept(&spec, change);
        check_claim_size(&spec, before);
        let mode = claim
            .child("volumeMode")
            .with_value(&next["spec"]["volumeMode"]);
        mode.immutable(mode.with_value(&before["spec"]["volumeMode"]));
        let class = spec.child("volumeAttributesClassName");
        if before["spec"]["volumeAttributesClassName"] != *class.value()
            && !before["status"]["currentVolumeAttributesClassName"].is_null()
        {
            let what = match class.value() {
                Value::Null => "nil",
                Value::String(text) if text.is_empty() => "empty string",
                _ => return,
            };
            class.forbidden(&format!(
                "update to {what} is forbidden when status.currentVolumeAttributesClassName is not \
                 nil"
            ));
        }
    })
}

/// Whether the class moves from the annotation of old into its own member.
fn upgrades_class(before: &Value, next: &Value) -> bool {
    let (had, has) = (
        &before["metadata"]["annotations"][CLASS],
        &next["metadata"]["annotations"][CLASS],
    );
    !had.is_null()
        && before["spec"]["storageClassName"].is_null()
        && next["spec"]["storageClassName"] == *had
        && (has.is_null() || has == had)
}

fn check_claim_kept(spec: &Field<'_, '_>, change: Change<'_>) {
    let (before, next) = (change.before, change.next);
    let (mut old, mut new) = (before["spec"].clone(), next["spec"].clone());
    let keep = |from: &Value, to: &mut Value, member: &str| match from.get(member) {
        Some(value) => to[member] = value.clone(),
        None => clear(to, member),
    };
    if text(&old, "volumeName").is_empty() {
        keep(&new, &mut old, "volumeName");
    }
    align_sources(&mut old);
    let had_annotation = &before["metadata"]["annotations"][CLASS];
    let from_nothing = !new["storageClassName"].is_null()
        && old["storageClassName"].is_null()
        && (had_annotation.is_null() || *had_annotation == new["storageClassName"]);
    if upgrades_class(before, next) {
        clear(&mut new, "storageClassName");
    } else if from_nothing {
        keep(&old, &mut new, "storageClassName");
    }
    if next["status"]["phase"] == "Bound" {
        if new["resources"]["requests"].is_object() {
            let requests = old["resources"]["requests"].clone();
            keep(&requests, &mut new["resources"]["requests"], "storage");
        }
        keep(&old, &mut new, "volumeAttributesClassName");
    }
    if old != new {
        let diff = struct_diff::between(&old, &new, CLAIM_SHAPE);
        spec.forbidden(&format!(
            "spec is immutable after creation except resources.requests and \
             volumeAttributesClassName for bound claims\n{diff}"
        ));
    }
}

fn check_claim_size(spec: &Field<'_, '_>, before: &Value) {
    let amount = |value: &Value| Quantity::parse(value.as_str().unwrap_or("0")).unwrap_or_default();
    let asked = amount(&spec.value()["resources"]["requests"]["storage"]);
    let had = amount(&before["status"]["capacity"]["storage"]);
    if asked < amount(&before["spec"]["resources"]["requests"]["storage"]) && asked <= had {
        let (resources, why) = (
            spec.child("resources"),
            "field can not be less than status.capacity",
        );
        resources.child("requests").child("storage").forbidden(why);
    }
}

fn check_claim_status(claim: &Field<'_, '_>) {
    let status = claim.child("status");
    for (_, amount) in status.child("capacity").entries() {
        check_basic(&amount);
    }
    for (_, amount) in status.child("allocatedResources").entries() {
        if amount.passes(check_basic) {
            non_negative_quantity(&amount);
        }
    }
}

const CLAIM_SHAPE: Shape = Shape::Struct(&[
    ("AccessModes", "accessModes", Shape::Plain),
    ("Selector", "selector", Shape::Plain),
    (
        "Resources",
        "resources",
        Shape::Struct(&[
            ("Limits", "limits", Shape::Plain),
            ("Requests", "requests", Shape::Plain),
        ]),
    ),
    ("VolumeName", "volumeName", Shape::Text),
    ("StorageClassName", "storageClassName", Shape::Plain),
    ("VolumeMode", "volumeMode", Shape::Plain),
    (
        "DataSource",
        "dataSource",
        Shape::Pointer(&[
            ("APIGroup", "apiGroup", Shape::Plain),
            ("Kind", "kind", Shape::Text),
            ("Name", "name", Shape::Text),
        ]),
    ),
    (
        "DataSourceRef",
        "dataSourceRef",
        Shape::Pointer(&[
            ("APIGroup", "apiGroup", Shape::Plain),
            ("Kind", "kind", Shape::Text),
            ("Name", "name", Shape::Text),
            ("Namespace", "namespace", Shape::Plain),
        ]),
    ),
    (
        "VolumeAttributesClassName",
        "volumeAttributesClassName",
        Shape::Plain,
    ),
]);
