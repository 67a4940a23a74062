//! One version of one object, as a client received it.

use std::{collections::BTreeMap, fmt, sync::Arc};

use listwatch_api::ResourceVersion;
use serde_json::Value;

/// Fields beside name and namespace that selections may name, and what an absent one is.
const SELECTABLE_FIELDS: [(&str, &str); 2] =
    [("spec.unschedulable", "false"), ("status.phase", "")];

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// The mark of one write, different for each of a run. Content carries the mark of the write that
/// made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// One version of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// Which object.
    pub key: ObjectKey,
    /// The version it carries.
    pub version: ResourceVersion,
    /// Its uid: a new one for each object that ever had the name.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The mark of the write that made it, when a workload did.
    pub token: Option<Token>,
    /// All of it, as text with sorted members, but without `kind`, `apiVersion` and
    /// `resourceVersion`, in which a list item and an event of the same state differ.
    pub content: Arc<str>,
    fields: BTreeMap<&'static str, String>,
}

impl ObjectKey {
    /// The key of a name in a namespace.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl ObjectVersion {
    /// The annotation in which the workloads put the [`Token`].
    pub const TOKEN_ANNOTATION: &str = "token";

    /// Reads an object as it came from the server; says what is wrong with it otherwise.
    pub fn from_json(mut object: Value) -> Result<Self, String> {
        let text = |pointer: &str| {
            let value = object.pointer(pointer).and_then(Value::as_str);
            value.map(str::to_owned)
        };
        let required = |pointer: &str| {
            text(pointer).ok_or_else(|| format!("an object without {pointer}: {object}"))
        };
        let key = ObjectKey {
            namespace: text("/metadata/namespace").unwrap_or_default(),
            name: required("/metadata/name")?,
        };
        let version = parse_version(&required("/metadata/resourceVersion")?)?;
        let uid = required("/metadata/uid")?;
        let token = text(&format!("/metadata/annotations/{}", Self::TOKEN_ANNOTATION));
        let fields = SELECTABLE_FIELDS.map(|(field, absent)| {
            let value = object.pointer(&format!("/{}", field.replace('.', "/")));
            (field, value.map_or_else(|| absent.to_owned(), field_text))
        });
        let fields = fields.into();
        let labels = labels_of(&object);
        strip_what_differs_between_list_and_watch(&mut object);
        Ok(Self {
            key,
            version,
            uid,
            labels,
            token: token.and_then(|token| token.parse().ok()).map(Token),
            content: sorted_text(&object).into(),
            fields,
        })
    }

    /// The value of a field, as field selectors see it: empty where there is none.
    pub fn field(&self, path: &str) -> &str {
        match path {
            "metadata.name" => &self.key.name,
            "metadata.namespace" => &self.key.namespace,
            _ => self.fields.get(path).map_or("", String::as_str),
        }
    }

    /// Whether both are the same state of the same object, whatever version they carry.
    pub fn same_state(&self, other: &Self) -> bool {
        self.key == other.key && self.content == other.content
    }
}

/// Reads a version as the protocol writes it: decimal, positive, without leading zeros.
pub(crate) fn parse_version(text: &str) -> Result<ResourceVersion, String> {
    let well_formed = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| well_formed);
    number
        .map(ResourceVersion::new)
        .ok_or_else(|| format!("{text:?} is not a resourceVersion"))
}

/// A value as field selectors compare it.
fn field_text(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

fn labels_of(object: &Value) -> BTreeMap<String, String> {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    let pairs = labels.into_iter().flatten().filter_map(|(key, value)| {
        let value = value.as_str()?;
        Some((key.clone(), value.to_owned()))
    });
    pairs.collect()
}

fn strip_what_differs_between_list_and_watch(object: &mut Value) {
    if let Some(members) = object.as_object_mut() {
        members.remove("kind");
        members.remove("apiVersion");
    }
    if let Some(metadata) = object
        .pointer_mut("/metadata")
        .and_then(Value::as_object_mut)
    {
        metadata.remove("resourceVersion");
    }
}

fn sorted_text(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<_, _> = members.iter().collect();
            let texts: Vec<String> = sorted
                .into_iter()
                .map(|(name, value)| {
                    format!("{}:{}", Value::from(name.as_str()), sorted_text(value))
                })
                .collect();
            format!("{{{}}}", texts.join(","))
        }
        Value::Array(elements) => {
            let texts: Vec<String> = elements.iter().map(sorted_text).collect();
            format!("[{}]", texts.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Display for ObjectVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} @{}", self.key, self.version)?;
        if let Some(Token(token)) = self.token {
            write!(formatter, " (write {token})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(extra: Value) -> Value {
        let mut object = json!({"metadata": {
            "name": "x", "namespace": "a", "uid": "u", "resourceVersion": "7",
            "labels": {"color": "red"}, "annotations": {"token": "41"},
        }});
        for (name, value) in extra.as_object().unwrap() {
            object[name] = value.clone();
        }
        object
    }

    #[test]
    fn a_list_item_and_an_event_of_one_state_are_equal() {
        let item = ObjectVersion::from_json(seen(json!({"data": {"k": "1"}}))).unwrap();
        let event = json!({"kind": "ConfigMap", "apiVersion": "v1", "data": {"k": "1"}});
        assert_eq!(item, ObjectVersion::from_json(seen(event)).unwrap());
    }

    #[test]
    fn a_difference_anywhere_in_the_object_is_seen() {
        let first = ObjectVersion::from_json(seen(json!({"data": {"k": "1"}}))).unwrap();
        let second = ObjectVersion::from_json(seen(json!({"data": {"k": "2"}}))).unwrap();
        assert!(!first.same_state(&second));
    }

    #[test]
    fn marks_labels_and_fields_are_read_from_the_object() {
        let object =
            ObjectVersion::from_json(seen(json!({"status": {"phase": "Running"}}))).unwrap();
        assert_eq!(object.token, Some(Token(41)));
        assert_eq!(object.labels["color"], "red");
        assert_eq!(object.field("status.phase"), "Running");
        assert_eq!(object.field("metadata.namespace"), "a");
        assert_eq!(object.field("spec.unschedulable"), "false");
    }

    #[test]
    fn a_version_is_a_plain_positive_number() {
        assert_eq!(parse_version("12"), Ok(ResourceVersion::new(12)));
        for text in ["", "0", "012", "-1", "1.0", "18446744073709551616"] {
            assert!(parse_version(text).is_err(), "{text:?}");
        }
    }
}
