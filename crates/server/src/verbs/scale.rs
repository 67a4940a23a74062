//! The `scale` part of an object: how many replicas, and nothing else.

use listwatch_api::{FieldError, FieldPath, GroupKind, Status};
use serde_json::{Map, Value, json};

use crate::{
    commit::{metadata, metadata_text},
    registry::{Definition, ScalePaths},
};

/// The kind, as messages name it.
const SCALE: GroupKind<'static> = GroupKind {
    group: "autoscaling",
    kind: "Scale",
};

/// Members of `metadata` that a Scale shows.
const SHOWN: [&str; 4] = ["name", "namespace", "uid", "creationTimestamp"];

/// The Scale of an object.
pub(crate) fn scale_of(definition: &Definition, object: &Value) -> Value {
    let replicas = replicas_of(definition, object);
    let stored = metadata(object);
    let shown: Map<String, Value> = SHOWN
        .into_iter()
        .filter_map(|member| Some((member.to_owned(), stored.get(member)?.clone())))
        .collect();
    let mut status = json!({ "replicas": replicas.there });
    if let Some(selector) = replicas.selector {
        status["selector"] = json!(selector);
    }
    let mut spec = Map::new();
    if replicas.wanted != 0 {
        spec.insert("replicas".to_owned(), json!(replicas.wanted));
    }
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": shown,
        "spec": spec,
        "status": status,
    })
}

/// What an object says of its replicas.
struct Replicas {
    wanted: i64,
    there: i64,
    selector: Option<String>,
}

fn replicas_of(definition: &Definition, object: &Value) -> Replicas {
    match custom_paths(definition) {
        None => Replicas {
            wanted: object["spec"]["replicas"].as_i64().unwrap_or(0),
            there: object["status"]["replicas"].as_i64().unwrap_or(0),
            selector: selector_text(&object["spec"]["selector"]),
        },
        Some(paths) => {
            let at = |path: &[Box<str>]| {
                let mut members = path.iter();
                members.try_fold(object, |value, member| value.get(&**member))
            };
            let count = |path: &[Box<str>]| at(path).and_then(Value::as_i64).unwrap_or(0);
            let selector = paths.label_selector.as_deref().and_then(at);
            Replicas {
                wanted: count(&paths.spec_replicas),
                there: count(&paths.status_replicas),
                selector: selector.and_then(Value::as_str).map(str::to_owned),
            }
        }
    }
}

fn custom_paths(definition: &Definition) -> Option<&ScalePaths> {
    definition.custom.as_ref()?.scale.as_ref()
}

/// Writes the wanted replicas where the kind has them.
pub(super) fn set_replicas(definition: &Definition, object: &mut Value, replicas: Value) {
    let usual = ["spec", "replicas"];
    let members: Vec<&str> = match custom_paths(definition) {
        None => usual.to_vec(),
        Some(paths) => paths.spec_replicas.iter().map(|member| &**member).collect(),
    };
    let mut place = object;
    for member in members {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[member];
    }
    *place = replicas;
}

/// The object with as many replicas as a Scale says.
pub(crate) fn scaled(
    definition: &Definition,
    object: &Value,
    scale: &Value,
) -> Result<Value, Status> {
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
    if replicas < 0 {
        let field = FieldPath::new("spec").child("replicas");
        let why = "must be greater than or equal to 0";
        let error = FieldError::invalid(&field, replicas, why);
        let name = metadata_text(object, "name").unwrap_or_default();
        return Err(Status::invalid(SCALE, name, &[error]));
    }
    let mut scaled = object.clone();
    set_replicas(definition, &mut scaled, json!(replicas));
    Ok(scaled)
}

/// A selector as the text in which clients write it.
fn selector_text(selector: &Value) -> Option<String> {
    let members = selector.as_object()?;
    if !members.contains_key("matchLabels") && !members.contains_key("matchExpressions") {
        return Some(equalities(members));
    }
    let labels = members
        .get("matchLabels")
        .and_then(Value::as_object)
        .map(equalities);
    let expressions = members.get("matchExpressions").and_then(Value::as_array);
    let written = expressions
        .into_iter()
        .flatten()
        .filter_map(expression_text);
    let parts: Vec<String> = labels.into_iter().chain(written).collect();
    Some(parts.join(","))
}

fn equalities(labels: &Map<String, Value>) -> String {
    let pairs = labels
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")));
    pairs.collect::<Vec<_>>().join(",")
}

fn expression_text(expression: &Value) -> Option<String> {
    let key = expression["key"].as_str()?;
    let values = || {
        let listed = expression["values"].as_array().into_iter().flatten();
        let mut texts: Vec<&str> = listed.filter_map(Value::as_str).collect();
        texts.sort_unstable();
        texts.join(",")
    };
    match expression["operator"].as_str()? {
        "In" => Some(format!("{key} in ({})", values())),
        "NotIn" => Some(format!("{key} notin ({})", values())),
        "Exists" => Some(key.to_owned()),
        "DoesNotExist" => Some(format!("!{key}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::registry::Registry;

    fn deployments() -> Arc<Definition> {
        Registry::builtin()
            .find("apps", "v1", "deployments")
            .unwrap()
    }

    #[test]
    fn a_scale_shows_replicas_and_selector() {
        let deployment = json!({
            "metadata": {"name": "d", "namespace": "default", "uid": "u", "labels": {"x": "y"}},
            "spec": {"replicas": 7, "selector": {"matchLabels": {"a": "b"}}},
            "status": {},
        });
        let scale = scale_of(&deployments(), &deployment);
        assert_eq!(scale["spec"], json!({"replicas": 7}));
        assert_eq!(scale["status"], json!({"replicas": 0, "selector": "a=b"}));
        let shown = json!({
            "name": "d", "namespace": "default", "uid": "u",
        });
        assert_eq!(scale["metadata"], shown);
    }

    #[test]
    fn expressions_are_written_as_clients_write_them() {
        let selector = json!({"matchExpressions": [
            {"key": "a", "operator": "In", "values": ["2", "1"]},
            {"key": "b", "operator": "Exists"},
            {"key": "c", "operator": "DoesNotExist"},
        ]});
        assert_eq!(selector_text(&selector).unwrap(), "a in (1,2),b,!c");
    }

    #[test]
    fn replicas_below_zero_are_refused() {
        let object = json!({"spec": {"replicas": 1}});
        assert!(scaled(&deployments(), &object, &json!({"spec": {"replicas": -1}})).is_err());
        let grown = scaled(&deployments(), &object, &json!({"spec": {"replicas": 3}})).unwrap();
        assert_eq!(grown["spec"]["replicas"], json!(3));
    }
}
