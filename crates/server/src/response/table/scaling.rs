//! What limits how many pods there are: autoscalers and disruption budgets.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{NONE, UNKNOWN, UNSET, age, shortened},
};

pub(super) const PRINTERS: Printers = &[
    ("horizontalpodautoscalers.autoscaling", autoscaler),
    ("poddisruptionbudgets.policy", disruption_budget),
];

/// Metrics shown of an autoscaler; more are only counted.
const METRICS_SHOWN_MAX: usize = 2;

fn autoscaler(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let target = object.get("spec.scaleTargetRef");
    let (kind, name) = (target.member("kind").text(), target.member("name").text());
    let minimum = object.get("spec.minReplicas");
    cells![
        object.name(),
        format!("{kind}/{name}"),
        targets(object),
        if minimum.is_set() {
            minimum.display()
        } else {
            UNSET.to_owned()
        },
        object.get("spec.maxReplicas").integer(),
        object.get("status.currentReplicas").integer(),
        age(object, now),
    ]
}

fn targets(object: Field<'_>) -> String {
    let metrics = object.get("spec.metrics");
    if metrics.count() == 0 {
        return processor_target(object);
    }
    let current = object.get("status.currentMetrics");
    let metrics = metrics.items().enumerate();
    let texts: Vec<String> = metrics
        .map(|(index, metric)| metric_target(metric, current.nth(index)))
        .collect();
    shortened(&texts, METRICS_SHOWN_MAX, ", ")
}

/// The one metric that `autoscaling/v1` has.
fn processor_target(object: Field<'_>) -> String {
    let wanted = object.get("spec.targetCPUUtilizationPercentage");
    if !wanted.is_set() {
        return NONE.to_owned();
    }
    let current = percentage(
        object.get("status.currentCPUUtilizationPercentage"),
        UNKNOWN,
    );
    format!("cpu: {current}/{}%", wanted.integer())
}

fn metric_target(metric: Field<'_>, current: Field<'_>) -> String {
    match metric.member("type").text() {
        "External" => value_target(metric.member("external"), current.member("external")),
        "Object" => value_target(metric.member("object"), current.member("object")),
        "Pods" => average_target(metric.member("pods"), current.member("pods")),
        "Resource" => resource_target(metric.member("resource"), current.member("resource")),
        "ContainerResource" => {
            let name = "containerResource";
            resource_target(metric.member(name), current.member(name))
        }
        _ => "<unknown type>".to_owned(),
    }
}

fn value_target(metric: Field<'_>, current: Field<'_>) -> String {
    if metric.get("target.averageValue").is_set() {
        format!("{} (avg)", average_target(metric, current))
    } else {
        let wanted = metric.get("target.value").quantity();
        format!("{}/{wanted}", quantity(current.get("current.value")))
    }
}

fn average_target(metric: Field<'_>, current: Field<'_>) -> String {
    let wanted = metric.get("target.averageValue").quantity();
    format!("{}/{wanted}", quantity(current.get("current.averageValue")))
}

fn resource_target(metric: Field<'_>, current: Field<'_>) -> String {
    let name = metric.member("name").text();
    if metric.get("target.averageValue").is_set() {
        return format!("{name}: {}", average_target(metric, current));
    }
    let now = percentage(current.get("current.averageUtilization"), UNKNOWN);
    let wanted = percentage(metric.get("target.averageUtilization"), "<auto>");
    format!("{name}: {now}/{wanted}")
}

fn quantity(field: Field<'_>) -> String {
    if field.is_set() {
        field.quantity()
    } else {
        UNKNOWN.to_owned()
    }
}

fn percentage(field: Field<'_>, absent: &str) -> String {
    if field.is_set() {
        format!("{}%", field.integer())
    } else {
        absent.to_owned()
    }
}

