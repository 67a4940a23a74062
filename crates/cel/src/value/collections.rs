//! Lists and maps, made by an expression or lying in JSON data.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Outcome, Text, Value};
use crate::error::EvaluationError;
use crate::names;
use crate::schema::{Exposure, Field, ListIdentity, Schema};

/// A list.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// Made by an expression.
    Values(Arc<Vec<Value<'a>>>),
    /// Part of the data.
    Json {
        /// The elements as they lie there.
        items: &'a [Json],
        /// What each of them is.
        schema: &'a Schema,
        /// What makes two such lists the same.
        identity: &'a ListIdentity,
    },
}

impl<'a> List<'a> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Json { items, .. } => items.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at a position.
    pub fn get(&self, index: usize) -> Option<Result<Value<'a>, EvaluationError>> {
        match self {
            Self::Values(values) => values.get(index).cloned().map(Ok),
            Self::Json { items, schema, .. } => Some(Value::from_json(items.get(index)?, schema)),
        }
    }

    /// Every element in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Value<'a>, EvaluationError>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Every element as a value.
    pub(crate) fn to_vec(&self) -> Result<Vec<Value<'a>>, EvaluationError> {
        self.iter().collect()
    }

    pub(crate) fn identity(&self) -> &ListIdentity {
        match self {
            Self::Values(_) => &ListIdentity::Atomic,
            Self::Json { identity, .. } => identity,
        }
    }

    /// This list followed by another, as the list's identity has it: a set gains nothing that it
    /// has already, and of elements with the same keys the other's stay.
    pub(crate) fn concat(self, other: &List<'a>) -> Outcome<'a> {
        let identity = self.identity().clone();
        let mut values = match self {
            Self::Values(values) => values,
            Self::Json { .. } => Arc::new(self.to_vec()?),
        };
        let target = Arc::make_mut(&mut values);
        if identity == ListIdentity::Atomic {
            target.reserve(other.len());
            for value in other.iter() {
                target.push(value?);
            }
            return Ok(Value::List(List::Values(values)));
        }
        let mut places: HashMap<String, usize> = HashMap::new();
        for (place, value) in target.iter().enumerate() {
            places.insert(identity_of(value, &identity)?, place);
        }
        for value in other.iter() {
            let value = value?;
            match places.entry(identity_of(&value, &identity)?) {
                Entry::Vacant(entry) => {
                    entry.insert(target.len());
                    target.push(value);
                }
                Entry::Occupied(entry) => target[*entry.get()] = value,
            }
        }
        Ok(Value::List(List::Values(values)))
    }

    pub(crate) fn contains(&self, sought: &Value<'a>) -> Result<bool, EvaluationError> {
        for value in self.iter() {
            if value?.equals(sought)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What tells an element of a list from the others, as text.
pub(super) fn identity_of(
    value: &Value<'_>,
    identity: &ListIdentity,
) -> Result<String, EvaluationError> {
    let mut text = String::new();
    match (identity, value) {
        (ListIdentity::Map(keys), Value::Map(map)) => {
            for key in keys {
                let key = names::escape(key).unwrap_or_else(|| key.clone());
                if let Some(part) = map.find_text(&key)? {
                    write_identity(&part, &mut text)?;
                }
                text.push('\u{0}');
            }
        }
        _ => write_identity(value, &mut text)?,
    }
    Ok(text)
}

/// Writes the same for values that are equal, and for no others.
fn write_identity(value: &Value<'_>, text: &mut String) -> Result<(), EvaluationError> {
    let written = match value {
        Value::Double(number) if number.fract() == 0.0 && number.abs() < 1e18 => {
            write!(text, "n{}", *number as i64)
        }
        Value::Double(number) => write!(text, "d{number}"),
        Value::Int(number) => write!(text, "n{number}"),
        Value::Uint(number) => write!(text, "n{number}"),
        other => write!(text, "{}{}", other.type_name(), other.to_json()?),
    };
    written.map_err(|error| EvaluationError::failed(error.to_string()))
}

/// A map.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// Made by an expression.
    Values(Arc<Entries<'a>>),
    /// Part of the data, with values that are all alike.
    Json {
        /// The entries as they lie there.
        entries: &'a serde_json::Map<String, Json>,
        /// What each value is.
        values: &'a Schema,
    },
    /// Part of the data: an object whose fields are known.
    Object {
        /// The entries as they lie there.
        entries: &'a serde_json::Map<String, Json>,
        /// What the fields are.
        fields: &'a BTreeMap<String, Field>,
    },
}

impl<'a> Map<'a> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Values(entries) => entries.0.len(),
            Self::Json { entries, .. } | Self::Object { entries, .. } => entries.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under a key.
    pub fn find(&self, key: &Value<'_>) -> Result<Option<Value<'a>>, EvaluationError> {
        match (self, key) {
            (Self::Values(entries), _) => Ok(entries.find(key).cloned()),
            (_, Value::String(text)) => self.find_text(text),
            (Self::Json { values, .. }, _)
                if matches!(values.shape, crate::schema::Shape::Dynamic) =>
            {
                Ok(None)
            }
            _ => Err(EvaluationError::no_such_overload()),
        }
    }

    /// The value under a text.
    pub fn find_text(&self, key: &str) -> Result<Option<Value<'a>>, EvaluationError> {
        match self {
            Self::Values(entries) => Ok(entries.find_text(key).cloned()),
            Self::Json { entries, values } => match entries.get(key) {
                Some(value) => Value::from_json(value, values).map(Some),
                None => Ok(None),
            },
            Self::Object { entries, fields } => {
                let Some(property) = names::unescape(key) else {
                    return Ok(None);
                };
                match (entries.get(&property), fields.get(&property)) {
                    (Some(Json::Null), _) | (None, _) | (_, None) => Ok(None),
                    (Some(value), Some(field)) => Value::from_json(value, &field.schema).map(Some),
                }
            }
        }
    }

    /// The keys that an expression sees.
    pub fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Self::Values(entries) => entries.0.values().map(|(key, _)| key.clone()).collect(),
            Self::Json { entries, .. } => entries
                .keys()
                .map(|key| Value::String(Text::Borrowed(key)))
                .collect(),
            Self::Object { entries, fields } => entries
                .keys()
                .filter(|key| {
                    fields
                        .get(*key)
                        .is_some_and(|field| field.exposure == Exposure::Exposed)
                })
                .map(|key| match names::escape(key) {
                    Some(escaped) => Value::from(escaped),
                    None => Value::String(Text::Borrowed(key)),
                })
                .collect(),
        }
    }
}

