//! Merge patches, RFC 7386: objects are merged, null removes, everything else replaces. Against the
//! standard, but as in Kubernetes, objects inside a new list lose their null fields too.

use serde_json::{Map, Value};

use super::without_nulls;

/// What `patch` makes of `target`.
pub(super) fn apply(target: Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else {
        return without_nulls(patch.clone());
    };
    let mut fields = match target {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
            continue;
        }
        let current = fields.get_mut(name).map_or(Value::Null, Value::take);
        fields.insert(name.clone(), apply(current, change));
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_examples_of_the_standard_hold() {
        let cases = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (
                json!({"a": [{"b": "c"}]}),
                json!({"a": [1]}),
                json!({"a": [1]}),
            ),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!([1, 2]),
                json!({"a": "b", "c": null}),
                json!({"a": "b"}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ];
        for (target, patch, expected) in cases {
            assert_eq!(
                apply(target.clone(), &patch),
                expected,
                "{target} + {patch}"
            );
        }
    }

    #[test]
    fn objects_in_a_new_list_lose_their_nulls() {
        let patch = json!({"a": [null, {"b": null, "c": [{"d": null}]}]});
        assert_eq!(apply(json!({}), &patch), json!({"a": [null, {"c": [{}]}]}));
    }
}