fn disruption_budget(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let bound = |field: Field<'_>| {
        if field.is_set() {
            field.display()
        } else {
            "N/A".to_owned()
        }
    };
    cells![
        object.name(),
        bound(object.get("spec.minAvailable")),
        bound(object.get("spec.maxUnavailable")),
        object.get("status.disruptionsAllowed").integer(),
        age(object, now),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::response::table::test_rows::row;

    fn targets(metrics: Value, current: Value) -> String {
        let object = json!({"spec": {"metrics": metrics}, "status": {"currentMetrics": current}});
        let row = row("horizontalpodautoscalers.autoscaling", &object);
        row.split(" | ").nth(2).unwrap().to_owned()
    }

    #[test]
    fn an_autoscaler_shows_its_bounds() {
        let object = json!({
            "metadata": {"name": "h"},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "web"},
                "minReplicas": 2, "maxReplicas": 9,
            },
            "status": {"currentReplicas": 4},
        });
        let resource = "horizontalpodautoscalers.autoscaling";
        let expected = "h | Deployment/web | <none> | 2 | `9` | `4` | <unknown>";
        assert_eq!(row(resource, &object), expected);
        assert!(row(resource, &json!({})).contains(" | <unset> | `0` | `0` | "));
    }

    #[test]
    fn utilization_is_a_percentage() {
        let metric = |target: Value| {
            let resource = json!({"name": "cpu", "target": target});
            json!([{"type": "Resource", "resource": resource}])
        };
        let wanted = || json!({"averageUtilization": 80});
        let current = json!([{"resource": {"current": {"averageUtilization": 45}}}]);
        assert_eq!(targets(metric(wanted()), current), "cpu: 45%/80%");
        assert_eq!(targets(metric(wanted()), json!([])), "cpu: <unknown>/80%");
        assert_eq!(
            targets(metric(json!({})), json!([])),
            "cpu: <unknown>/<auto>"
        );
        assert_eq!(
            targets(metric(json!({"averageValue": "100m"})), json!([])),
            "cpu: <unknown>/100m"
        );
    }

    #[test]
    fn values_are_quantities() {
        let external =
            |target: Value| json!([{"type": "External", "external": {"target": target}}]);
        let current = json!([{"external": {"current": {"value": "5", "averageValue": "2"}}}]);
        assert_eq!(
            targets(external(json!({"value": "10"})), current.clone()),
            "5/10"
        );
        assert_eq!(
            targets(external(json!({"averageValue": "3"})), current),
            "2/3 (avg)"
        );
        let pods = json!([{"type": "Pods", "pods": {"target": {"averageValue": "1k"}}}]);
        assert_eq!(targets(pods, json!([])), "<unknown>/1k");
        assert_eq!(
            targets(json!([{"type": "New"}]), json!([])),
            "<unknown type>"
        );
    }

    #[test]
    fn more_than_two_metrics_are_counted() {
        let metric = |name: &str| {
            json!({"type": "ContainerResource", "containerResource": {
                "name": name, "target": {"averageUtilization": 50},
            }})
        };
        let metrics = json!([metric("cpu"), metric("memory"), metric("x"), metric("y")]);
        assert_eq!(
            targets(metrics, json!([])),
            "cpu: <unknown>/50%, memory: <unknown>/50% + 2 more..."
        );
    }

    #[test]
    fn the_older_version_has_one_metric() {
        let object = json!({
            "spec": {"targetCPUUtilizationPercentage": 70},
            "status": {"currentCPUUtilizationPercentage": 30},
        });
        let row = row("horizontalpodautoscalers.autoscaling", &object);
        assert!(row.contains(" | cpu: 30%/70% | "), "{row}");
    }

    #[test]
    fn a_budget_shows_its_bound_as_it_was_given() {
        let object = json!({
            "metadata": {"name": "b"},
            "spec": {"minAvailable": "50%"},
            "status": {"disruptionsAllowed": 1},
        });
        assert_eq!(
            row("poddisruptionbudgets.policy", &object),
            "b | 50% | N/A | `1` | <unknown>"
        );
        let object = json!({"metadata": {"name": "b"}, "spec": {"maxUnavailable": 2}});
        assert_eq!(
            row("poddisruptionbudgets.policy", &object),
            "b | N/A | 2 | `0` | <unknown>"
        );
    }
}
