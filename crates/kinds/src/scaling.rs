//! HorizontalPodAutoscalers and PodDisruptionBudgets.

use listwatch_api::{FieldError, field_error::BadValue, go_text, name};
use serde_json::{Value, json};

use crate::condition::check_conditions;
use crate::field::{Field, LabelValues, check, check_label_selector, non_negative_quantity};
use crate::network::selector_was_bad;
use crate::rules::Rules;
use crate::tree::{list, part, text};

const WINDOW_SECONDS_MAX: i64 = 3_600;
const PERIOD_SECONDS_MAX: i64 = 1_800;
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const SOURCE_TYPES: [&str; 5] = [
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];

/// HorizontalPodAutoscalers, as `v2` has them.
pub(crate) const AUTOSCALERS: Rules = Rules {
    default: default_autoscaler,
    begin: |autoscaler| {
        autoscaler["status"] = json!({"desiredReplicas": 0, "currentMetrics": null})
    },
    check_new: |autoscaler| {
        check(autoscaler, |autoscaler| {
            check_autoscaler(autoscaler, &Value::Null)
        })
    },
    check_change: |change| {
        check(change.next, |autoscaler| {
            check_autoscaler(autoscaler, change.before)
        })
    },
    check_status: |change| {
        check(change.next, |autoscaler| {
            let status = autoscaler.child("status");
            for condition in status.child("conditions").elements() {
                condition.child("observedGeneration").non_negative();
            }
            status.child("currentReplicas").non_negative();
            status.child("desiredReplicas").non_negative();
        })
    },
    ..Rules::NONE
};

/// PodDisruptionBudgets.
pub(crate) const DISRUPTION_BUDGETS: Rules = Rules {
    begin: |budget| {
        budget["status"] = json!({
            "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
        });
    },
    check_new: |budget| check(budget, |budget| check_budget(budget, LabelValues::Checked)),
    check_change: |change| {
        let values = match selector_was_bad(&change.before["spec"]["selector"]) {
            true => LabelValues::Any,
            false => LabelValues::Checked,
        };
        check(change.next, |budget| check_budget(budget, values))
    },
    check_status: |change| {
        check(change.next, |budget| {
            let status = budget.child("status");
            check_conditions(&status.child("conditions"));
            for name in [
                "disruptionsAllowed",
                "currentHealthy",
                "desiredHealthy",
                "expectedPods",
            ] {
                status.child(name).non_negative();
            }
        })
    },
    ..Rules::NONE
};

fn default_autoscaler(autoscaler: &mut Value) {
    let spec = &mut autoscaler["spec"];
    if spec["minReplicas"].is_null() {
        spec["minReplicas"] = json!(1);
    }
    if list(spec, "metrics").is_empty() {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        spec["metrics"] =
            json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
    }
    let Some(behavior) = part(spec, "behavior") else {
        return;
    };
    let up = json!([
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]);
    let down = json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]);
    for (direction, policies) in [("scaleUp", up), ("scaleDown", down)] {
        let rules = &mut behavior[direction];
        if rules["selectPolicy"].is_null() {
            rules["selectPolicy"] = json!("Max");
        }
        if rules["policies"].is_null() {
            rules["policies"] = policies;
        }
    }
    if behavior["scaleUp"]["stabilizationWindowSeconds"].is_null() {
        behavior["scaleUp"]["stabilizationWindowSeconds"] = json!(0);
    }
}

/// Whether a reference may leave out its group, or have any.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupRule {
    Needed,
    Optional,
    Unchecked,
}