/// Entries made by an expression, in the order of their keys.
#[derive(Clone, Debug, Default)]
pub struct Entries<'a>(BTreeMap<Key, (Value<'a>, Value<'a>)>);

impl<'a> Entries<'a> {
    /// Adds an entry, and says whether the key is new.
    pub(crate) fn insert(
        &mut self,
        key: Value<'a>,
        value: Value<'a>,
    ) -> Result<bool, EvaluationError> {
        let sorted = Key::of(&key).ok_or_else(|| {
            EvaluationError::failed(format!("unsupported key type: {}", key.type_name()))
        })?;
        Ok(self.0.insert(sorted, (key, value)).is_none())
    }

    pub(crate) fn remove(&mut self, key: &Value<'_>) {
        if let Some(key) = Key::of(key) {
            self.0.remove(&key);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Value<'a>, Value<'a>)> {
        self.0.values()
    }

    fn find(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        self.0.get(&Key::of(key)?).map(|(_, value)| value)
    }

    fn find_text(&self, key: &str) -> Option<&Value<'a>> {
        self.0.get(&Key::Text(key.into())).map(|(_, value)| value)
    }
}

/// What a map is sorted by: numbers that are equal are the same key whatever their type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Bool(bool),
    Number(i128),
    Fraction(u64),
    Text(Arc<str>),
}

impl Key {
    fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Self::Bool(*value)),
            Value::Int(value) => Some(Self::Number(i128::from(*value))),
            Value::Uint(value) => Some(Self::Number(i128::from(*value))),
            Value::Double(value) if value.fract() == 0.0 && value.abs() < 1e19 => {
                Some(Self::Number(*value as i128))
            }
            Value::Double(value) => Some(Self::Fraction(value.to_bits())),
            Value::String(Text::Shared(text)) => Some(Self::Text(text.clone())),
            Value::String(Text::Borrowed(text)) => Some(Self::Text((*text).into())),
            _ => None,
        }
    }
}
