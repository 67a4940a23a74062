//! One step on the way to a field.

use std::fmt;

use serde_json::{Map, Value};

use crate::object;

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// To the member with this name.
    Field(Box<str>),
    /// To the element of a list whose keys have these values: a JSON object with sorted keys.
    Keys(Box<str>),
    /// To the element of a list that has this value: JSON.
    Value(Box<str>),
    /// To the element of a list at this place.
    Index(usize),
}

impl Step {
    /// To the member with this name.
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// To the element of a list with this value of its key.
    pub(super) fn key(name: &str, value: &Value) -> Self {
        Self::Keys(object::text_of(|text| {
            object::append_members([(name, value)].into_iter(), text);
        }))
    }

    /// To the element of a list with these values of its keys.
    pub fn keys<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Self {
        let mut pairs: Vec<(&str, &Value)> = pairs.into_iter().collect();
        pairs.sort_unstable_by_key(|(name, _)| *name);
        Self::Keys(object::text_of(|text| {
            object::append_members(pairs.into_iter(), text);
        }))
    }

    /// To the element of a list that equals this.
    pub fn value(value: &Value) -> Self {
        Self::Value(object::text_of(|text| object::append_value(value, text)))
    }

    /// Reads a key of FieldsV1; `None` for a kind of step that is not known.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, String> {
        let malformed = || format!("malformed step {text:?}");
        let (sign, rest) = text.split_once(':').ok_or_else(malformed)?;
        let step = match sign {
            "f" => Self::field(rest),
            "k" if is_plain_pair(rest) => Self::Keys(rest.into()),
            "k" => {
                let keys: Map<String, Value> =
                    serde_json::from_str(rest).map_err(|_| malformed())?;
                Self::keys(keys.iter().map(|(name, value)| (name.as_str(), value)))
            }
            "v" => {
                let value = serde_json::from_str(rest).map_err(|_| malformed())?;
                Self::value(&value)
            }
            "i" => Self::Index(rest.parse().map_err(|_| malformed())?),
            _ if sign.len() == 1 => return Ok(None),
            _ => return Err(malformed()),
        };
        Ok(Some(step))
    }

    /// Appends the key of FieldsV1 as JSON.
    pub(super) fn append_key(&self, text: &mut Vec<u8>) {
        let (sign, name) = match self {
            Self::Field(name) => ("f:", name),
            Self::Keys(keys) => ("k:", keys),
            Self::Value(value) => ("v:", value),
            Self::Index(index) => {
                text.extend_from_slice(format!("\"i:{index}\"").as_bytes());
                return;
            }
        };
        text.push(b'"');
        text.extend_from_slice(sign.as_bytes());
        object::append_escaped(name, text);
        text.push(b'"');
    }

    /// The key of FieldsV1.
    pub(super) fn to_key(&self) -> String {
        match self {
            Self::Field(name) => ["f:", name].concat(),
            Self::Keys(keys) => ["k:", keys].concat(),
            Self::Value(value) => ["v:", value].concat(),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(formatter, ".{name}"),
            Self::Keys(keys) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let pairs = keys.iter().map(|(name, value)| format!("{name}={value}"));
                write!(formatter, "[{}]", pairs.collect::<Vec<_>>().join(","))
            }
            Self::Value(value) => write!(formatter, "[={value}]"),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// Whether this is one key with a plain text or number, which is written in one way only.
fn is_plain_pair(keys: &str) -> bool {
    let pair = keys
        .strip_prefix("{\"")
        .and_then(|rest| rest.strip_suffix('}'));
    let Some((name, value)) = pair.and_then(|pair| pair.split_once("\":")) else {
        return false;
    };
    let is_plain = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-./_".contains(&byte))
    };
    let text = value
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    let is_number = || !value.starts_with('0') && value.bytes().all(|byte| byte.is_ascii_digit());
    is_plain(name) && text.map_or_else(|| is_number() && !value.is_empty(), is_plain)
}
