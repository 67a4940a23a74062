//! Namespaces, nodes and events.

use listwatch_api::{FieldError, FieldErrorKind, name};
use serde_json::{Value, json};

use crate::address::Range;
use crate::bounds::{joined, shown};
use crate::field::{Field, check};
use crate::rules::Rules;
use crate::tree::{add_name, clear, list, text};

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const RANGE_KEPT: &str = "node updates may not change podCIDR except from \"\" to valid";

/// Namespaces. Their `finalize` path has a check of its own, [`check_finalizers`].
pub(crate) const NAMESPACES: Rules = Rules {
    default: label_namespace,
    begin: |namespace| {
        namespace["status"] = json!({"phase": "Active"});
        add_name(&mut namespace["spec"], "finalizers", "kubernetes");
    },
    adjust: |before, next| match before["spec"].get("finalizers") {
        Some(finalizers) => next["spec"]["finalizers"] = finalizers.clone(),
        None => clear(&mut next["spec"], "finalizers"),
    },
    check_new: |namespace| {
        check(namespace, |namespace| {
            let spec = namespace.child("spec");
            let finalizers = spec.child("finalizers");
            for name in list(spec.value(), "finalizers") {
                check_finalizer(&finalizers.with_value(name));
            }
        })
    },
    check_status: |change| {
        let (phase, why) = match change.next["metadata"]["deletionTimestamp"].is_null() {
            true => (
                "Active",
                "may only be 'Active' if `deletionTimestamp` is empty",
            ),
            false => (
                "Terminating",
                "may only be 'Terminating' if `deletionTimestamp` is not empty",
            ),
        };
        check(change.next, |namespace| {
            let status = namespace.child("status");
            if text(status.value(), "phase") != phase {
                status
                    .child("Phase")
                    .invalid_value(text(status.value(), "phase"), why);
            }
        })
    },
    ..Rules::NONE
};

/// Nodes.
pub(crate) const NODES: Rules = Rules {
    default: |node| {
        let status = &mut node["status"];
        if status["allocatable"].is_null() && !status["capacity"].is_null() {
            status["allocatable"] = status["capacity"].clone();
        }
        match (
            text(&node["spec"], "podCIDR"),
            list(&node["spec"], "podCIDRs").first(),
        ) {
            ("", Some(first)) => node["spec"]["podCIDR"] = first.clone(),
            ("", None) => {}
            (range, first) if first.is_none_or(|first| first != range) => {
                node["spec"]["podCIDRs"] = json!([range]);
            }
            _ => {}
        }
    },
    begin: |node| {
        clear(&mut node["spec"], "configSource");
        clear(&mut node["status"], "config");
        let taint = json!({"key": NOT_READY, "effect": "NoSchedule"});
        match node["spec"]["taints"].as_array_mut() {
            Some(taints)
                if taints
                    .iter()
                    .any(|known| known["key"] == NOT_READY && known["effect"] == "NoSchedule") => {}
            Some(taints) => taints.push(taint),
            None => node["spec"]["taints"] = json!([taint]),
        }
    },
    check_new: |node| check(node, check_node),
    check_change: |change| {
        check(change.next, |node| {
            check_node(node);
            check_node_change(node, change.before);
        })
    },
    check_status: |change| check(change.next, |node| check_node_change(node, change.before)),
    ..Rules::NONE
};

/// Events as the core group has them.
pub(crate) const EVENTS: Rules = Rules {
    check_new: |event| check(event, |event| check_event(event, "reportingComponent")),
    check_change: |change| {
        check(change.next, |event| {
            check_event(event, "reportingComponent")
        })
    },
    ..Rules::NONE
};

/// Events as `events.k8s.io` has them, in the form of the core group, in which they are stored.
pub(crate) const NEW_EVENTS: Rules = Rules {
    check_new: |event| {
        check(event, |event| {
            check_event(event, "reportingController");
            check_new_event(event);
        })
    },
    check_change: |change| {
        check(change.next, |event| {
            check_event(event, "reportingController");
            check_event_kept(event, change.before);
        })
    },
    ..Rules::NONE
};

