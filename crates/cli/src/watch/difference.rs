//! What changed between two states of an object, field by field.

use std::collections::BTreeSet;

use serde_json::Value;

/// One field that is not the same.
#[derive(Debug, PartialEq)]
pub(super) struct Difference<'a> {
    /// Where it is, such as `spec.containers[0].image`.
    pub(super) path: String,
    /// What happened to it.
    pub(super) change: Change<'a>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Change<'a> {
    Added(&'a Value),
    Removed(&'a Value),
    Changed { old: &'a Value, new: &'a Value },
}

/// Fields that change with every write and tell nothing by it.
const BOOKKEEPING: [&str; 2] = ["metadata.managedFields", "metadata.resourceVersion"];

/// Everything that differs, in the order of the paths.
pub(super) fn differences<'a>(old: &'a Value, new: &'a Value) -> Vec<Difference<'a>> {
    let mut found = Vec::new();
    compare("", old, new, &mut found);
    found
}

fn compare<'a>(path: &str, old: &'a Value, new: &'a Value, found: &mut Vec<Difference<'a>>) {
    if old == new || BOOKKEEPING.contains(&path) {
        return;
    }
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
            for name in names {
                let path = member(path, name);
                compare_members(path, before.get(name), after.get(name), found);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for index in 0..before.len().max(after.len()) {
                let path = format!("{path}[{index}]");
                compare_members(path, before.get(index), after.get(index), found);
            }
        }
        _ => found.push(Difference {
            path: path.to_owned(),
            change: Change::Changed { old, new },
        }),
    }
}

fn compare_members<'a>(
    path: String,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    found: &mut Vec<Difference<'a>>,
) {
    let change = match (old, new) {
        (Some(old), Some(new)) => return compare(&path, old, new, found),
        (None, Some(new)) => Change::Added(new),
        (Some(old), None) => Change::Removed(old),
        (None, None) => return,
    };
    if !BOOKKEEPING.contains(&path.as_str()) {
        found.push(Difference { path, change });
    }
}

/// A name with dots or slashes in it stands in brackets: `labels[app.kubernetes.io/name]`.
fn member(path: &str, name: &str) -> String {
    match (path, name.contains(['.', '/', '[', ']'])) {
        (_, true) => format!("{path}[{name}]"),
        ("", false) => name.to_owned(),
        (_, false) => format!("{path}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(old: &Value, new: &Value) -> Vec<String> {
        let line = |difference: Difference<'_>| match difference.change {
            Change::Added(new) => format!("+ {}: {new}", difference.path),
            Change::Removed(old) => format!("- {}: {old}", difference.path),
            Change::Changed { old, new } => format!("~ {}: {old} -> {new}", difference.path),
        };
        differences(old, new).into_iter().map(line).collect()
    }

    #[test]
    fn only_what_changed_is_told() {
        let old = json!({"spec": {"replicas": 1, "paused": true, "image": "a"}});
        let new = json!({"spec": {"replicas": 3, "image": "a", "strategy": {"type": "Recreate"}}});
        assert_eq!(
            told(&old, &new),
            [
                "- spec.paused: true",
                "~ spec.replicas: 1 -> 3",
                r#"+ spec.strategy: {"type":"Recreate"}"#,
            ]
        );
    }

    #[test]
    fn items_of_a_list_are_told_by_their_place() {
        let old = json!({"items": [{"a": 1}, 2]});
        let new = json!({"items": [{"a": 2}, 2, 3]});
        assert_eq!(told(&old, &new), ["~ items[0].a: 1 -> 2", "+ items[2]: 3"]);
    }

    #[test]
    fn bookkeeping_is_left_out() {
        let old = json!({"metadata": {"resourceVersion": "1", "name": "a"}});
        let new = json!({"metadata": {"resourceVersion": "2", "name": "a", "managedFields": []}});
        assert_eq!(told(&old, &new), [""; 0]);
    }

    #[test]
    fn a_name_with_dots_stands_in_brackets() {
        let old = json!({"metadata": {"labels": {}}});
        let new = json!({"metadata": {"labels": {"app.kubernetes.io/name": "web"}}});
        assert_eq!(
            told(&old, &new),
            [r#"+ metadata.labels[app.kubernetes.io/name]: "web""#]
        );
    }

    #[test]
    fn a_value_of_another_type_is_a_change() {
        assert_eq!(
            told(&json!({"a": {}}), &json!({"a": []})),
            ["~ a: {} -> []"]
        );
    }
}
