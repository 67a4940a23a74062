//! The form in which sets of fields are sent and stored: FieldsV1.

use serde_json::{Map, Value};

use super::{Branch, FieldSet, Node, Step, written};

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

    /// Reads the text of FieldsV1.
    pub fn from_fields_v1_text(text: &str) -> Result<Self, FieldsError> {
        let fields = serde_json::from_str(text).map_err(|error| FieldsError(error.to_string()))?;
        Self::from_fields_v1(&fields)
    }

    /// Writes FieldsV1: canonical JSON.
    pub fn to_fields_v1(&self) -> String {
        let mut text = Vec::with_capacity(512);
        self.append_fields_v1(&mut text);
        String::from_utf8(text).expect("JSON is written as UTF-8")
    }

    /// Whether a field of this set is in a set that [`Self::to_fields_v1`] wrote.
    pub fn intersects_written(&self, fields: &str) -> bool {
        self.nodes.iter().any(|node| {
            written::find(fields, &node.step).is_some_and(|found| {
                (node.branch.is_member && written::is_member(found))
                    || node.branch.below.intersects_written(found)
            })
        })
    }

    /// Whether all fields of this set are in a set that [`Self::to_fields_v1`] wrote.
    pub fn is_within_written(&self, fields: &str) -> bool {
        self.nodes.iter().all(|node| {
            written::find(fields, &node.step).is_some_and(|found| {
                (!node.branch.is_member || written::is_member(found))
                    && node.branch.below.is_within_written(found)
            })
        })
    }

    /// Appends what [`Self::to_fields_v1`] writes.
    pub fn append_fields_v1(&self, text: &mut Vec<u8>) {
        text.push(b'{');
        self.append_members(text);
        text.push(b'}');
    }

    /// Appends the members sorted by their keys. Indexes, which sort last as steps, come between
    /// fields and others, as text.
    fn append_members(&self, text: &mut Vec<u8>) {
        let is_field = |node: &Node| matches!(node.step, Step::Field(_));
        let is_no_index = |node: &Node| !matches!(node.step, Step::Index(_));
        let (rest, indexes) = self.nodes.split_at(self.nodes.partition_point(is_no_index));
        let (fields, others) = rest.split_at(rest.partition_point(is_field));
        let mut indexes: Vec<&Node> = indexes.iter().collect();
        indexes.sort_by_cached_key(|node| node.step.to_key());
        let sorted = fields.iter().chain(indexes).chain(others);
        for (place, node) in sorted.enumerate() {
            if place > 0 {
                text.push(b',');
            }
            node.append(text);
        }
    }
}

impl Node {
    fn append(&self, text: &mut Vec<u8>) {
        self.step.append_key(text);
        let Branch { is_member, below } = &self.branch;
        match *is_member && !below.is_empty() {
            true => {
                text.extend_from_slice(b":{\".\":{},");
                below.append_members(text);
                text.push(b'}');
            }
            false => {
                text.push(b':');
                below.append_fields_v1(text);
            }
        }
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
