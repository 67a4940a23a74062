//! `autoscaling/v1`, which knows the CPU alone and keeps the rest of `v2` in annotations.

use serde_json::{Map, Value, json};

use super::metrics::{self, Part};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const ANNOTATIONS: [&str; 6] = [
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];
/// What an autoscaler without any metric aims at.
const UTILIZATION_DEFAULT: i32 = 80;

/// From `v2` to `v1`.
pub(super) fn to_first(autoscaler: &mut Map<String, Value>) {
    drop_annotations(autoscaler);
    let spec = part(autoscaler, "spec");
    let all = take_list(spec, "metrics");
    let behavior = spec.remove("behavior").filter(|value| !value.is_null());
    let target = all.iter().find_map(cpu_target).cloned();
    spec.extend(target.map(|value| ("targetCPUUtilizationPercentage".to_owned(), value)));
    let others: Vec<Value> = all
        .into_iter()
        .filter(|metric| cpu_target(metric).is_none())
        .map(|metric| metrics::to_first(metric, Part::Spec))
        .collect();

    let status = part(autoscaler, "status");
    let current = take_list(status, "currentMetrics");
    let conditions = take_list(status, "conditions");
    let utilization = current.iter().rev().find_map(cpu_current).cloned();
    status.extend(utilization.map(|value| ("currentCPUUtilizationPercentage".to_owned(), value)));
    let current = current
        .into_iter()
        .map(|metric| metrics::to_first(metric, Part::Status))
        .collect();

    annotate_list(autoscaler, METRICS, others);
    annotate_list(autoscaler, CURRENT_METRICS, current);
    annotate_list(autoscaler, CONDITIONS, conditions);
    if let Some(behavior) = behavior {
        annotate(autoscaler, BEHAVIOR, &capitalized_behavior(&behavior));
    }
}

/// From `v1` to `v2`.
pub(super) fn to_second(autoscaler: &mut Map<String, Value>) {
    let others = annotated_list(autoscaler, METRICS);
    let current = annotated_list(autoscaler, CURRENT_METRICS);
    let conditions = annotated_list(autoscaler, CONDITIONS);
    let behavior = annotated(autoscaler, BEHAVIOR).map(lower_case_members);
    drop_annotations(autoscaler);

    let spec = part(autoscaler, "spec");
    let target = spec.remove("targetCPUUtilizationPercentage");
    let mut all: Vec<Value> = others
        .unwrap_or_default()
        .into_iter()
        .map(|metric| metrics::to_second(metric, Part::Spec))
        .collect();
    all.extend(target.filter(|value| !value.is_null()).map(cpu_metric));
    if all.is_empty() {
        all.push(cpu_metric(UTILIZATION_DEFAULT.into()));
    }
    spec.insert("metrics".to_owned(), all.into());
    let behavior = behavior.filter(|value| value.as_object().is_some_and(|map| !map.is_empty()));
    spec.extend(behavior.map(|value| ("behavior".to_owned(), value)));

    let status = part(autoscaler, "status");
    let utilization = status.remove("currentCPUUtilizationPercentage");
    let told = current.map(|list| {
        let all = list.into_iter();
        all.map(|metric| metrics::to_second(metric, Part::Status))
            .collect()
    });
    let measured = utilization
        .filter(|value| !value.is_null())
        .map(|value| vec![cpu_status(&value)]);
    if let Some(metrics) = told.or(measured) {
        status.insert("currentMetrics".to_owned(), Value::Array(metrics));
    }
    status.extend(conditions.map(|list| ("conditions".to_owned(), list.into())));
}

fn cpu_target(metric: &Value) -> Option<&Value> {
    let named = metric["type"] == "Resource" && metric["resource"]["name"] == "cpu";
    let utilization = metric.pointer("/resource/target/averageUtilization")?;
    (named && !utilization.is_null()).then_some(utilization)
}

fn cpu_current(metric: &Value) -> Option<&Value> {
    let named = metric["type"] == "Resource" && metric["resource"]["name"] == "cpu";
    let utilization = metric.pointer("/resource/current/averageUtilization")?;
    (named && !utilization.is_null()).then_some(utilization)
}

fn cpu_metric(utilization: Value) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": utilization});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

fn cpu_status(utilization: &Value) -> Value {
    let current = json!({"averageUtilization": utilization});
    json!({"type": "Resource", "resource": {"name": "cpu", "current": current}})
}

fn part<'a>(object: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let value = object.entry(name).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was just made an object")
}

fn take_list(object: &mut Map<String, Value>, name: &str) -> Vec<Value> {
    match object.remove(name) {
        Some(Value::Array(elements)) => elements,
        _ => Vec::new(),
    }
}

fn annotated(autoscaler: &Map<String, Value>, name: &str) -> Option<Value> {
    let text = autoscaler.get("metadata")?.get("annotations")?.get(name)?;
    serde_json::from_str(text.as_str()?).ok()
}

fn annotated_list(autoscaler: &Map<String, Value>, name: &str) -> Option<Vec<Value>> {
    match annotated(autoscaler, name)? {
        Value::Array(elements) => Some(elements),
        _ => None,
    }
}

fn annotate(autoscaler: &mut Map<String, Value>, name: &str, value: &Value) {
    let annotations = part(part(autoscaler, "metadata"), "annotations");
    annotations.insert(name.to_owned(), value.to_string().into());
}

fn annotate_list(autoscaler: &mut Map<String, Value>, name: &str, list: Vec<Value>) {
    if !list.is_empty() {
        annotate(autoscaler, name, &list.into());
    }
}

fn drop_annotations(autoscaler: &mut Map<String, Value>) {
    let metadata = autoscaler.get_mut("metadata");
    let annotations = metadata.and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !ANNOTATIONS.contains(&&**name));
    }
}

/// The behaviour as the annotation holds it: Go's own names, and `null` for what is not set.
fn capitalized_behavior(behavior: &Value) -> Value {
    let rules = |name: &str| match &behavior[name] {
        Value::Null => Value::Null,
        rules => json!({
            "StabilizationWindowSeconds": rules["stabilizationWindowSeconds"],
            "SelectPolicy": rules["selectPolicy"],
            "Policies": capitalized_policies(&rules["policies"]),
            "Tolerance": rules["tolerance"],
        }),
    };
    json!({"ScaleUp": rules("scaleUp"), "ScaleDown": rules("scaleDown")})
}

fn capitalized_policies(policies: &Value) -> Value {
    let Value::Array(policies) = policies else {
        return Value::Null;
    };
    let policy = |policy: &Value| {
        json!({
            "Type": policy["type"],
            "Value": policy["value"],
            "PeriodSeconds": policy["periodSeconds"],
        })
    };
    policies.iter().map(policy).collect()
}

/// Undoes [`capitalized_behavior`]; names that are in lower case already stay.
fn lower_case_members(value: Value) -> Value {
    match value {
        Value::Array(elements) => elements.into_iter().map(lower_case_members).collect(),
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| {
                let mut letters = name.chars();
                let first = letters.next().map(|letter| letter.to_ascii_lowercase());
                (
                    first.into_iter().chain(letters).collect(),
                    lower_case_members(value),
                )
            })
            .collect::<Map<String, Value>>()
            .into(),
        scalar => scalar,
    }
}