/// A namespace carries its name as a label.
fn label_namespace(namespace: &mut Value) {
    let metadata = &mut namespace["metadata"];
    if !text(metadata, "name").is_empty() {
        metadata["labels"][NAME_LABEL] = metadata["name"].clone();
    }
}

/// What is wrong with a change of a namespace's own finalizers.
pub fn check_finalizers(namespace: &Value) -> Vec<FieldError> {
    check(namespace, |namespace| {
        let spec = namespace.child("spec");
        spec.child("finalizers")
            .elements()
            .for_each(|name| check_finalizer(&name));
    })
}

fn check_finalizer(name: &Field<'_, '_>) {
    name.qualified_name();
    let standard = ["kubernetes", "orphan", "foregroundDeletion"];
    if !name.text().contains('/') && !standard.contains(&name.text()) {
        name.invalid("name is neither a standard finalizer name nor is it fully qualified");
    }
}

fn check_node(node: &Field<'_, '_>) {
    let metadata = node.child("metadata");
    let spec = node.child("spec");
    check_taints(&metadata.child("taints").with_value(&spec.value()["taints"]));
    check_node_resources(node);
    let ranges = spec.child("podCIDRs");
    ranges
        .elements()
        .for_each(|range| range.clear_range(range.text()));
    if ranges.count() > 1 {
        let parsed: Vec<_> = ranges
            .elements()
            .filter_map(|range| Range::parse(range.text()))
            .collect();
        let is_pair = matches!(parsed[..], [first, second] if first.family() != second.family());
        if !is_pair {
            ranges.invalid("may specify no more than one CIDR for each IP family");
        }
    }
}

fn check_node_resources(node: &Field<'_, '_>) {
    let status = node.child("status");
    for part in ["capacity", "allocatable"] {
        let amounts = status.child(part);
        for (resource, amount) in amounts.entries() {
            amounts
                .child(resource)
                .with_value(amount.value())
                .amount_of(resource);
        }
    }
    let status = node.child("status");
    let features = status.child("declaredFeatures");
    for (index, feature) in features.elements().enumerate() {
        check_feature(&feature);
        let next = features.index(index + 1);
        if next.is_set() && feature.text() == next.text() {
            next.duplicate();
        } else if next.is_set() && feature.text() > next.text() {
            next.invalid("list must be sorted alphabetically");
        }
    }
}

fn check_feature(feature: &Field<'_, '_>) {
    let text = feature.text();
    let is_word =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_good =
        text.starts_with(|first: char| first.is_ascii_uppercase()) && text.split('/').all(is_word);
    if text.len() > name::SUBDOMAIN_BYTES_MAX {
        feature.invalid(&format!(
            "invalid feature name {text:?}: must be no more than 253 characters"
        ));
    } else if !is_good {
        feature.invalid(&format!(
            "invalid feature name {text:?}: must start with an UpperCamelCase segment, with \
             subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and \
             contain only alphanumeric characters and slashes"
        ));
    }
}

fn check_taints(taints: &Field<'_, '_>) {
    let mut seen = Vec::new();
    for taint in taints.elements() {
        taint.child("key").qualified_name();
        let value = taint.child("value");
        if let Some(problems) = joined(&name::check_label_value(value.text()), ";") {
            value.invalid(&problems);
        }
        taint
            .child("effect")
            .need_one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        let key = (text(taint.value(), "key"), text(taint.value(), "effect"));
        if seen.contains(&key) {
            let members = [("Key", "key"), ("Value", "value"), ("Effect", "effect")];
            let shown = shown(taint.value(), &members).replace('}', ",\"TimeAdded\":null}");
            taint.report(|path| FieldError {
                field: path.to_string(),
                kind: FieldErrorKind::Duplicate,
                body: format!(
                    "Duplicate value: {shown}: taints must be unique by key and effect pair"
                ),
            });
        }
        seen.push(key);
    }
}

