//! How volumes are made and attached: storage classes and what drivers say.

use listwatch_api::{FieldError, field_error::BadValue, name};
use serde_json::{Value, json};

use crate::field::{Field, LabelValues, check, check_label_selector, non_negative_quantity};
use crate::rules::Rules;
use crate::tree::{add_name, fill, list};
use crate::volumes::check_inline_volume;

const PARAMETERS_MAX: usize = 512;
const PARAMETERS_BYTES_MAX: usize = 256 * 1_024;
const NODE_ID_BYTES_MAX: usize = 192;
const MESSAGE_BYTES_MAX: usize = 1_024;
const TOKEN_SECONDS_MIN: i64 = 600;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;
const LIFECYCLES: [&str; 2] = ["Persistent", "Ephemeral"];

/// StorageClasses.
pub(crate) const STORAGE_CLASSES: Rules = Rules {
    default: |class| {
        fill(class, "reclaimPolicy", "Delete");
        fill(class, "volumeBindingMode", "Immediate");
    },
    check_new: |class| check(class, check_storage_class),
    check_change: |change| {
        check(change.next, |class| {
            for name in [
                "provisioner",
                "parameters",
                "reclaimPolicy",
                "volumeBindingMode",
            ] {
                class.child(name).kept(&change.before[name]);
            }
        })
    },
    ..Rules::NONE
};

/// VolumeAttributesClasses.
pub(crate) const VOLUME_ATTRIBUTES_CLASSES: Rules = Rules {
    begin: |class| {
        add_name(
            &mut class["metadata"],
            "finalizers",
            "kubernetes.io/vac-protection",
        )
    },
    check_new: |class| check(class, check_attributes_class),
    check_change: |change| {
        check(change.next, |class| {
            let before = class.with_value(change.before);
            for name in ["driverName", "parameters"] {
                if class.child(name).value() != before.child(name).value() {
                    class
                        .child(name)
                        .forbidden(&format!("updates to {name} are forbidden."));
                }
            }
            check_attributes_class(class);
        })
    },
    ..Rules::NONE
};

/// CSIDrivers.
pub(crate) const CSI_DRIVERS: Rules = Rules {
    default: default_driver,
    check_new: |driver| check(driver, |driver| check_driver(&driver.child("spec"))),
    check_change: |change| {
        check(change.next, |driver| {
            let before = driver.with_value(change.before);
            let (spec, old) = (driver.child("spec"), before.child("spec"));
            check_driver(&spec);
            let attach = spec
                .child("attachedRequired")
                .with_value(&spec.value()["attachRequired"]);
            attach.immutable(old.child("attachRequired"));
            spec.child("volumeLifecycleModes")
                .immutable(old.child("volumeLifecycleModes"));
        })
    },
    ..Rules::NONE
};

/// CSINodes.
pub(crate) const CSI_NODES: Rules = Rules {
    check_new: |node| check(node, |node| check_node_drivers(&node.child("spec"))),
    check_change: |change| {
        check(change.next, |node| {
            let spec = node.child("spec");
            check_node_drivers(&spec);
            check_node_drivers_kept(&spec, &change.before["spec"]);
        })
    },
    ..Rules::NONE
};

/// CSIStorageCapacities.
pub(crate) const STORAGE_CAPACITIES: Rules = Rules {
    check_new: |capacity| {
        check(capacity, |capacity| {
            check_label_selector(&capacity.child("nodeTopology"), LabelValues::Checked);
            capacity.child("storageClassName").dns_subdomain();
            if let Some(amount) = capacity.given("capacity") {
                non_negative_quantity(&amount);
            }
        })
    },
    check_change: |change| {
        check(change.next, |capacity| {
            let before = capacity.with_value(change.before);
            for name in ["nodeTopology", "storageClassName"] {
                capacity.child(name).immutable(before.child(name));
            }
        })
    },
    ..Rules::NONE
};

/// VolumeAttachments.
pub(crate) const VOLUME_ATTACHMENTS: Rules = Rules {
    begin: |attachment| attachment["status"] = json!({"attached": false}),
    check_new: |attachment| check(attachment, check_attachment),
    check_change: |change| {
        check(change.next, |attachment| {
            check_attachment(attachment);
            attachment.child("spec").kept(&change.before["spec"]);
        })
    },
    check_status: |change| check(change.next, check_attachment),
    ..Rules::NONE
};

