//! Volumes, claims, classes and drivers.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{UNSET, age, each, join, or_none, texts},
};

pub(super) const PRINTERS: Printers = &[
    ("persistentvolumes", persistent_volume),
    ("persistentvolumeclaims", persistent_volume_claim),
    ("storageclasses.storage.k8s.io", storage_class),
    ("volumeattributesclasses.storage.k8s.io", attributes_class),
    ("volumeattachments.storage.k8s.io", volume_attachment),
    ("csidrivers.storage.k8s.io", driver),
    ("csinodes.storage.k8s.io", driver_node),
];

/// The access modes and how they are shown, in the order in which they are shown.
const ACCESS_MODES: [(&str, &str); 4] = [
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
];

/// Where the class was written before it was a field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

fn persistent_volume(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let claim = object.get("spec.claimRef");
    let claim_name = || {
        format!(
            "{}/{}",
            claim.get("namespace").text(),
            claim.get("name").text()
        )
    };
    cells![
        object.name(),
        object.get("spec.capacity.storage").quantity(),
        access_modes(object.get("spec.accessModes")),
        object.get("spec.persistentVolumeReclaimPolicy").text(),
        phase(object),
        if claim.is_set() {
            claim_name()
        } else {
            String::new()
        },
        class(object),
        object.get("spec.volumeAttributesClassName").text_or(UNSET),
        object.get("status.reason").text(),
        age(object, now),
        object.get("spec.volumeMode").text_or(UNSET),
    ]
}

fn persistent_volume_claim(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let volume = object.get("spec.volumeName").text();
    let (capacity, modes) = match volume {
        "" => (String::new(), String::new()),
        _ => (
            object.get("status.capacity.storage").quantity(),
            access_modes(object.get("status.accessModes")),
        ),
    };
    cells![
        object.name(),
        phase(object),
        volume,
        capacity,
        modes,
        class(object),
        object.get("spec.volumeAttributesClassName").text_or(UNSET),
        age(object, now),
        object.get("spec.volumeMode").text_or(UNSET),
    ]
}

fn phase<'a>(object: Field<'a>) -> &'a str {
    if object.is_being_deleted() {
        "Terminating"
    } else {
        object.get("status.phase").text()
    }
}

fn class<'a>(object: Field<'a>) -> &'a str {
    let annotation = object.annotation(CLASS_ANNOTATION);
    if annotation.is_set() {
        annotation.text()
    } else {
        object.get("spec.storageClassName").text()
    }
}

fn access_modes(modes: Field<'_>) -> String {
    let is_given = |name: &str| modes.items().any(|mode| mode.is(name));
    let given = ACCESS_MODES.iter().filter(|(name, _)| is_given(name));
    join(given.map(|(_, short)| short), ",")
}

fn storage_class(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    const DEFAULT_MARKS: [&str; 2] = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    cells![
        marked_name(object, &DEFAULT_MARKS),
        object.member("provisioner").text(),
        object.member("reclaimPolicy").text_or("Delete"),
        object.member("volumeBindingMode").text_or("Immediate"),
        object.member("allowVolumeExpansion").is_true(),
        age(object, now),
    ]
}

fn attributes_class(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    const DEFAULT_MARK: &str = "volumeattributesclass.alpha.kubernetes.io/is-default-class";
    let driver = object.member("driverName").text();
    cells![
        marked_name(object, &[DEFAULT_MARK]),
        driver,
        age(object, now)
    ]
}

/// The name, and whether one of the annotations makes it the default.
fn marked_name(object: Field<'_>, default_marks: &[&str]) -> String {
    let is_default = default_marks
        .iter()
        .any(|mark| object.annotation(mark).is("true"));
    let mark = if is_default { " (default)" } else { "" };
    format!("{}{mark}", object.name())
}

fn volume_attachment(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    cells![
        object.name(),
        object.get("spec.attacher").text(),
        object.get("spec.source.persistentVolumeName").text(),
        object.get("spec.nodeName").text(),
        object.get("status.attached").is_true(),
        age(object, now),
    ]
}

fn driver(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let spec = object.member("spec");
    let tokens = spec.member("tokenRequests");
    cells![
        object.name(),
        spec.member("attachRequired").boolean().unwrap_or(true),
        spec.member("podInfoOnMount").is_true(),
        spec.member("storageCapacity").is_true(),
        if tokens.is_set() {
            each(tokens, "audience")
        } else {
            UNSET.to_owned()
        },
        spec.member("requiresRepublish").is_true(),
        or_none(texts(spec.member("volumeLifecycleModes"), ",")),
        age(object, now),
    ]
}

