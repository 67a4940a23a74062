//! The parts of a JSON schema (`JSONSchemaProps`), read where they are.

use serde_json::{Map, Value};

/// One schema of a definition. A part of the wrong type counts as absent, as decoding refuses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Props<'a>(pub(crate) &'a Map<String, Value>);

/// What `additionalProperties` may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Additional<'a> {
    /// Any further property, or none.
    Allowed(bool),
    /// Further properties of one schema.
    Each(Props<'a>),
}

/// What `items` may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Items<'a> {
    /// Every element has this schema.
    Each(Props<'a>),
    /// Each place has a schema of its own, which is not supported.
    Places,
}

impl<'a> Props<'a> {
    pub(crate) fn of(value: &'a Value) -> Option<Self> {
        value.as_object().map(Self)
    }

    /// The part with this name, unless it is null.
    pub(crate) fn value(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// The text with this name; an absent one is empty.
    pub(crate) fn text(self, name: &str) -> &'a str {
        self.given_text(name).unwrap_or_default()
    }

    pub(crate) fn given_text(self, name: &str) -> Option<&'a str> {
        self.value(name).and_then(Value::as_str)
    }

    pub(crate) fn is_set(self, name: &str) -> bool {
        self.given_flag(name).unwrap_or_default()
    }

    pub(crate) fn given_flag(self, name: &str) -> Option<bool> {
        self.value(name).and_then(Value::as_bool)
    }

    pub(crate) fn number(self, name: &str) -> Option<f64> {
        self.value(name).and_then(Value::as_f64)
    }

    pub(crate) fn integer(self, name: &str) -> Option<i64> {
        self.value(name).and_then(Value::as_i64)
    }

    pub(crate) fn list(self, name: &str) -> &'a [Value] {
        let list = self.value(name).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    pub(crate) fn texts(self, name: &str) -> Vec<&'a str> {
        self.list(name).iter().filter_map(Value::as_str).collect()
    }

    pub(crate) fn schema(self, name: &str) -> Option<Self> {
        self.value(name).and_then(Self::of)
    }

    pub(crate) fn schemas(self, name: &str) -> impl Iterator<Item = Self> + use<'a> {
        self.list(name).iter().filter_map(Self::of)
    }

    /// The schemas of a map, such as `properties`, in the order of their names.
    pub(crate) fn named(self, name: &str) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        let map = self.value(name).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.as_str(), Self::of(value)?)))
    }

    pub(crate) fn type_name(self) -> &'a str {
        self.text("type")
    }

    pub(crate) fn properties(self) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        self.named("properties")
    }

    pub(crate) fn property(self, name: &str) -> Option<Self> {
        self.schema("properties")?.schema(name)
    }

    pub(crate) fn additional(self) -> Option<Additional<'a>> {
        match self.value("additionalProperties")? {
            Value::Bool(allowed) => Some(Additional::Allowed(*allowed)),
            Value::Object(schema) => Some(Additional::Each(Self(schema))),
            _ => None,
        }
    }

    pub(crate) fn items(self) -> Option<Items<'a>> {
        match self.value("items")? {
            Value::Object(schema) => Some(Items::Each(Self(schema))),
            Value::Array(_) => Some(Items::Places),
            _ => None,
        }
    }

    pub(crate) fn each_item(self) -> Option<Self> {
        match self.items()? {
            Items::Each(schema) => Some(schema),
            Items::Places => None,
        }
    }
}