fn check_node_change(node: &Field<'_, '_>, before: &Value) {
    check_node_resources(node);
    let status = node.child("status");
    let addresses = status.child("addresses");
    for (index, address) in addresses.elements().enumerate() {
        if list(status.value(), "addresses")[..index].contains(address.value()) {
            let members = [("Type", "type"), ("Address", "address")];
            address.duplicate_shown(shown(address.value(), &members));
        }
    }
    let (spec, old) = (node.child("spec"), &before["spec"]);
    let (had, has) = (list(old, "podCIDRs"), list(spec.value(), "podCIDRs"));
    let ranges = spec.child("podCIDRs");
    if !had.is_empty() && had.len() != has.len() {
        ranges.forbidden(RANGE_KEPT);
    } else {
        let changes = had.iter().zip(has).filter(|(old, new)| old != new);
        changes.for_each(|_| ranges.forbidden(RANGE_KEPT));
    }
    let provider = spec.child("providerID");
    match (text(old, "providerID"), provider.text()) {
        ("", _) => {}
        (_, "") => provider.invalid_value(&Value::Null, "field cannot be cleared once set"),
        (old, new) if old != new => {
            provider.invalid_value(&Value::Null, "field cannot be modified once set");
        }
        _ => {}
    }
    let metadata = node.child("metadata");
    check_taints(&metadata.child("taints").with_value(&spec.value()["taints"]));
    if text(old, "externalID") != text(spec.value(), "externalID") {
        spec.child("externalID").forbidden("may not be updated");
    }
}

fn check_event(event: &Field<'_, '_>, controller_field: &str) {
    let place = text(&event.value()["metadata"], "namespace");
    let involved = event.child("involvedObject");
    let about = involved.child("namespace");
    let agrees = match (event.child("eventTime").is_set(), about.text()) {
        (false, "") => matches!(place, "" | "default"),
        (false, about) => about == place,
        (true, "") => matches!(place, "default" | "kube-system"),
        (true, _) => true,
    };
    if !agrees {
        about.invalid_value(about.text(), "does not match event.namespace");
    }
    if !event.child("eventTime").is_set() {
        return;
    }
    let controller = text(event.value(), "reportingComponent");
    let place = event.child(controller_field);
    if controller.is_empty() {
        place.required("");
    }
    name::check_qualified_name(controller)
        .iter()
        .for_each(|problem| place.invalid_value(controller, problem));
    for (name, bytes_max) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        event.child(name).need();
        check_bytes(&event.child(name), bytes_max);
    }
    check_bytes(&event.child("message"), 1_024);
}

fn check_bytes(field: &Field<'_, '_>, bytes_max: usize) {
    if field.text().len() > bytes_max {
        field.invalid_value("", &format!("can have at most {bytes_max} characters"));
    }
}

fn check_series(event: &Field<'_, '_>) {
    let series = event.child("series");
    if !series.is_set() {
        return;
    }
    if series.child("count").integer().unwrap_or_default() < 2 {
        series
            .child("count")
            .invalid_value("", "should be at least 2");
    }
    if !series.child("lastObservedTime").is_set() {
        series.child("lastObservedTime").required("");
    }
}

fn check_new_event(event: &Field<'_, '_>) {
    check_series(event);
    if !event.child("eventTime").is_set() {
        event.child("eventTime").required("");
    }
    let kind = event.child("type");
    if !matches!(kind.text(), "Normal" | "Warning") {
        kind.invalid_value("", &format!("has invalid value: {}", kind.text()));
    }
    for name in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        if !event.child(name).is_empty() {
            event.child(name).invalid_value("", "needs to be unset");
        }
    }
}

fn check_event_kept(event: &Field<'_, '_>, before: &Value) {
    if event.value()["series"] != before["series"] {
        check_series(event);
    }
    let kept = [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "type",
        "eventTime",
        "action",
        "related",
    ];
    let before = event.with_value(before);
    for name in kept {
        event.child(name).immutable(before.child(name));
    }
    let (controller, old) = (
        event.child("reportingController"),
        before.child("reportingComponent"),
    );
    controller
        .with_value(&event.value()["reportingComponent"])
        .immutable(old);
    event
        .child("reportingInstance")
        .immutable(before.child("reportingInstance"));
}