fn driver_node(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let drivers = object.get("spec.drivers").count();
    cells![object.name(), drivers, age(object, now)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::response::table::test_rows::row;

    #[test]
    fn a_volume_shows_its_claim() {
        let mut object = json!({
            "metadata": {"name": "v"},
            "spec": {
                "capacity": {"storage": "5Gi"},
                "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "default", "name": "c"},
                "storageClassName": "fast",
                "volumeAttributesClassName": "gold",
                "volumeMode": "Filesystem",
            },
            "status": {"phase": "Bound", "reason": "because"},
        });
        let expected = "v | 5Gi | RWO,RWX | Retain | Bound | default/c | fast | gold | because | \
                        <unknown> | Filesystem";
        assert_eq!(row("persistentvolumes", &object), expected);
        object["metadata"]["deletionTimestamp"] = json!("2026-11-15T11:00:00Z");
        assert!(row("persistentvolumes", &object).contains(" | Terminating | "));
        let empty = " | 0 |  |  |  |  |  | <unset> |  | <unknown> | <unset>";
        assert_eq!(row("persistentvolumes", &json!({})), empty);
    }

    #[test]
    fn a_claim_shows_what_it_got_once_it_is_bound() {
        let mut object = json!({
            "metadata": {"name": "c", "annotations": {
                "volume.beta.kubernetes.io/storage-class": "slow",
            }},
            "spec": {"storageClassName": "fast", "volumeMode": "Block"},
            "status": {
                "phase": "Pending", "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOncePod", "ReadOnlyMany"],
            },
        });
        let unbound = "c | Pending |  |  |  | slow | <unset> | <unknown> | Block";
        assert_eq!(row("persistentvolumeclaims", &object), unbound);
        object["spec"]["volumeName"] = json!("v");
        let bound = "c | Pending | v | 1Gi | ROX,RWOP | slow | <unset> | <unknown> | Block";
        assert_eq!(row("persistentvolumeclaims", &object), bound);
    }

    #[test]
    fn the_default_class_is_marked() {
        let object = json!({
            "metadata": {"name": "s", "annotations": {
                "storageclass.kubernetes.io/is-default-class": "true",
            }},
            "provisioner": "p",
            "reclaimPolicy": "Retain",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": true,
        });
        assert_eq!(
            row("storageclasses.storage.k8s.io", &object),
            "s (default) | p | Retain | WaitForFirstConsumer | `true` | <unknown>"
        );
        assert_eq!(
            row(
                "storageclasses.storage.k8s.io",
                &json!({"metadata": {"name": "s"}})
            ),
            "s |  | Delete | Immediate | `false` | <unknown>"
        );
    }

    #[test]
    fn an_attachment_shows_volume_and_node() {
        let object = json!({
            "metadata": {"name": "a"},
            "spec": {
                "attacher": "csi", "nodeName": "n", "source": {"persistentVolumeName": "v"},
            },
            "status": {"attached": true},
        });
        assert_eq!(
            row("volumeattachments.storage.k8s.io", &object),
            "a | csi | v | n | `true` | <unknown>"
        );
    }

    #[test]
    fn a_driver_shows_what_it_needs() {
        let object = json!({
            "metadata": {"name": "d"},
            "spec": {
                "attachRequired": false, "podInfoOnMount": true, "storageCapacity": true,
                "tokenRequests": [{"audience": "x"}, {"audience": "y"}],
                "requiresRepublish": true, "volumeLifecycleModes": ["Persistent", "Ephemeral"],
            },
        });
        assert_eq!(
            row("csidrivers.storage.k8s.io", &object),
            "d | `false` | `true` | `true` | x,y | `true` | Persistent,Ephemeral | <unknown>"
        );
        assert_eq!(
            row("csidrivers.storage.k8s.io", &json!({})),
            " | `true` | `false` | `false` | <unset> | `false` | <none> | <unknown>"
        );
    }

    #[test]
    fn a_node_counts_its_drivers() {
        let object = json!({"metadata": {"name": "n"}, "spec": {"drivers": [{}, {}]}});
        assert_eq!(
            row("csinodes.storage.k8s.io", &object),
            "n | `2` | <unknown>"
        );
    }
}
