//! Takes away what a schema does not know.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::node::{Node, Traits};

/// Fields that every resource has, whatever its schema says.
const RESOURCE_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Unknown fields that one answer names.
const UNKNOWN_FIELDS_MAX: usize = 1_000;

/// Whether a value is an object of its own, with `apiVersion`, `kind` and `metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is.
    Resource,
    /// It is what its schema says.
    Inside,
}

/// Takes away what the schema does not know; gives the paths of what went, sorted.
pub(crate) fn prune(node: &Node, value: &mut Value, place: Place) -> Vec<String> {
    let mut walk = Walk {
        way: String::new(),
        unknown: Vec::new(),
    };
    walk.value(Some(node), value, place);
    walk.unknown.sort_unstable();
    walk.unknown
}

struct Walk {
    way: String,
    unknown: Vec<String>,
}

impl Walk {
    fn value(&mut self, node: Option<&Node>, value: &mut Value, place: Place) {
        let preserves = node.is_some_and(|node| node.traits.has(Traits::PRESERVES_UNKNOWN));
        match value {
            Value::Object(members) if preserves => self.known_members(node, members, place),
            Value::Object(members) => self.members(node, members, place),
            Value::Array(list) => {
                let items = node.and_then(Node::items);
                if preserves && items.is_none() {
                    return;
                }
                for (index, element) in list.iter_mut().enumerate() {
                    let end = self.way.len();
                    write!(self.way, "[{index}]").expect("text takes any text");
                    if preserves {
                        self.preserved(items, element);
                    } else {
                        self.value(items, element, Place::Inside);
                    }
                    self.way.truncate(end);
                }
            }
            _ => {}
        }
    }

    /// The elements of a list whose unknown fields are kept keep theirs too.
    fn preserved(&mut self, node: Option<&Node>, value: &mut Value) {
        match value {
            Value::Object(members) => self.known_members(node, members, Place::Inside),
            Value::Array(list) => {
                let Some(items) = node.and_then(Node::items) else {
                    return;
                };
                for (index, element) in list.iter_mut().enumerate() {
                    let end = self.way.len();
                    write!(self.way, "[{index}]").expect("text takes any text");
                    self.preserved(Some(items), element);
                    self.way.truncate(end);
                }
            }
            _ => {}
        }
    }

    /// Prunes inside what the schema knows, and keeps the rest.
    fn known_members(
        &mut self,
        node: Option<&Node>,
        members: &mut Map<String, Value>,
        place: Place,
    ) {
        let Some(node) = node else { return };
        let is_resource = place == Place::Resource || node.traits.has(Traits::EMBEDDED);
        for (name, value) in members.iter_mut() {
            if is_resource && RESOURCE_FIELDS.contains(&name.as_str()) {
                continue;
            }
            if node.property(name).is_some() || node.additional.is_stated() {
                self.member(node.member(name), name, value);
            }
        }
    }

    fn members(&mut self, node: Option<&Node>, members: &mut Map<String, Value>, place: Place) {
        let is_resource =
            place == Place::Resource || node.is_some_and(|node| node.traits.has(Traits::EMBEDDED));
        members.retain(|name, value| {
            if is_resource && RESOURCE_FIELDS.contains(&name.as_str()) {
                return true;
            }
            let known =
                node.filter(|node| node.property(name).is_some() || node.additional.is_stated());
            match known {
                Some(node) => self.member(node.member(name), name, value),
                None => self.report(name),
            }
            known.is_some()
        });
    }

    fn member(&mut self, node: Option<&Node>, name: &str, value: &mut Value) {
        let end = self.step(name);
        self.value(node, value, Place::Inside);
        self.way.truncate(end);
    }

    fn report(&mut self, name: &str) {
        if self.unknown.len() < UNKNOWN_FIELDS_MAX {
            let end = self.step(name);
            self.unknown.push(self.way.clone());
            self.way.truncate(end);
        }
    }

    fn step(&mut self, name: &str) -> usize {
        let end = self.way.len();
        if end > 0 {
            self.way.push('.');
        }
        self.way.push_str(name);
        end
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::props::Props;

    fn pruned(schema: &Value, mut object: Value) -> (Value, Vec<String>) {
        let node = Node::compile(Props::of(schema).expect("it is an object"));
        let unknown = prune(&node, &mut object, Place::Resource);
        (object, unknown)
    }

    #[test]
    fn a_resource_keeps_what_every_resource_has() {
        let schema = json!({"type": "object", "properties": {"e": {
            "type": "object", "x-kubernetes-embedded-resource": true,
            "properties": {"spec": {"type": "object"}}
        }}});
        let object = json!({"kind": "A", "e": {"kind": "B", "metadata": {"x": 1}, "data": 1}});
        let (left, unknown) = pruned(&schema, object);
        assert_eq!(
            left,
            json!({"kind": "A", "e": {"kind": "B", "metadata": {"x": 1}}})
        );
        assert_eq!(unknown, ["e.data"]);
    }

    #[test]
    fn where_unknown_fields_are_kept_known_ones_are_still_looked_into() {
        let schema = json!({"type": "object", "properties": {"f": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}}
        }}});
        let object = json!({"f": {"other": {"b": 1}, "known": {"a": "x", "b": 1}}});
        let (left, unknown) = pruned(&schema, object);
        assert_eq!(left, json!({"f": {"other": {"b": 1}, "known": {"a": "x"}}}));
        assert_eq!(unknown, ["f.known.b"]);
    }

    #[test]
    fn further_properties_of_any_kind_keep_only_plain_values() {
        let each = json!({"type": "object", "additionalProperties": true});
        let schema = json!({"type": "object", "properties": {"m": each}});
        let (left, unknown) = pruned(&schema, json!({"m": {"a": 1, "b": {"c": 1}}}));
        assert_eq!(left, json!({"m": {"a": 1, "b": {}}}));
        assert_eq!(unknown, ["m.b.c"]);
    }
}
