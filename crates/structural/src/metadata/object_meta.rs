//! The fields of `metadata`, and what each of them may hold.

use listwatch_api::json::type_word;
use listwatch_api::timestamp;
use serde_json::{Map, Value};

use super::Malformed;

/// What a field holds, named as Go names it.
#[derive(Clone, Copy)]
enum Holds {
    Text,
    Integer,
    Flag,
    Time,
    Texts,
    TextMap,
    Anything,
    /// A list of objects of one type.
    Records(&'static Record),
}

struct Record {
    go_name: &'static str,
    fields: &'static [(&'static str, Holds)],
}

const METADATA: Record = Record {
    go_name: "ObjectMeta",
    fields: &[
        ("name", Holds::Text),
        ("generateName", Holds::Text),
        ("namespace", Holds::Text),
        ("selfLink", Holds::Text),
        ("uid", Holds::Text),
        ("resourceVersion", Holds::Text),
        ("generation", Holds::Integer),
        ("creationTimestamp", Holds::Time),
        ("deletionTimestamp", Holds::Time),
        ("deletionGracePeriodSeconds", Holds::Integer),
        ("labels", Holds::TextMap),
        ("annotations", Holds::TextMap),
        ("ownerReferences", Holds::Records(&OWNER)),
        ("finalizers", Holds::Texts),
        ("managedFields", Holds::Records(&MANAGED_FIELDS)),
    ],
};

static OWNER: Record = Record {
    go_name: "OwnerReference",
    fields: &[
        ("apiVersion", Holds::Text),
        ("kind", Holds::Text),
        ("name", Holds::Text),
        ("uid", Holds::Text),
        ("controller", Holds::Flag),
        ("blockOwnerDeletion", Holds::Flag),
    ],
};

static MANAGED_FIELDS: Record = Record {
    go_name: "ManagedFieldsEntry",
    fields: &[
        ("manager", Holds::Text),
        ("operation", Holds::Text),
        ("apiVersion", Holds::Text),
        ("time", Holds::Time),
        ("fieldsType", Holds::Text),
        ("fieldsV1", Holds::Anything),
        ("subresource", Holds::Text),
    ],
};

/// Brings one `metadata` into shape: unknown and empty fields go, malformed ones as told. Gives the
/// names of the unknown fields.
pub fn coerce_metadata(metadata: &mut Value, malformed: Malformed) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    let members = match metadata {
        Value::Object(members) => members,
        Value::Null => {
            *metadata = Value::Object(Map::new());
            return Ok(unknown);
        }
        other if malformed == Malformed::Refused => {
            let found = type_word(other);
            return Err(format!(
                "json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"
            ));
        }
        _ => return Ok(unknown),
    };
    let mut problem = None;
    members.retain(|name, value| {
        let Some(holds) = METADATA.field(name) else {
            unknown.push(name.clone());
            return false;
        };
        match holds.check(&METADATA, name, value, &mut unknown) {
            Ok(()) => !is_empty(value),
            Err(found) => {
                if malformed == Malformed::Refused {
                    problem.get_or_insert(found);
                }
                malformed == Malformed::Refused
            }
        }
    });
    match problem {
        Some(problem) => Err(problem),
        None => Ok(unknown),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}

impl Record {
    fn field(&self, name: &str) -> Option<Holds> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(known, _)| *known == name);
        found.map(|(_, holds)| *holds)
    }
}

impl Holds {
    fn go_type(self) -> String {
        match self {
            Self::Text => "string".to_owned(),
            Self::Integer => "int64".to_owned(),
            Self::Flag => "bool".to_owned(),
            Self::Time => "v1.Time".to_owned(),
            Self::Texts => "[]string".to_owned(),
            Self::TextMap => "map[string]string".to_owned(),
            Self::Anything => "v1.FieldsV1".to_owned(),
            Self::Records(record) => format!("[]v1.{}", record.go_name),
        }
    }

    fn check(
        self,
        owner: &Record,
        name: &str,
        value: &mut Value,
        unknown: &mut Vec<String>,
    ) -> Result<(), String> {
        let wrong = |found: &Value, wanted: &str| {
            let found = type_word(found);
            let owner = owner.go_name;
            Err(format!(
                "json: cannot unmarshal {found} into Go struct field {owner}.{name} of type \
                 {wanted}"
            ))
        };
        match (self, &mut *value) {
            (_, Value::Null)
            | (Self::Anything, _)
            | (Self::Text, Value::String(_))
            | (Self::Flag, Value::Bool(_)) => Ok(()),
            (Self::Integer, Value::Number(number)) if number.is_i64() => Ok(()),
            (Self::Integer, Value::Number(number)) => Err(format!(
                "json: cannot unmarshal number {number} into Go struct field {}.{name} of type \
                 int64",
                owner.go_name
            )),
            (Self::Time, Value::String(text)) => match timestamp::parse_seconds(text) {
                Ok(_) => Ok(()),
                Err(error) => Err(error.to_string()),
            },
            (Self::Texts, Value::Array(list)) => {
                match list
                    .iter()
                    .find(|value| !value.is_string() && !value.is_null())
                {
                    Some(value) => wrong(value, "string"),
                    None => Ok(()),
                }
            }
            (Self::TextMap, Value::Object(members)) => {
                let mut values = members.values();
                match values.find(|value| !value.is_string() && !value.is_null()) {
                    Some(value) => wrong(value, "string"),
                    None => Ok(()),
                }
            }
            (Self::Records(record), Value::Array(list)) => {
                let mut numbered = list.iter_mut().enumerate();
                numbered.try_for_each(|(index, element)| {
                    let prefix = format!("{name}[{index}]");
                    record.check_element(&prefix, element, unknown)
                })
            }
            (holds, found) => wrong(found, &holds.go_type()),
        }
    }
}

impl Record {
    fn check_element(
        &self,
        prefix: &str,
        element: &mut Value,
        unknown: &mut Vec<String>,
    ) -> Result<(), String> {
        let members = match element {
            Value::Object(members) => members,
            Value::Null => return Ok(()),
            other => {
                let found = type_word(other);
                let wanted = self.go_name;
                return Err(format!(
                    "json: cannot unmarshal {found} into Go value of type v1.{wanted}"
                ));
            }
        };
        let mut problem = None;
        members.retain(|name, value| match self.field(name) {
            None => {
                unknown.push(format!("{prefix}.{name}"));
                false
            }
            Some(holds) => {
                if let Err(found) = holds.check(self, name, value, unknown) {
                    problem.get_or_insert(found);
                }
                true
            }
        });
        problem.map_or(Ok(()), Err)
    }
}