fn check_autoscaler(autoscaler: &Field<'_, '_>, before: &Value) {
    let (spec, old) = (autoscaler.child("spec"), &before["spec"]);
    let (least, most) = (spec.child("minReplicas"), spec.child("maxReplicas"));
    let most_replicas = most.integer().unwrap_or_default();
    if least.integer().is_some_and(|least| most_replicas < least) {
        most.invalid_value(
            most_replicas,
            "must be greater than or equal to `minReplicas`",
        );
    }
    let target = spec.child("scaleTargetRef");
    let had = &old["scaleTargetRef"];
    let is_kept = !before.is_null()
        && text(had, "apiVersion") == target.child("apiVersion").text()
        && text(had, "kind") == target.child("kind").text();
    let rule = match target.child("kind").text() {
        _ if is_kept => GroupRule::Unchecked,
        "ReplicationController" => GroupRule::Optional,
        _ => GroupRule::Needed,
    };
    target.child("kind").need_named(name::check_path_segment);
    target.child("name").need_named(name::check_path_segment);
    check_api_version(&target, rule);
    check_metrics(&spec, old);
    for direction in ["scaleUp", "scaleDown"] {
        if let Some(rules) = spec.child("behavior").given(direction) {
            check_scaling(&rules);
        }
    }
    least.non_negative();
    match most_replicas {
        0 => most.required(""),
        count if count < 0 => most.invalid("must be greater than or equal to 1"),
        _ => {}
    }
}

fn check_api_version(reference: &Field<'_, '_>, rule: GroupRule) {
    let version = reference.child("apiVersion");
    if rule == GroupRule::Unchecked {
        return;
    }
    let text = version.text();
    match text.matches('/').count() {
        0 if rule == GroupRule::Needed => {
            version.invalid_value(text, "apiVersion must specify API group");
        }
        0 | 1 => {}
        _ => version.invalid_value(text, &format!("unexpected GroupVersion string: {text}")),
    }
}

fn check_metrics(spec: &Field<'_, '_>, old: &Value) {
    let metrics = spec.child("metrics");
    let was_bad = list(old, "metrics").iter().any(|metric| {
        metric["type"] == "Object"
            && text(&metric["object"]["describedObject"], "apiVersion")
                .matches('/')
                .count()
                > 1
    });
    let rule = if was_bad {
        GroupRule::Unchecked
    } else {
        GroupRule::Optional
    };
    metrics
        .elements()
        .for_each(|metric| check_metric(&metric, rule));
    let is_elsewhere = |metric: &Value| matches!(text(metric, "type"), "Object" | "External");
    let scales_to_zero = spec.child("minReplicas").integer() == Some(0);
    if scales_to_zero && !list(spec.value(), "metrics").iter().any(is_elsewhere) {
        let why = "must specify at least one Object or External metric to support scaling to zero \
                   replicas";
        metrics.forbidden(why);
    }
}

fn check_metric(metric: &Field<'_, '_>, rule: GroupRule) {
    let kind = metric.child("type");
    kind.need_because("must specify a metric source type");
    kind.one_of(&SOURCE_TYPES);
    let mut given = SOURCES
        .iter()
        .filter(|(_, member)| metric.child(member).is_set());
    let count = given.clone().count();
    if let Some((_, member)) = given.next() {
        check_source(&metric.child(member), member, rule);
    }
    match SOURCES.iter().find(|(word, _)| *word == kind.text()) {
        Some((_, member)) if !metric.child(member).is_set() => metric
            .child(member)
            .required("must populate information for the given metric source"),
        Some(_) => {}
        None => kind.one_of(&SOURCE_TYPES),
    }
    if count != 1 {
        for (word, member) in SOURCES
            .iter()
            .filter(|(_, member)| metric.child(member).is_set())
        {
            if *word != kind.text() {
                let why = "must populate the given metric source only";
                metric.child(member).forbidden(why);
            }
        }
    }
}

fn check_source(source: &Field<'_, '_>, member: &str, rule: GroupRule) {
    let target = source.child("target");
    let (value, average) = (target.child("value"), target.child("averageValue"));
    let utilization = target.child("averageUtilization");
    match member {
        "object" => {
            let described = source.child("describedObject");
            described.child("kind").need_named(name::check_path_segment);
            described.child("name").need_named(name::check_path_segment);
            check_api_version(&described, rule);
            check_metric_name(source);
        }
        "external" | "pods" => check_metric_name(source),
        "resource" => {
            source
                .child("name")
                .need_because("must specify a resource name");
        }
        _ => {
            let (name, container) = (source.child("name"), source.child("container"));
            if name.need_because("must specify a resource name") {
                name.container_resource_name(name.text());
            }
            if container.need_because("must specify a container") {
                container.dns_label();
            }
        }
    }
    check_target(&target);
    let is_missing = !value.is_set() && !average.is_set();
    match member {
        "object" if is_missing => {
            average.required("must set either a target value or averageValue")
        }
        "external" if is_missing => {
            average.required("must set either a target value for metric or a per-pod target");
        }
        "external" if value.is_set() && average.is_set() => {
            value.forbidden("may not set both a target value for metric and a per-pod target");
        }
        "pods" if !average.is_set() => {
            average.required("must specify a positive target averageValue");
        }
        "resource" | "containerResource" => {
            match (utilization.is_set(), average.is_set()) {
                (false, false) => utilization
                    .required("must set either a target raw value or a target utilization"),
                (true, true) => average
                    .forbidden("may not set both a target raw value and a target utilization"),
                _ => {}
            }
        }
        _ => {}
    }
}

