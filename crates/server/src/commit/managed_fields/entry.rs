//! One owner and what it owns, in `metadata.managedFields` and out of it.

use std::fmt;

use jiff::Timestamp;
use listwatch_api::{field_set::FieldSet, go_text, timestamp};
use serde_json::{Value, json};

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
        Self::decode_about(entry, fields)
    }

    /// Reads an entry that this server wrote.
    pub(super) fn decode_stored(mut entry: Value) -> Option<Self> {
        let fields = entry.get_mut("fieldsV1").map(Value::take)?;
        Self::decode_about(&entry, Fields::Written(fields))
    }

    fn decode_about(entry: &Value, fields: Fields) -> Option<Self> {
        let text = |member: &str| entry.get(member).and_then(Value::as_str);
        let operation = match text("operation")? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        let api_version = text("apiVersion").filter(|version| !version.is_empty())?;
        text("fieldsType").filter(|form| *form == FIELDS_TYPE)?;
        let time = match text("time") {
            Some(time) => Some(timestamp::parse_seconds(time).ok()?),
            None => None,
        };
        Some(Self {
            manager: Manager {
                name: text("manager").unwrap_or_default().to_owned(),
                operation,
                api_version: api_version.to_owned(),
                subresource: text("subresource")
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned),
            },
            time,
            fields,
        })
    }

    /// Writes an entry.
    pub(super) fn encode(self) -> Value {
        let Manager {
            name,
            operation,
            api_version,
            subresource,
        } = self.manager;
        let mut entry = json!({
            "manager": name,
            "operation": operation.as_str(),
            "apiVersion": api_version,
            "fieldsType": FIELDS_TYPE,
        });
        entry["fieldsV1"] = self.fields.encode();
        if let Some(time) = self.time {
            entry["time"] = json!(timestamp::format_seconds(time));
        }
        if let Some(subresource) = subresource {
            entry["subresource"] = json!(subresource);
        }
        entry
    }

    /// The whole second of its time; entries without one are the oldest.
    pub(super) fn second(&self) -> i64 {
        self.time.map_or(0, Timestamp::as_second)
    }
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
        assert_eq!(Entry::decode(&entry).unwrap().encode(), entry);
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
