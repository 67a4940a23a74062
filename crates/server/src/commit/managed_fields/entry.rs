//! One owner and what it owns, in `metadata.managedFields` and out of it.

use std::{borrow::Cow, fmt};

use jiff::Timestamp;
use listwatch_api::{
    field_set::FieldSet,
    go_text,
    object::{Members, append_escaped, unquote},
    timestamp,
};
use serde_json::Value;

use super::fields::Fields;

/// The only form of sets of fields.
const FIELDS_TYPE: &str = "FieldsV1";

/// Bytes that the name of a manager may have; the rest of a user agent is cut off.
const NAME_BYTES_MAX: usize = 128;

/// The name of a writer that says neither who it is nor what it runs.
const UNKNOWN: &str = "unknown";

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    /// It stated the fields that it wants to have.
    Apply,
    /// It changed them.
    Update,
}

/// Who owns fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) operation: Operation,
    /// The version in which the fields are told.
    pub(super) api_version: String,
    /// The part of the object through which it wrote.
    pub(super) subresource: Option<String>,
}

/// One owner and what it owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) manager: Manager,
    /// When it last changed a field.
    pub(super) time: Option<Timestamp>,
    pub(super) fields: Fields,
}

/// An entry as it is written. What is absent is empty.
#[derive(Default)]
struct Written<'a> {
    manager: Cow<'a, str>,
    operation: Cow<'a, str>,
    api_version: Cow<'a, str>,
    fields_type: Cow<'a, str>,
    subresource: Cow<'a, str>,
    time: Option<Cow<'a, str>>,
}

impl<'a> Written<'a> {
    /// What an entry says beside its fields.
    fn about(entry: &'a Value) -> Self {
        let text = |member| entry.get(member).and_then(Value::as_str).map(Cow::Borrowed);
        Self {
            manager: text("manager").unwrap_or_default(),
            operation: text("operation").unwrap_or_default(),
            api_version: text("apiVersion").unwrap_or_default(),
            fields_type: text("fieldsType").unwrap_or_default(),
            subresource: text("subresource").unwrap_or_default(),
            time: text("time"),
        }
    }
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl Manager {
    /// Whether this is the same owner, who may have changed to another version when applying.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.name == other.name
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }
}

/// As messages name an owner.
impl fmt::Display for Manager {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&go_text::quote(&self.name))?;
        if let Some(subresource) = &self.subresource {
            write!(
                formatter,
                " with subresource {}",
                go_text::quote(subresource)
            )?;
        }
        match self.operation {
            Operation::Apply => Ok(()),
            Operation::Update => write!(formatter, " using {}", self.api_version),
        }
    }
}

impl Entry {
    /// Reads an entry that a client sent; `None` when it breaks the rules.
    pub(super) fn decode(entry: &Value) -> Option<Self> {
        let fields = entry.get("fieldsV1").unwrap_or(&Value::Null);
        let fields = Fields::Read(FieldSet::from_fields_v1(fields).ok()?);
        Self::decode_about(&Written::about(entry), fields)
    }

    /// Reads an entry that this server wrote.
    pub(super) fn decode_stored(entry: &str) -> Option<Self> {
        let mut written = Written::default();
        let mut fields = None;
        for (name, value) in Members::of(entry) {
            match name {
                "fieldsV1" => fields = Some(Fields::Written(value.into())),
                _ if value == "null" => {}
                "manager" => written.manager = unquote(value)?,
                "operation" => written.operation = unquote(value)?,
                "apiVersion" => written.api_version = unquote(value)?,
                "fieldsType" => written.fields_type = unquote(value)?,
                "subresource" => written.subresource = unquote(value)?,
                "time" => written.time = Some(unquote(value)?),
                _ => {}
            }
        }
        Self::decode_about(&written, fields?)
    }

