//! One metric in the words of `autoscaling/v1` and of `v2`.

use serde_json::{Map, Value, json};

/// Which part of an autoscaler a metric belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What is aimed at.
    Spec,
    /// What was measured.
    Status,
}

/// The name of a field in `v1`, its path in `v2`, and whether `v1` always has it.
type Pair = (&'static str, &'static [&'static str], Written);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    WhenSet,
    Always,
}

use Written::{Always, WhenSet};

const SOURCES: [&str; 5] = [
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
];

fn pairs(source: &str, part: Part) -> &'static [Pair] {
    match (source, part) {
        ("object", Part::Spec) => &[
            ("target", &["describedObject"], WhenSet),
            ("metricName", &["metric", "name"], WhenSet),
            ("selector", &["metric", "selector"], WhenSet),
            ("targetValue", &["target", "value"], Always),
            ("averageValue", &["target", "averageValue"], WhenSet),
        ],
        ("object", Part::Status) => &[
            ("target", &["describedObject"], WhenSet),
            ("metricName", &["metric", "name"], WhenSet),
            ("selector", &["metric", "selector"], WhenSet),
            ("currentValue", &["current", "value"], Always),
            ("averageValue", &["current", "averageValue"], WhenSet),
        ],
        ("pods", Part::Spec) => &[
            ("metricName", &["metric", "name"], WhenSet),
            ("selector", &["metric", "selector"], WhenSet),
            ("targetAverageValue", &["target", "averageValue"], Always),
        ],
        ("pods", Part::Status) => &[
            ("metricName", &["metric", "name"], WhenSet),
            ("selector", &["metric", "selector"], WhenSet),
            ("currentAverageValue", &["current", "averageValue"], Always),
        ],
        ("external", Part::Spec) => &[
            ("metricName", &["metric", "name"], WhenSet),
            ("metricSelector", &["metric", "selector"], WhenSet),
            ("targetValue", &["target", "value"], WhenSet),
            ("targetAverageValue", &["target", "averageValue"], WhenSet),
        ],
        ("external", Part::Status) => &[
            ("metricName", &["metric", "name"], WhenSet),
            ("metricSelector", &["metric", "selector"], WhenSet),
            ("currentValue", &["current", "value"], Always),
            ("currentAverageValue", &["current", "averageValue"], WhenSet),
        ],
        (_, Part::Spec) => &[
            ("name", &["name"], WhenSet),
            ("container", &["container"], WhenSet),
            (
                "targetAverageUtilization",
                &["target", "averageUtilization"],
                WhenSet,
            ),
            ("targetAverageValue", &["target", "averageValue"], WhenSet),
        ],
        (_, Part::Status) => &[
            ("name", &["name"], WhenSet),
            ("container", &["container"], WhenSet),
            (
                "currentAverageUtilization",
                &["current", "averageUtilization"],
                WhenSet,
            ),
            ("currentAverageValue", &["current", "averageValue"], Always),
        ],
    }
}

/// A metric of `v2` in the words of `v1`.
pub(super) fn to_first(metric: Value, part: Part) -> Value {
    convert(metric, |source, members| {
        let mut converted = Map::new();
        for (first, path, written) in pairs(source, part) {
            let value = look_up(&members, path).filter(|value| !value.is_null());
            match (value, written) {
                (Some(value), _) => converted.insert((*first).to_owned(), value.clone()),
                (None, Always) => converted.insert((*first).to_owned(), "0".into()),
                (None, WhenSet) => None,
            };
        }
        converted
    })
}

/// A metric of `v1` in the words of `v2`.
pub(super) fn to_second(metric: Value, part: Part) -> Value {
    convert(metric, |source, mut members| {
        let averaged = members
            .get("averageValue")
            .is_some_and(|value| !value.is_null());
        if (source, part, averaged) == ("object", Part::Spec, true) {
            members.retain(|name, value| name != "targetValue" || *value != "0");
        }
        let mut converted = Map::new();
        for (first, path, _) in pairs(source, part) {
            if let Some(value) = members.remove(*first).filter(|value| !value.is_null()) {
                put(&mut converted, path, value);
            }
        }
        if part == Part::Spec {
            let target_type = target_type(source, &converted);
            put(&mut converted, &["target", "type"], target_type.into());
        }
        converted
    })
}

fn convert(
    mut metric: Value,
    source_members: impl Fn(&str, Map<String, Value>) -> Map<String, Value>,
) -> Value {
    for source in SOURCES {
        if let Some(Value::Object(members)) = metric.get_mut(source) {
            *members = source_members(source, std::mem::take(members));
        }
    }
    metric
}

/// How `v1` says what kind of target it means: by which of its fields are set.
fn target_type(source: &str, converted: &Map<String, Value>) -> &'static str {
    let has = |name| look_up(converted, &["target", name]).is_some();
    match source {
        "object" if has("averageValue") => "AverageValue",
        "object" => "Value",
        "external" if has("value") => "Value",
        "resource" | "containerResource" if has("averageUtilization") => "Utilization",
        _ => "AverageValue",
    }
}

fn look_up<'a>(members: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(members.get(*first)?, |value, name| value.get(name))
}

fn put(members: &mut Map<String, Value>, path: &[&str], value: Value) {
    match path {
        [name] => {
            members.insert((*name).to_owned(), value);
        }
        [outer, inner] => {
            let outer = members.entry(*outer).or_insert_with(|| json!({}));
            outer[*inner] = value;
        }
        _ => unreachable!("the pairs above have one or two names"),
    }
}
