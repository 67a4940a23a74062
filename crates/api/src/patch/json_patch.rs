//! JSON patches, RFC 6902, with bounds on what their operations may cost.

use serde_json::Value;

use super::{MANAGED_FIELDS, Reach};
use crate::json;
use crate::status::Status;

#[cfg(test)]
mod tests;

/// Operations that one patch may have; more are refused with 413.
const OPERATIONS_MAX: usize = 10_000;
/// Bytes that all copies of one patch may add, as JSON; the rest of the patch is refused.
const COPIED_BYTES_MAX: usize = 3 * 1_024 * 1_024;
/// Values that one patch may move about, which takes a tenth of a second. The rest of the patch is
/// refused.
const MOVED_VALUES_MAX: usize = 20_000_000;
/// Nesting that a patch may build, as deep as bodies may be. A deeper value is refused, since
/// whatever walks it would run out of stack.
const DEPTH_MAX: usize = 127;

/// A list of operations.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operation {
    Add {
        path: Pointer,
        value: Value,
    },
    Remove {
        path: Pointer,
    },
    Replace {
        path: Pointer,
        value: Value,
    },
    Move {
        from: Pointer,
        path: Pointer,
    },
    Copy {
        from: Pointer,
        path: Pointer,
    },
    Test {
        path: Pointer,
        value: Value,
    },
    /// An operation nobody knows, or one without its path; it fails when its turn comes.
    Impossible,
}

/// The way to a value: the names and indexes between slashes.
#[derive(Clone, Debug, PartialEq)]
struct Pointer(Vec<String>);

/// The operation cannot be done to this object.
struct Failed;

impl JsonPatch {
    /// Reads the operations.
    pub(super) fn from_value(value: &Value) -> Result<Self, Status> {
        let list = match value {
            Value::Array(list) => list.as_slice(),
            // Go reads null as a list of nothing, and below as an operation that says nothing.
            Value::Null => &[],
            other => {
                return Err(undecodable(&format!(
                    "json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
                    json::type_word(other)
                )));
            }
        };
        let operations = list
            .iter()
            .map(Operation::from_value)
            .collect::<Result<Vec<_>, _>>()?;
        if operations.len() > OPERATIONS_MAX {
            return Err(Status::request_entity_too_large(&format!(
                "The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {}",
                operations.len()
            )));
        }
        Ok(Self { operations })
    }

    /// How far into an object the operations look.
    pub(super) fn reach(&self) -> Reach<'_> {
        let mut members = Vec::new();
        for pointer in self.operations.iter().flat_map(Operation::pointers) {
            let steps: Vec<&str> = pointer.0.iter().map(String::as_str).collect();
            match steps[..] {
                [] | ["metadata"] | ["metadata", MANAGED_FIELDS, ..] => return Reach::Everything,
                [member, ..] => members.push(member),
            }
        }
        Reach::Members(members)
    }

    /// What the operations make of `object`.
    pub(super) fn apply(&self, object: Value) -> Result<Value, Status> {
        let mut editor = Editor {
            document: object,
            copied_bytes_left: COPIED_BYTES_MAX,
            moved_values_left: MOVED_VALUES_MAX,
        };
        for operation in &self.operations {
            editor
                .apply(operation)
                .map_err(|Failed| Status::unprocessable())?;
        }
        Ok(editor.document)
    }
}

impl Operation {
    fn pointers(&self) -> impl Iterator<Item = &Pointer> {
        let pointers = match self {
            Self::Add { path, .. }
            | Self::Remove { path }
            | Self::Replace { path, .. }
            | Self::Test { path, .. } => [Some(path), None],
            Self::Move { from, path } | Self::Copy { from, path } => [Some(from), Some(path)],
            Self::Impossible => [None, None],
        };
        pointers.into_iter().flatten()
    }

    fn from_value(value: &Value) -> Result<Self, Status> {
        if value.is_null() {
            return Ok(Self::Impossible);
        }
        if !value.is_object() {
            return Err(undecodable(&format!(
                "json: cannot unmarshal {} into Go value of type handlers.jsonPatchOp",
                json::type_word(value)
            )));
        }
        let name = text_field(value, "op")?.unwrap_or_default();
        let path = text_field(value, "path")?.and_then(Pointer::parse);
        let from = text_field(value, "from")?.and_then(Pointer::parse);
        let given = || value.get("value").cloned();
        let operation = match (name, path) {
            ("add", Some(path)) => Some(Self::Add {
                path,
                value: given().unwrap_or(Value::Null),
            }),
            ("remove", Some(path)) => Some(Self::Remove { path }),
            ("replace", Some(path)) => given().map(|value| Self::Replace { path, value }),
            ("move", Some(path)) => from.map(|from| Self::Move { from, path }),
            ("copy", Some(path)) => from.map(|from| Self::Copy { from, path }),
            ("test", Some(path)) => Some(Self::Test {
                path,
                value: given().unwrap_or(Value::Null),
            }),
            _ => None,
        };
        Ok(operation.unwrap_or(Self::Impossible))
    }
}

fn text_field<'a>(value: &'a Value, name: &str) -> Result<Option<&'a str>, Status> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(undecodable(&format!(
            "json: cannot unmarshal {} into Go struct field jsonPatchOp.{name} of type string",
            json::type_word(other)
        ))),
    }
}

fn undecodable(error: &str) -> Status {
    Status::bad_request(format!("error decoding patch: {error}"))
}

impl Pointer {
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(Vec::new()));
        }
        let segments = text.strip_prefix('/')?.split('/');
        Some(Self(
            segments
                .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
                .collect(),
        ))
    }

    fn split_last(&self) -> Result<(&[String], &str), Failed> {
        let (last, parents) = self.0.split_last().ok_or(Failed)?;
        Ok((parents, last))
    }

    fn is_inside(&self, other: &Self) -> bool {
        self.0.len() > other.0.len() && self.0.starts_with(&other.0)
    }
}