fn check_storage_class(class: &Field<'_, '_>) {
    let provisioner = class.child("provisioner");
    check_provisioner(&provisioner);
    check_parameters(&class.child("parameters"));
    let policy = class.child("reclaimPolicy");
    if !policy.is_empty() {
        policy.one_of(&["Delete", "Retain"]);
    }
    class
        .child("volumeBindingMode")
        .need_one_of(&["Immediate", "WaitForFirstConsumer"]);
    check_topologies(&class.child("allowedTopologies"));
    provisioner.need();
}

fn check_attributes_class(class: &Field<'_, '_>) {
    class.child("driverName").need();
    check_provisioner(&class.child("driverName"));
    let parameters = class.child("parameters");
    check_parameters(&parameters);
    parameters.need_because("must contain at least one key/value pair");
}

fn check_provisioner(provisioner: &Field<'_, '_>) {
    let lower = provisioner.text().to_lowercase();
    if !lower.is_empty() {
        name::check_qualified_name(&lower)
            .iter()
            .for_each(|problem| provisioner.invalid_value(lower.as_str(), problem));
    }
}

fn check_parameters(parameters: &Field<'_, '_>) {
    if parameters.count() > PARAMETERS_MAX {
        return parameters.too_long(PARAMETERS_MAX);
    }
    let mut bytes = 0;
    for (key, value) in parameters.entries() {
        if key.is_empty() {
            parameters.invalid_value(key, "field can not be empty.");
        }
        bytes += key.len() + value.text().len();
    }
    if bytes > PARAMETERS_BYTES_MAX {
        parameters.too_long(PARAMETERS_BYTES_MAX);
    }
}

fn check_topologies(terms: &Field<'_, '_>) {
    let mut seen: Vec<Vec<(&str, Vec<&str>)>> = Vec::new();
    for term in terms.elements() {
        let expressions = term.child("matchLabelExpressions");
        let mut meaning = Vec::new();
        for expression in expressions.elements() {
            let (key, values) = (expression.child("key"), expression.child("values"));
            values.need();
            for (index, value) in values.elements().enumerate() {
                if list(expression.value(), "values")[..index].contains(value.value()) {
                    value.duplicate();
                }
            }
            key.qualified_name();
            if meaning.iter().any(|(known, _)| *known == key.text()) {
                key.duplicate();
                continue;
            }
            let mut places: Vec<&str> = values.elements().map(|value| value.text()).collect();
            places.sort_unstable();
            places.dedup();
            meaning.push((key.text(), places));
        }
        meaning.sort();
        if seen.contains(&meaning) {
            term.child("matchLabelExpressions")
                .report(|path| FieldError::duplicate(path, ""));
        }
        seen.push(meaning);
    }
}