fn check_metric_name(source: &Field<'_, '_>) {
    let metric = source.child("metric");
    let name = metric.child("name");
    if name.need_because("must specify a metric name") {
        name.named(name::check_path_segment);
    }
}

fn check_target(target: &Field<'_, '_>) {
    let kind = target.child("type");
    kind.need_because("must specify a metric target type");
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        kind.invalid_value(
            kind.text(),
            "must be either Utilization, Value, or AverageValue",
        );
    }
    for member in ["value", "averageValue"] {
        let amount = target.child(member);
        if amount.is_set() && amount.quantity() <= listwatch_api::Quantity::ZERO {
            amount.invalid("must be positive");
        }
    }
    let utilization = target.child("averageUtilization");
    if utilization.integer().is_some_and(|percent| percent < 1) {
        utilization.invalid("must be greater than 0");
    }
}

fn check_scaling(rules: &Field<'_, '_>) {
    let window = rules.child("stabilizationWindowSeconds");
    match window.integer() {
        Some(seconds) if seconds < 0 => window.invalid("must be greater than or equal to zero"),
        Some(seconds) if seconds > WINDOW_SECONDS_MAX => {
            window.invalid(&format!(
                "must be less than or equal to {WINDOW_SECONDS_MAX}"
            ));
        }
        _ => {}
    }
    if let Some(policy) = rules.given("selectPolicy") {
        policy.one_of(&["Disabled", "Max", "Min"]);
    }
    let policies = rules.child("policies");
    policies.need_because("must specify at least one Policy");
    for policy in policies.elements() {
        policy.child("type").one_of(&["Percent", "Pods"]);
        for member in ["value", "periodSeconds"] {
            let number = policy.child(member).integer().unwrap_or_default();
            if number <= 0 {
                policy
                    .child(member)
                    .invalid_value(number, "must be greater than zero");
            }
        }
        let period = policy.child("periodSeconds");
        if period
            .integer()
            .is_some_and(|seconds| seconds > PERIOD_SECONDS_MAX)
        {
            period.invalid(&format!(
                "must be less than or equal to {PERIOD_SECONDS_MAX}"
            ));
        }
    }
    if let Some(tolerance) = rules.given("tolerance") {
        non_negative_quantity(&tolerance);
    }
}

fn check_budget(budget: &Field<'_, '_>, values: LabelValues) {
    let spec = budget.child("spec");
    let (least, most) = (spec.child("minAvailable"), spec.child("maxUnavailable"));
    if least.is_set() && most.is_set() {
        let shown = shown_budget(spec.value());
        let why = "minAvailable and maxUnavailable cannot be both set";
        spec.report(|path| FieldError::invalid(path, BadValue::json(shown), why));
    }
    for bound in [least, most].iter().filter(|bound| bound.is_set()) {
        bound.non_negative_number_or_percent();
        bound.at_most_all();
    }
    check_label_selector(&spec.child("selector"), values);
    if let Some(policy) = spec.given("unhealthyPodEvictionPolicy") {
        policy.one_of(&["AlwaysAllow", "IfHealthyBudget"]);
    }
}

fn shown_budget(spec: &Value) -> String {
    let shown = |member: &str| go_text::json(&spec[member]);
    format!(
        "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\
         \"UnhealthyPodEvictionPolicy\":{}}}",
        shown("minAvailable"),
        shown("selector"),
        shown("maxUnavailable"),
        shown("unhealthyPodEvictionPolicy"),
    )
}
