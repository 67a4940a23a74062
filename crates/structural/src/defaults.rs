//! Fills in what a schema says that leaving out means.

use serde_json::{Map, Value};

use crate::node::{Node, Traits};

/// Fills in the defaults of everything in the value.
pub(crate) fn fill(node: &Node, value: &mut Value) {
    if !node.traits.has(Traits::DEFAULTS_BELOW) {
        return;
    }
    match value {
        Value::Object(members) => fill_members(node, members),
        Value::Array(list) => {
            let Some(items) = node.items() else { return };
            for element in list {
                replace_null(items, element);
                fill(items, element);
            }
        }
        _ => {}
    }
}

fn fill_members(node: &Node, members: &mut Map<String, Value>) {
    for (name, property) in &node.properties {
        let Some(default) = &property.default else {
            continue;
        };
        match members.get_mut(name.as_ref()) {
            None => {
                members.insert(name.to_string(), default.as_ref().clone());
            }
            Some(value) => replace_null(property, value),
        }
    }
    for (name, value) in members.iter_mut() {
        if let Some(property) = node.property(name) {
            fill(property, value);
        } else if let Some(each) = node.additional.each() {
            replace_null(each, value);
            fill(each, value);
        }
    }
}

fn replace_null(node: &Node, value: &mut Value) {
    if value.is_null()
        && !node.is_nullable()
        && let Some(default) = &node.default
    {
        value.clone_from(default);
    }
}

/// Takes away the nulls of a map that mean nothing: neither allowed nor replaced by a default.
pub(crate) fn drop_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(members) => members.retain(|name, value| {
            let Some(member) = node.member(name) else {
                return true;
            };
            if value.is_null() {
                return member.is_nullable() || member.default.is_some();
            }
            drop_nulls(member, value);
            true
        }),
        Value::Array(list) => {
            let Some(items) = node.items() else { return };
            list.iter_mut()
                .for_each(|element| drop_nulls(items, element));
        }
        _ => {}
    }
}
