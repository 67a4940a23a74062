//! Values that may be absent.

use super::{Function, fail, unfit};
use crate::value::{List, Outcome, Value};

pub(super) fn implementation(overload: &str) -> Option<Function> {
    Some(match overload {
        "optional_none" => |_| Ok(Value::Optional(None)),
        "optional_of" => |arguments| Ok(Value::some(arguments[0].clone())),
        "optional_ofNonZeroValue" => |arguments| match &arguments[0] {
            value if value.is_zero() => Ok(Value::Optional(None)),
            value => Ok(Value::some(value.clone())),
        },
        "optional_value" => |arguments| match &arguments[0] {
            Value::Optional(Some(value)) => Ok((**value).clone()),
            Value::Optional(None) => fail("optional.none() dereference"),
            _ => unfit(),
        },
        "optional_hasValue" => |arguments| match &arguments[0] {
            Value::Optional(value) => Ok(Value::Bool(value.is_some())),
            _ => unfit(),
        },
        "optional_unwrap" | "optional_unwrapOpt" => unwrap_all,
        "list_first" => |arguments| match &arguments[0] {
            Value::List(list) => element(list, 0),
            _ => unfit(),
        },
        "list_last" => |arguments| match &arguments[0] {
            Value::List(list) => element(list, list.len().wrapping_sub(1)),
            _ => unfit(),
        },
        _ => return None,
    })
}

fn element<'a>(list: &List<'a>, index: usize) -> Outcome<'a> {
    match list.get(index) {
        Some(value) => value.map(Value::some),
        None => Ok(Value::Optional(None)),
    }
}

fn unwrap_all<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let Value::List(list) = &arguments[0] else {
        return unfit();
    };
    let mut present = Vec::new();
    for value in list.iter() {
        match value? {
            Value::Optional(Some(value)) => present.push((*value).clone()),
            Value::Optional(None) => {}
            other => {
                let shown = super::format_text::plain(&other);
                return fail(format!("value {shown} is not optional"));
            }
        }
    }
    Ok(Value::list(present))
}
