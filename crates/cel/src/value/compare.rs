//! When two values are the same, and which comes first.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::collections::identity_of;
use super::{List, Map, Value};
use crate::error::EvaluationError;
use crate::schema::ListIdentity;

type Answer = Result<bool, EvaluationError>;

impl<'a> Value<'a> {
    /// Whether two values are the same; values of different types are not, numbers excepted.
    pub fn equals(&self, other: &Value<'a>) -> Answer {
        Ok(match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::String(one), Self::String(other)) => **one == **other,
            (Self::Bytes(one), Self::Bytes(other)) => one == other,
            (Self::Timestamp(one), Self::Timestamp(other)) => one == other,
            (Self::Duration(one), Self::Duration(other)) => one == other,
            (Self::List(one), Self::List(other)) => return same_list(one, other),
            (Self::Map(one), Self::Map(other)) => return same_map(one, other),
            (Self::Type(one), Self::Type(other)) => one == other,
            (Self::Optional(one), Self::Optional(other)) => match (one, other) {
                (Some(one), Some(other)) => return one.equals(other),
                (None, None) => true,
                _ => false,
            },
            (Self::Object(one), Self::Object(other)) => return same_object(one, other),
            (Self::Preserved(one), Self::Preserved(other)) => one == other,
            (Self::Quantity(one), Self::Quantity(other)) => one.cmp(other) == Ordering::Equal,
            (Self::Ip(one), Self::Ip(other)) => one == other,
            (Self::Cidr(one), Self::Cidr(other)) => one == other,
            (Self::Url(one), Self::Url(other)) => one == other,
            (Self::Semver(one), Self::Semver(other)) => one.precedence(other) == Ordering::Equal,
            (Self::Format(one), Self::Format(other)) => one.name == other.name,
            (one, other) => numeric_order(one, other) == Some(Ordering::Equal),
        })
    }

    /// Which of two values comes first.
    pub(crate) fn compare(&self, other: &Value<'a>) -> Result<Ordering, EvaluationError> {
        match (self, other) {
            (Self::Bool(one), Self::Bool(other)) => Ok(one.cmp(other)),
            (Self::String(one), Self::String(other)) => Ok(one.as_bytes().cmp(other.as_bytes())),
            (Self::Bytes(one), Self::Bytes(other)) => Ok(one.cmp(other)),
            (Self::Timestamp(one), Self::Timestamp(other)) => Ok(one.cmp(other)),
            (Self::Duration(one), Self::Duration(other)) => Ok(one.cmp(other)),
            (Self::Double(number), _) | (_, Self::Double(number)) if number.is_nan() => {
                Err(EvaluationError::failed("NaN values cannot be ordered"))
            }
            (one, other) => numeric_order(one, other).ok_or_else(EvaluationError::no_such_overload),
        }
    }
}

/// Compares numbers of any two types by what they are worth.
fn numeric_order(one: &Value<'_>, other: &Value<'_>) -> Option<Ordering> {
    match (one, other) {
        (Value::Double(one), Value::Double(other)) => one.partial_cmp(other),
        (Value::Double(one), other) => with_whole(*one, whole(other)?),
        (one, Value::Double(other)) => with_whole(*other, whole(one)?).map(Ordering::reverse),
        (one, other) => Some(whole(one)?.cmp(&whole(other)?)),
    }
}

fn whole(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(value) => Some(i128::from(*value)),
        Value::Uint(value) => Some(i128::from(*value)),
        _ => None,
    }
}

fn with_whole(double: f64, whole: i128) -> Option<Ordering> {
    double.partial_cmp(&(whole as f64))
}

fn same_list<'a>(one: &List<'a>, other: &List<'a>) -> Answer {
    if one.len() != other.len() {
        return Ok(false);
    }
    match one.identity() {
        ListIdentity::Atomic => {
            for (one, other) in one.iter().zip(other.iter()) {
                if !one?.equals(&other?)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        identity => same_unordered(one, other, identity),
    }
}

/// Whether the elements of one list, told apart as the list says, are those of the other.
fn same_unordered<'a>(one: &List<'a>, other: &List<'a>, identity: &ListIdentity) -> Answer {
    let mut known: HashMap<String, Value<'a>> = HashMap::new();
    for value in one.iter() {
        let value = value?;
        known.insert(identity_of(&value, identity)?, value);
    }
    let mut seen = HashSet::new();
    for value in other.iter() {
        let value = value?;
        let name = identity_of(&value, identity)?;
        match known.get(&name) {
            Some(known) if known.equals(&value)? => seen.insert(name),
            _ => return Ok(false),
        };
    }
    Ok(seen.len() == known.len())
}

fn same_map<'a>(one: &Map<'a>, other: &Map<'a>) -> Answer {
    if one.len() != other.len() {
        return Ok(false);
    }
    if let (
        Map::Object { entries, fields },
        Map::Object {
            entries: others, ..
        },
    ) = (one, other)
    {
        let unknown = entries
            .iter()
            .filter(|(name, _)| !fields.contains_key(*name));
        for (name, value) in unknown {
            if others.get(name).is_some_and(|other| other != value) {
                return Ok(false);
            }
        }
        return same_fields(one, other, fields.keys());
    }
    for key in one.keys() {
        match (one.find(&key)?, other.find(&key)?) {
            (Some(one), Some(other)) if one.equals(&other)? => {}
            (None, None) => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn same_fields<'n>(
    one: &Map<'_>,
    other: &Map<'_>,
    names: impl Iterator<Item = &'n String>,
) -> Answer {
    for name in names {
        let key = crate::names::escape(name).unwrap_or_else(|| name.clone());
        match (one.find_text(&key)?, other.find_text(&key)?) {
            (Some(one), Some(other)) if one.equals(&other)? => {}
            (None, None) => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn same_object<'a>(one: &super::Object<'a>, other: &super::Object<'a>) -> Answer {
    if one.type_name != other.type_name || one.fields.len() != other.fields.len() {
        return Ok(false);
    }
    for (name, value) in &one.fields {
        match other.fields.get(name) {
            Some(other) if value.equals(other)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}