struct Editor {
    document: Value,
    copied_bytes_left: usize,
    moved_values_left: usize,
}

impl Editor {
    fn apply(&mut self, operation: &Operation) -> Result<(), Failed> {
        match operation {
            Operation::Add { path, value } => self.add(path, value.clone()),
            Operation::Remove { path } => self.remove(path).map(drop),
            Operation::Replace { path, value } => self.replace(path, value.clone()),
            Operation::Move { from, path } if path.is_inside(from) => Err(Failed),
            Operation::Move { from, path } => {
                let value = self.remove(from)?;
                self.add(path, value)
            }
            Operation::Copy { from, path } => {
                let value = find(&self.document, &from.0)?.clone();
                self.spend_copy(&value)?;
                self.add(path, value)
            }
            Operation::Test { path, value } => self.test(path, value),
            Operation::Impossible => Err(Failed),
        }
    }

    fn add(&mut self, path: &Pointer, value: Value) -> Result<(), Failed> {
        self.check_depth(path, &value)?;
        if path.0.is_empty() {
            self.document = value;
            return Ok(());
        }
        let (parents, last) = path.split_last()?;
        match find_mut(&mut self.document, parents)? {
            Value::Object(fields) => {
                fields.insert(last.to_owned(), value);
            }
            Value::Array(elements) => {
                let index = match last {
                    "-" => elements.len(),
                    last => index_within(last, elements.len() + 1)?,
                };
                spend(&mut self.moved_values_left, elements.len() - index)?;
                elements.insert(index, value);
            }
            _ => return Err(Failed),
        }
        Ok(())
    }

    /// A field that is not there is added, as Kubernetes does against the standard.
    fn replace(&mut self, path: &Pointer, value: Value) -> Result<(), Failed> {
        let is_field = match path.split_last() {
            Ok((parents, _)) => find(&self.document, parents)?.is_object(),
            Err(Failed) => true,
        };
        if is_field {
            return self.add(path, value);
        }
        self.check_depth(path, &value)?;
        *find_mut(&mut self.document, &path.0)? = value;
        Ok(())
    }

    fn remove(&mut self, path: &Pointer) -> Result<Value, Failed> {
        let (parents, last) = path.split_last()?;
        match find_mut(&mut self.document, parents)? {
            Value::Object(fields) => fields.remove(last).ok_or(Failed),
            Value::Array(elements) => {
                let index = index_within(last, elements.len())?;
                spend(&mut self.moved_values_left, elements.len() - index)?;
                Ok(elements.remove(index))
            }
            _ => Err(Failed),
        }
    }

    /// A missing field equals null, as it does in Kubernetes.
    fn test(&self, path: &Pointer, expected: &Value) -> Result<(), Failed> {
        let found = match path.split_last() {
            Err(Failed) => &self.document,
            Ok((parents, last)) => match find(&self.document, parents)? {
                Value::Object(fields) => fields.get(last).unwrap_or(&Value::Null),
                list => find(list, std::slice::from_ref(&last.to_owned()))?,
            },
        };
        if found == expected {
            Ok(())
        } else {
            Err(Failed)
        }
    }

    fn check_depth(&mut self, path: &Pointer, value: &Value) -> Result<(), Failed> {
        let depth = path.0.len() + depth_of(value, &mut self.moved_values_left)?;
        if depth <= DEPTH_MAX {
            Ok(())
        } else {
            Err(Failed)
        }
    }

    fn spend_copy(&mut self, value: &Value) -> Result<(), Failed> {
        spend(&mut self.copied_bytes_left, value.to_string().len())
    }
}

fn spend(left: &mut usize, cost: usize) -> Result<(), Failed> {
    *left = left.checked_sub(cost).ok_or(Failed)?;
    Ok(())
}

fn depth_of(value: &Value, moved_values_left: &mut usize) -> Result<usize, Failed> {
    spend(moved_values_left, 1)?;
    let mut deepest = 0;
    match value {
        Value::Array(elements) => {
            for element in elements {
                deepest = deepest.max(depth_of(element, moved_values_left)?);
            }
        }
        Value::Object(fields) => {
            for field in fields.values() {
                deepest = deepest.max(depth_of(field, moved_values_left)?);
            }
        }
        _ => return Ok(0),
    }
    Ok(deepest + 1)
}

fn find<'a>(document: &'a Value, path: &[String]) -> Result<&'a Value, Failed> {
    path.iter()
        .try_fold(document, |value, segment| match value {
            Value::Object(fields) => fields.get(segment).ok_or(Failed),
            Value::Array(elements) => Ok(&elements[index_within(segment, elements.len())?]),
            _ => Err(Failed),
        })
}

fn find_mut<'a>(document: &'a mut Value, path: &[String]) -> Result<&'a mut Value, Failed> {
    path.iter()
        .try_fold(document, |value, segment| match value {
            Value::Object(fields) => fields.get_mut(segment).ok_or(Failed),
            Value::Array(elements) => {
                let index = index_within(segment, elements.len())?;
                Ok(&mut elements[index])
            }
            _ => Err(Failed),
        })
}

/// The index as a place in a list of this length; negative ones count from the end.
fn index_within(segment: &str, length: usize) -> Result<usize, Failed> {
    let index: isize = segment.parse().map_err(|_| Failed)?;
    let index = if index < 0 {
        length.checked_sub(index.unsigned_abs()).ok_or(Failed)?
    } else {
        index.unsigned_abs()
    };
    if index < length {
        Ok(index)
    } else {
        Err(Failed)
    }
}
