//! PersistentVolumes and the claims to them.

use listwatch_api::{FieldError, Quantity};
use serde_json::{Value, json};

use crate::field::{Field, check, positive_quantity};
use crate::rules::{Change, Rules};
use crate::struct_diff;
use crate::tree::{add_name, clear, fill, list, part};
use crate::workloads::check_node_selector;
pub(crate) use claims::{CLAIMS, check_claim};
use sources::check_sources;

mod claims;
mod sources;

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// PersistentVolumes. Whoever stores a new one also sets `status.lastPhaseTransitionTime`.
pub(crate) const VOLUMES: Rules = Rules {
    default: |volume| {
        fill(&mut volume["status"], "phase", "Pending");
        default_volume(&mut volume["spec"]);
    },
    begin: |volume| {
        volume["status"] = json!({"phase": "Pending"});
        add_name(
            &mut volume["metadata"],
            "finalizers",
            "kubernetes.io/pv-protection",
        );
    },
    check_new: |volume| check(volume, |volume| check_volume(&volume.child("spec"))),
    check_change: check_volume_change,
    ..Rules::NONE
};

fn default_volume(spec: &mut Value) {
    fill(spec, "persistentVolumeReclaimPolicy", "Retain");
    fill(spec, "volumeMode", "Filesystem");
    default_sources(spec);
}

/// Fills in what the sources of a volume leave out.
pub(crate) fn default_sources(spec: &mut Value) {
    if let Some(path) = part(spec, "hostPath")
        && path["type"].is_null()
    {
        path["type"] = json!("");
    }
    let texts = [
        ("rbd", "pool", "rbd"),
        ("rbd", "user", "admin"),
        ("rbd", "keyring", "/etc/ceph/keyring"),
        ("iscsi", "iscsiInterface", "default"),
        ("azureDisk", "cachingMode", "ReadWrite"),
        ("azureDisk", "fsType", "ext4"),
        ("azureDisk", "kind", "Shared"),
        ("scaleIO", "storageMode", "ThinProvisioned"),
        ("scaleIO", "fsType", "xfs"),
    ];
    for (source, member, value) in texts {
        if let Some(source) = part(spec, source) {
            fill(source, member, value);
        }
    }
    if let Some(disk) = part(spec, "azureDisk")
        && disk["readOnly"].is_null()
    {
        disk["readOnly"] = json!(false);
    }
}

fn check_modes(spec: &Field<'_, '_>) {
    let modes = spec.child("accessModes");
    for mode in list(spec.value(), "accessModes") {
        modes.with_value(mode).one_of(&MODES);
    }
    let stated: Vec<&str> = modes.elements().map(|mode| mode.text()).collect();
    let is_other = |mode: &&str| MODES.contains(mode) && *mode != "ReadWriteOncePod";
    if stated.contains(&"ReadWriteOncePod") && stated.iter().any(is_other) {
        modes.forbidden("may not use ReadWriteOncePod with other access modes");
    }
}

fn check_volume(spec: &Field<'_, '_>) {
    spec.child("accessModes").need();
    check_modes(spec);
    let capacity = spec.child("capacity");
    capacity.need();
    if capacity.count() != 1 || capacity.value().get("storage").is_none() {
        let shown = capacity.value().clone();
        capacity.report(|path| FieldError::not_supported(path, &shown, &["storage"]));
    }
    for (_, amount) in capacity.entries() {
        check_basic(&amount);
        positive_quantity(&amount);
    }
    let policy = spec.child("persistentVolumeReclaimPolicy");
    if !policy.is_empty() {
        policy.one_of(&["Delete", "Recycle", "Retain"]);
    }
    if let Some(affinity) = spec.given("nodeAffinity") {
        match affinity.given("required") {
            Some(selector) => check_node_selector(&selector),
            None => affinity
                .child("required")
                .required("must specify required node constraints"),
        }
    }
    check_sources(spec);
    if !spec.child("storageClassName").is_empty() {
        spec.child("storageClassName").dns_subdomain();
    }
    if let Some(mode) = spec.given("volumeMode") {
        mode.one_of(&["Block", "Filesystem"]);
    }
    if let Some(class) = spec.given("volumeAttributesClassName") {
        if class.need_because("an empty string is disallowed") {
            class.dns_subdomain();
        }
        if !spec.child("csi").is_set() {
            spec.child("csi")
                .required("has to be specified when using volumeAttributesClassName");
        }
    }
}

fn check_basic(amount: &Field<'_, '_>) {
    let quantity = amount.quantity();
    if quantity < Quantity::ZERO {
        let number = quantity.whole().unwrap_or_else(|| quantity.milli() / 1_000);
        let number = i64::try_from(number).unwrap_or(i64::MIN);
        amount.invalid_value(number, "must be a valid resource quantity");
    }
}

/// Checks the volume that an attachment brings along instead of naming one.
pub(crate) fn check_inline_volume(spec: &Field<'_, '_>) {
    let why = "may not be specified in the context of inline volumes";
    for name in ["claimRef", "capacity"] {
        if !spec.child(name).is_empty() {
            spec.child(name).forbidden(why);
        }
    }
    if !spec.child("csi").is_set() {
        spec.child("csi")
            .required("has to be specified in the context of inline volumes");
    }
    spec.child("accessModes").need();
    check_modes(spec);
    let policy = spec.child("persistentVolumeReclaimPolicy");
    if !matches!(policy.text(), "" | "Retain") {
        policy.forbidden("may only be Retain in the context of inline volumes");
    }
    if spec.child("nodeAffinity").is_set() {
        spec.child("nodeAffinity").forbidden(why);
    }
    check_sources(spec);
    if !spec.child("storageClassName").is_empty() {
        spec.child("storageClassName").forbidden(why);
    }
    if !matches!(spec.child("volumeMode").text(), "" | "Filesystem") {
        let why =
            "may not specify volumeMode other than Filesystem in the context of inline volumes";
        spec.child("volumeMode").forbidden(why);
    }
}

fn check_volume_change(change: Change<'_>) -> Vec<FieldError> {
    check(change.next, |volume| {
        let (spec, old) = (volume.child("spec"), &change.before["spec"]);
        check_volume(&spec);
        let (mut had, mut has) = (sources::given(old), sources::given(spec.value()));
        if had["csi"]["controllerExpandSecretRef"].is_null() && !had["csi"].is_null() {
            clear(&mut has["csi"], "controllerExpandSecretRef");
        }
        if had != has {
            for source in [&mut had, &mut has] {
                source
                    .as_object_mut()
                    .into_iter()
                    .for_each(|map| map.retain(|_, value| !value.is_null()));
            }
            let diff = struct_diff::between(&had, &has, sources::SHAPE);
            let place = spec.child("persistentvolumesource");
            place.forbidden(&format!(
                "spec.persistentvolumesource is immutable after creation\n{diff}"
            ));
        }
        let mode = volume
            .child("volumeMode")
            .with_value(&spec.value()["volumeMode"]);
        mode.immutable(mode.with_value(&old["volumeMode"]));
        let class = spec.child("volumeAttributesClassName");
        if !old["volumeAttributesClassName"].is_null() && !class.is_set() {
            class.forbidden("update from non-nil value to nil is forbidden");
        }
    })
}