fn default_driver(driver: &mut Value) {
    let spec = &mut driver["spec"];
    let flags = [
        ("attachRequired", true),
        ("podInfoOnMount", false),
        ("storageCapacity", false),
        ("requiresRepublish", false),
        ("seLinuxMount", false),
        ("preventPodSchedulingIfMissing", false),
    ];
    for (name, value) in flags {
        if spec[name].is_null() {
            spec[name] = json!(value);
        }
    }
    fill(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    if list(spec, "volumeLifecycleModes").is_empty() {
        spec["volumeLifecycleModes"] = json!(["Persistent"]);
    }
}

fn check_driver(spec: &Field<'_, '_>) {
    if let Some(policy) = spec.given("fsGroupPolicy") {
        policy.one_of(&["File", "None", "ReadWriteOnceWithFSType"]);
    }
    let mut audiences = Vec::new();
    for request in spec.child("tokenRequests").elements() {
        let (audience, seconds) = (
            request.child("audience"),
            request.child("expirationSeconds"),
        );
        if audiences.contains(&audience.text()) {
            audience.report(|path| FieldError::duplicate(path, audience.text()));
            continue;
        }
        audiences.push(audience.text());
        match seconds.integer() {
            Some(number) if number < TOKEN_SECONDS_MIN => {
                seconds.invalid("may not specify a duration less than 10 minutes");
            }
            Some(number) if number > TOKEN_SECONDS_MAX => {
                seconds.invalid("may not specify a duration larger than 2^32 seconds");
            }
            _ => {}
        }
    }
    let lifecycles = spec.child("volumeLifecycleModes");
    for mode in list(spec.value(), "volumeLifecycleModes") {
        lifecycles.with_value(mode).one_of(&LIFECYCLES);
    }
    let period = spec.child("nodeAllocatableUpdatePeriodSeconds");
    if period.integer().is_some_and(|seconds| seconds < 10) {
        period.invalid("must be greater than or equal to 10 seconds");
    }
    let in_secrets = spec.child("serviceAccountTokenInSecrets");
    if in_secrets.is_set() && spec.child("tokenRequests").is_empty() {
        in_secrets
            .invalid("serviceAccountTokenInSecrets is set but no tokenRequests are specified");
    }
}

/// Demands the name of a driver.
pub(crate) fn check_driver_name(driver: &Field<'_, '_>) {
    if !driver.need() {
        return;
    }
    driver.at_most_bytes(name::LABEL_BYTES_MAX);
    let lower = driver.text().to_lowercase();
    for problem in name::check_dns_subdomain(&lower) {
        driver.invalid(&problem);
    }
}

fn check_node_drivers(spec: &Field<'_, '_>) {
    let mut names = Vec::new();
    for driver in spec.child("drivers").elements() {
        let (name, node) = (driver.child("name"), driver.child("nodeID"));
        check_driver_name(&name);
        if node.need() && node.text().len() > NODE_ID_BYTES_MAX {
            node.invalid(&format!("must be {NODE_ID_BYTES_MAX} characters or less"));
        }
        driver.child("allocatable").child("count").non_negative();
        if names.contains(&name.text()) {
            name.duplicate();
        }
        names.push(name.text());
        for (index, key) in list(driver.value(), "topologyKeys").iter().enumerate() {
            let key_field = driver.with_value(key);
            key_field.need();
            if list(driver.value(), "topologyKeys")[..index].contains(key) {
                key_field.duplicate();
            }
            key_field.qualified_name();
        }
    }
}

/// A driver that stays on a node changes nothing but how much it can have.
fn check_node_drivers_kept(spec: &Field<'_, '_>, old: &Value) {
    let drivers = spec.child("drivers");
    let members = [
        ("Name", "name"),
        ("NodeID", "nodeID"),
        ("TopologyKeys", "topologyKeys"),
    ];
    let kept = |driver: &Value| members.map(|(_, member)| driver[member].clone());
    for before in list(old, "drivers") {
        let same = list(spec.value(), "drivers")
            .iter()
            .filter(|next| next["name"] == before["name"]);
        for next in same.filter(|next| kept(next) != kept(before)) {
            let shown = crate::bounds::shown(next, &members)
                .replace("\"TopologyKeys\":\"\"", "\"TopologyKeys\":null")
                .replace('}', ",\"Allocatable\":null}");
            drivers.report(|path| {
                FieldError::invalid(path, BadValue::json(shown), "field is immutable")
            });
        }
    }
}

fn check_attachment(attachment: &Field<'_, '_>) {
    let (spec, status) = (attachment.child("spec"), attachment.child("status"));
    let source = spec.child("source");
    let (volume, inline) = (
        source.child("persistentVolumeName"),
        source.child("inlineVolumeSpec"),
    );
    let why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (volume.is_set(), inline.is_set()) {
        (false, false) => source.required(why),
        (true, true) => source.forbidden(why),
        (true, false) => {
            volume.need_because("must specify non empty persistentVolumeName");
        }
        (false, true) => check_inline_volume(&inline),
    }
    spec.child("nodeName").dns_subdomain();
    let bytes: usize = status
        .child("attachmentMetadata")
        .entries()
        .map(|(key, value)| key.len() + value.text().len())
        .sum();
    if bytes > PARAMETERS_BYTES_MAX {
        status
            .child("attachmentMetadata")
            .too_long(PARAMETERS_BYTES_MAX);
    }
    for name in ["attachError", "detachError"] {
        let error = status.child(name);
        error.child("message").at_most_bytes(MESSAGE_BYTES_MAX);
        error.child("errorCode").within(0, i64::from(i32::MAX));
    }
    if volume.is_set() {
        let place = attachment.child("spec.source.persistentVolumeName");
        place.with_value(volume.value()).dns_subdomain();
    }
    check_attacher(&spec.child("attacher"));
}

/// As [`check_driver_name`], in other words.
fn check_attacher(attacher: &Field<'_, '_>) {
    if !attacher.need() {
        return;
    }
    attacher.at_most_bytes(name::LABEL_BYTES_MAX);
    if !name::check_dns_subdomain(&attacher.text().to_lowercase()).is_empty() {
        attacher.invalid(
            "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'Example.com', regex used for \
             validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        );
    }
}
