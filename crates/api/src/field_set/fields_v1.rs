//! The form in which sets of fields are sent and stored: FieldsV1.

use serde_json::{Map, Value};

use super::{Branch, FieldSet, Node, Step};

/// The key that stands for a field itself, beside those for what is below it.
const SELF: &str = ".";

/// Text that is no set of fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no set of fields: {0}")]
pub struct FieldsError(String);

impl FieldSet {
    /// Reads FieldsV1. Kinds of steps that are not known are left out.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, FieldsError> {
        match fields {
            Value::Null => Ok(Self::default()),
            Value::Object(members) => Ok(read(members)?.below),
            other => Err(FieldsError(other.to_string())),
        }
    }

    /// Writes FieldsV1.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(self.members().collect())
    }

    /// Whether a field of this set is in a set that [`Self::to_fields_v1`] wrote.
    pub fn intersects_written(&self, fields: &Value) -> bool {
        self.nodes.iter().any(|node| {
            fields.get(node.step.to_key()).is_some_and(|found| {
                (node.branch.is_member && is_member(found))
                    || node.branch.below.intersects_written(found)
            })
        })
    }

    /// Whether all fields of this set are in a set that [`Self::to_fields_v1`] wrote.
    pub fn is_within_written(&self, fields: &Value) -> bool {
        self.nodes.iter().all(|node| {
            fields.get(node.step.to_key()).is_some_and(|found| {
                (!node.branch.is_member || is_member(found))
                    && node.branch.below.is_within_written(found)
            })
        })
    }

    fn members(&self) -> impl Iterator<Item = (String, Value)> {
        self.nodes
            .iter()
            .map(|node| (node.step.to_key(), write(&node.branch)))
    }
}

/// A field with nothing below it is in the set, whether it says so or not.
fn read(members: &Map<String, Value>) -> Result<Branch, FieldsError> {
    let mut says_so = false;
    let mut nodes = Vec::with_capacity(members.len());
    for (key, value) in members {
        if key == SELF {
            says_so = true;
            continue;
        }
        let Some(step) = Step::parse(key).map_err(FieldsError)? else {
            continue;
        };
        let Value::Object(members) = value else {
            return Err(FieldsError(format!("{key:?} leads to {value}")));
        };
        let branch = read(members)?;
        nodes.push(Node { step, branch });
    }
    let below = FieldSet::of_nodes(nodes);
    let is_member = says_so || below.is_empty();
    Ok(Branch { is_member, below })
}

fn is_member(written: &Value) -> bool {
    written
        .as_object()
        .is_some_and(|members| members.is_empty() || members.contains_key(SELF))
}

fn write(branch: &Branch) -> Value {
    let itself = branch.is_member && !branch.below.is_empty();
    let itself = itself.then(|| (SELF.to_owned(), Value::Object(Map::new())));
    Value::Object(itself.into_iter().chain(branch.below.members()).collect())
}
