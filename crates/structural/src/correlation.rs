//! Which part of an object was which part of it before a change.

use serde_json::Value;

use crate::node::{ListType, Node};

/// A value beside what it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correlated<'a> {
    pub(crate) node: &'a Node,
    pub(crate) next: &'a Value,
    pub(crate) before: &'a Value,
}

impl<'a> Correlated<'a> {
    /// The member with this name, if it was there before and the schema knows it.
    pub(crate) fn key(self, name: &str) -> Option<Self> {
        let next = self.next.as_object()?.get(name)?;
        let before = self.before.as_object()?.get(name)?;
        let node = self.node.member(name)?;
        Some(Self { node, next, before })
    }

    /// The element at this place, if the list tells elements apart by keys and had it before.
    pub(crate) fn index(self, index: usize) -> Option<Self> {
        let next = self.next.as_array()?.get(index)?;
        let before = same(self.node, self.before, next)?;
        let node = self.node.items()?;
        Some(Self { node, next, before })
    }

    /// Whether nothing has changed that can be told to be the same.
    pub(crate) fn is_unchanged(self) -> bool {
        match (self.next, self.before) {
            (Value::Array(next), Value::Array(before)) => {
                next.len() == before.len() && self.has_unchanged_elements(next, before)
            }
            (Value::Object(next), Value::Object(before)) => {
                next.len() == before.len()
                    && next
                        .keys()
                        .all(|name| self.key(name).is_some_and(Self::is_unchanged))
            }
            (next, before) => next == before,
        }
    }

    fn has_unchanged_elements(self, next: &[Value], before: &[Value]) -> bool {
        if !matches!(self.node.list, ListType::Map(_)) {
            return next == before;
        }
        (0..next.len()).all(|index| self.index(index).is_some_and(Self::is_unchanged))
    }
}

/// The element of a list of before that has the keys of this one.
pub(crate) fn same<'a>(node: &Node, before: &'a Value, next: &Value) -> Option<&'a Value> {
    let ListType::Map(keys) = &node.list else {
        return None;
    };
    let wanted = Keys::of(next, keys)?;
    before.as_array()?.iter().find(|element| {
        let found = Keys::of(element, keys);
        found.is_some_and(|found| found.0 == wanted.0)
    })
}

/// The keys of an element, in order; all of them are plain values.
struct Keys<'a>(Vec<&'a Value>);

impl<'a> Keys<'a> {
    fn of(element: &'a Value, names: &[Box<str>]) -> Option<Self> {
        let element = element.as_object()?;
        let keys = names.iter().map(|name| {
            let value = element.get(name.as_ref())?;
            let is_plain = value.is_string() || value.is_number() || value.is_boolean();
            is_plain.then_some(value)
        });
        keys.collect::<Option<Vec<_>>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::props::Props;

    fn is_unchanged(next: &Value, before: &Value) -> bool {
        let schema = json!({
            "type": "object",
            "properties": {
                "map": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {
                        "type": "object",
                        "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}
                    }
                },
                "list": {"type": "array", "items": {"type": "string"}}
            }
        });
        let node = &Node::compile(Props::of(&schema).expect("it is an object"));
        Correlated { node, next, before }.is_unchanged()
    }

    #[test]
    fn elements_with_keys_may_change_their_places() {
        let before = json!({"map": [{"k": "a", "v": 1}, {"k": "b", "v": 2}]});
        let next = json!({"map": [{"k": "b", "v": 2}, {"k": "a", "v": 1}]});
        assert!(is_unchanged(&next, &before));
        let next = json!({"map": [{"k": "b", "v": 1}, {"k": "a", "v": 2}]});
        assert!(!is_unchanged(&next, &before));
    }

    #[test]
    fn elements_without_keys_may_not() {
        assert!(is_unchanged(
            &json!({"list": ["a", "b"]}),
            &json!({"list": ["a", "b"]})
        ));
        assert!(!is_unchanged(
            &json!({"list": ["b", "a"]}),
            &json!({"list": ["a", "b"]})
        ));
    }

    #[test]
    fn what_the_schema_does_not_know_is_never_the_same() {
        let object = json!({"other": 1});
        assert!(!is_unchanged(&object, &object));
    }
}