    fn decode_about(written: &Written<'_>, fields: Fields) -> Option<Self> {
        let operation = match &*written.operation {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        if written.api_version.is_empty() || written.fields_type != FIELDS_TYPE {
            return None;
        }
        let time = match &written.time {
            Some(time) => Some(timestamp::parse_seconds(time).ok()?),
            None => None,
        };
        let subresource = (!written.subresource.is_empty()).then_some(&*written.subresource);
        Some(Self {
            manager: Manager {
                name: written.manager.clone().into_owned(),
                operation,
                api_version: written.api_version.clone().into_owned(),
                subresource: subresource.map(str::to_owned),
            },
            time,
            fields,
        })
    }

    /// Appends the entry in its stored form: canonical JSON.
    pub(super) fn append(&self, text: &mut Vec<u8>) {
        let manager = &self.manager;
        append_member("{", "apiVersion", &manager.api_version, text);
        append_member(",", "fieldsType", FIELDS_TYPE, text);
        text.extend_from_slice(b",\"fieldsV1\":");
        self.fields.append(text);
        append_member(",", "manager", &manager.name, text);
        append_member(",", "operation", manager.operation.as_str(), text);
        if let Some(subresource) = &manager.subresource {
            append_member(",", "subresource", subresource, text);
        }
        if let Some(time) = self.time {
            append_member(",", "time", &timestamp::format_seconds(time), text);
        }
        text.push(b'}');
    }

    /// The whole second of its time; entries without one are the oldest.
    pub(super) fn second(&self) -> i64 {
        self.time.map_or(0, Timestamp::as_second)
    }
}

fn append_member(before: &str, name: &str, value: &str, text: &mut Vec<u8>) {
    for part in [before, "\"", name, "\":\""] {
        text.extend_from_slice(part.as_bytes());
    }
    append_escaped(value, text);
    text.push(b'"');
}

/// The name of a writer: what it calls itself, or the program that its user agent begins with.
pub(crate) fn manager_name(field_manager: Option<&str>, user_agent: Option<&str>) -> String {
    if let Some(name) = field_manager {
        return name.to_owned();
    }
    let program = user_agent.and_then(|agent| agent.split('/').next());
    let mut name = String::new();
    for letter in program.unwrap_or_default().chars() {
        if letter.is_control() {
            continue;
        }
        if name.len() + letter.len_utf8() > NAME_BYTES_MAX {
            break;
        }
        name.push(letter);
    }
    if name.is_empty() {
        UNKNOWN.to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn writers_are_named_by_themselves_or_by_their_program() {
        assert_eq!(manager_name(Some("me"), Some("kubectl/1.2")), "me");
        let agent = "kubectl/v1.37.0 (linux/amd64)";
        assert_eq!(manager_name(None, Some(agent)), "kubectl");
        assert_eq!(manager_name(None, Some("curl")), "curl");
        assert_eq!(manager_name(None, Some("/x")), "unknown");
        assert_eq!(manager_name(None, None), "unknown");
        let long = "é".repeat(100);
        assert_eq!(manager_name(None, Some(&long)), "é".repeat(64));
    }

    #[test]
    fn entries_read_back_as_they_are_written() {
        let entry = json!({
            "manager": "m", "operation": "Apply", "apiVersion": "v1", "subresource": "status",
            "time": "2026-11-15T08:11:39Z", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:status": {"f:phase": {}}},
        });
        let mut text = Vec::new();
        Entry::decode(&entry).unwrap().append(&mut text);
        assert_eq!(text, entry.to_string().as_bytes());
        let text = std::str::from_utf8(&text).unwrap();
        assert_eq!(Entry::decode_stored(text), Entry::decode(&entry));
    }

    #[test]
    fn entries_that_break_the_rules_are_not_read() {
        let entry = json!({
            "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {},
        });
        assert!(Entry::decode(&entry).is_some());
        for (member, value) in [
            ("operation", "Patch"),
            ("apiVersion", ""),
            ("fieldsType", "FieldsV2"),
            ("time", "yesterday"),
        ] {
            let mut broken = entry.clone();
            broken[member] = json!(value);
            assert_eq!(Entry::decode(&broken), None, "{member}");
        }
    }
}
