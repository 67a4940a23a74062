//! Arithmetic, comparison, membership and negation.

use std::cmp::Ordering;

use super::{Function, fail, time, unfit};
use crate::error::EvaluationError;
use crate::value::{Entries, Map, Outcome, Value};

pub(super) fn implementation(function: &str) -> Option<Function> {
    Some(match function {
        "_+_" => |arguments| add(&arguments[0], &arguments[1]),
        "_-_" => |arguments| subtract(&arguments[0], &arguments[1]),
        "_*_" => |arguments| multiply(&arguments[0], &arguments[1]),
        "_/_" => |arguments| divide(&arguments[0], &arguments[1]),
        "_%_" => |arguments| remainder(&arguments[0], &arguments[1]),
        "-_" => |arguments| negate(&arguments[0]),
        "!_" => |arguments| match arguments[0] {
            Value::Bool(value) => Ok(Value::Bool(!value)),
            _ => unfit(),
        },
        "_<_" => |arguments| ordered(arguments, Ordering::is_lt),
        "_<=_" => |arguments| ordered(arguments, Ordering::is_le),
        "_>_" => |arguments| ordered(arguments, Ordering::is_gt),
        "_>=_" => |arguments| ordered(arguments, Ordering::is_ge),
        "@in" => |arguments| contains(&arguments[0], &arguments[1]),
        "size" => |arguments| match arguments[0].size() {
            Some(size) if !matches!(arguments[0], Value::Ip(_) | Value::Cidr(_)) => {
                Ok(Value::Int(size as i64))
            }
            _ => fail("no such overload: size"),
        },
        "type" => |arguments| Ok(Value::Type(arguments[0].type_name().into())),
        "dyn" => |arguments| Ok(arguments[0].clone()),
        "cel.@mapInsert" => insert,
        _ => return None,
    })
}

/// Whether a function is not defined for values like its first argument, whatever the others are.
pub(crate) fn lacks(function: &str, first: &Value<'_>) -> bool {
    use Value::{Bool, Bytes, Double, Duration, Int, List, String, Timestamp, Uint};
    match function {
        "_+_" => !matches!(
            first,
            Int(_)
                | Uint(_)
                | Double(_)
                | String(_)
                | Bytes(_)
                | List(_)
                | Duration(_)
                | Timestamp(_)
        ),
        "_-_" => !matches!(
            first,
            Int(_) | Uint(_) | Double(_) | String(_) | Duration(_) | Timestamp(_)
        ),
        "_*_" | "_/_" => !matches!(
            first,
            Int(_) | Uint(_) | Double(_) | String(_) | Duration(_) | Timestamp(_)
        ),
        "_%_" => !matches!(
            first,
            Int(_) | Uint(_) | String(_) | Duration(_) | Timestamp(_)
        ),
        "-_" => !matches!(
            first,
            Int(_) | Double(_) | Bool(_) | String(_) | Duration(_) | Timestamp(_)
        ),
        "_<_" | "_<=_" | "_>_" | "_>=_" => !matches!(
            first,
            Bool(_)
                | Int(_)
                | Uint(_)
                | Double(_)
                | String(_)
                | Bytes(_)
                | Duration(_)
                | Timestamp(_)
        ),
        "matches" => !matches!(first, String(_)),
        _ => false,
    }
}

fn checked<'a>(value: Option<i64>) -> Outcome<'a> {
    value
        .map(Value::Int)
        .ok_or_else(|| EvaluationError::failed("integer overflow"))
}

fn checked_unsigned<'a>(value: Option<u64>) -> Outcome<'a> {
    value
        .map(Value::Uint)
        .ok_or_else(|| EvaluationError::failed("unsigned integer overflow"))
}

/// Adds numbers and spans; joins text, bytes and lists.
pub(crate) fn add<'a>(one: &Value<'a>, other: &Value<'a>) -> Outcome<'a> {
    match (one, other) {
        (Value::Int(one), Value::Int(other)) => checked(one.checked_add(*other)),
        (Value::Uint(one), Value::Uint(other)) => checked_unsigned(one.checked_add(*other)),
        (Value::Double(one), Value::Double(other)) => Ok(Value::Double(one + other)),
        (Value::String(one), Value::String(other)) => {
            Ok(Value::from(format!("{}{}", &**one, &**other)))
        }
        (Value::Bytes(one), Value::Bytes(other)) => {
            Ok(Value::Bytes([&**one, &**other].concat().into()))
        }
        (Value::List(one), Value::List(other)) => one.clone().concat(other),
        _ => time::add(one, other).unwrap_or_else(unfit),
    }
}

fn subtract<'a>(one: &Value<'a>, other: &Value<'a>) -> Outcome<'a> {
    match (one, other) {
        (Value::Int(one), Value::Int(other)) => checked(one.checked_sub(*other)),
        (Value::Uint(one), Value::Uint(other)) => checked_unsigned(one.checked_sub(*other)),
        (Value::Double(one), Value::Double(other)) => Ok(Value::Double(one - other)),
        _ => time::subtract(one, other).unwrap_or_else(unfit),
    }
}

fn multiply<'a>(one: &Value<'a>, other: &Value<'a>) -> Outcome<'a> {
    match (one, other) {
        (Value::Int(one), Value::Int(other)) => checked(one.checked_mul(*other)),
        (Value::Uint(one), Value::Uint(other)) => checked_unsigned(one.checked_mul(*other)),
        (Value::Double(one), Value::Double(other)) => Ok(Value::Double(one * other)),
        _ => unfit(),
    }
}

fn divide<'a>(one: &Value<'a>, other: &Value<'a>) -> Outcome<'a> {
    match (one, other) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            fail("division by zero")
        }
        (Value::Int(one), Value::Int(other)) => checked(one.checked_div(*other)),
        (Value::Uint(one), Value::Uint(other)) => Ok(Value::Uint(one / other)),
        (Value::Double(one), Value::Double(other)) => Ok(Value::Double(one / other)),
        _ => unfit(),
    }
}

fn remainder<'a>(one: &Value<'a>, other: &Value<'a>) -> Outcome<'a> {
    match (one, other) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            fail("modulus by zero")
        }
        (Value::Int(one), Value::Int(other)) => checked(one.checked_rem(*other)),
        (Value::Uint(one), Value::Uint(other)) => Ok(Value::Uint(one % other)),
        _ => unfit(),
    }
}

fn negate<'a>(value: &Value<'a>) -> Outcome<'a> {
    match value {
        Value::Int(value) => checked(value.checked_neg()),
        Value::Double(value) => Ok(Value::Double(-value)),
        Value::Duration(span) => span
            .nanoseconds()
            .checked_neg()
            .map(|nanoseconds| Value::Duration(time::Duration::from_nanoseconds(nanoseconds)))
            .ok_or_else(|| EvaluationError::failed("integer overflow")),
        _ => unfit(),
    }
}

fn ordered<'a>(arguments: &[Value<'a>], holds: fn(Ordering) -> bool) -> Outcome<'a> {
    arguments[0]
        .compare(&arguments[1])
        .map(|ordering| Value::Bool(holds(ordering)))
}

fn contains<'a>(sought: &Value<'a>, among: &Value<'a>) -> Outcome<'a> {
    match among {
        Value::List(list) => list.contains(sought).map(Value::Bool),
        Value::Map(map) => map.find(sought).map(|found| Value::Bool(found.is_some())),
        Value::Lazy(fields) => Ok(Value::Bool(
            sought
                .as_text()
                .is_some_and(|name| fields.field(name).is_some()),
        )),
        _ => unfit(),
    }
}

/// A map with an entry, or the entries of another map, added.
fn insert<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let Some((Value::Map(map), added)) = arguments.split_first() else {
        return unfit();
    };
    let mut entries = match map {
        Map::Values(entries) => (**entries).clone(),
        _ => Entries::default(),
    };
    insert_into(&mut entries, added)?;
    Ok(Value::Map(Map::Values(entries.into())))
}

/// Adds a key with its value, or the entries of a map; none of them may be there already.
pub(crate) fn insert_into<'a>(
    entries: &mut Entries<'a>,
    added: &[Value<'a>],
) -> Result<(), EvaluationError> {
    match added {
        [key, value] => add_entry(entries, key, value),
        [Value::Map(added)] => {
            for key in added.keys() {
                if let Some(value) = added.find(&key)? {
                    add_entry(entries, &key, &value)?;
                }
            }
            Ok(())
        }
        _ => unfit(),
    }
}

fn add_entry<'a>(
    entries: &mut Entries<'a>,
    key: &Value<'a>,
    value: &Value<'a>,
) -> Result<(), EvaluationError> {
    if entries.insert(key.clone(), value.clone())? {
        return Ok(());
    }
    let shown = super::format_text::plain(key);
    fail(format!("insert failed: key {shown} already exists"))
}
