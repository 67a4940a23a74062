//! An object on its way to the store.

use bytes::Bytes;
use serde_json::Value;

use super::{StoredObject, canonical};

/// An object that is to be stored: a tree, and the parts of it that are canonical text already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// The object but for the other parts.
    pub object: Value,
    /// `metadata.managedFields`, if it is not in the tree.
    pub managed_fields: Option<Bytes>,
    /// Names and values of further members, sorted by name. None of them is in the tree.
    pub untouched: Vec<(Box<str>, Bytes)>,
}

impl Draft {
    /// The object in canonical bytes, without its labels and selectable fields being found.
    ///
    /// # Panics
    /// If its kind and version do not fit into 64 KiB, or all of it not into 4 GiB.
    pub fn encode(&self) -> StoredObject {
        let (value, layout) = canonical::encode_draft(self);
        StoredObject::laid_out(value, &layout).expect("an object is far shorter than its offsets")
    }
}

impl From<Value> for Draft {
    fn from(object: Value) -> Self {
        Self {
            object,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ResourceVersion, object::Header};

    fn draft(object: Value, managed_fields: Option<&str>, untouched: &[(&str, &str)]) -> Draft {
        let untouched = untouched
            .iter()
            .map(|(name, text)| ((*name).into(), Bytes::copy_from_slice(text.as_bytes())));
        Draft {
            object,
            managed_fields: managed_fields.map(|text| Bytes::copy_from_slice(text.as_bytes())),
            untouched: untouched.collect(),
        }
    }

    #[test]
    fn known_text_stands_where_a_tree_would_be_written() {
        let whole = json!({
            "kind": "Pod", "apiVersion": "v1", "status": {"a": 1}, "data": 1, "spec": [], "x": null,
            "metadata": {"name": "n", "uid": "u", "managedFields": [{"b": {}}], "zeta": 1},
        });
        let parts = draft(
            json!({
                "kind": "Pod", "apiVersion": "v1", "spec": [],
                "metadata": {"name": "n", "uid": "u", "zeta": 1},
            }),
            Some(r#"[{"b":{}}]"#),
            &[("data", "1"), ("status", r#"{"a":1}"#), ("x", "null")],
        );
        assert_eq!(*parts.encode().value(), super::super::to_canonical(&whole));
    }

    #[test]
    fn the_places_are_those_that_a_scan_finds() {
        for object in [
            json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "n", "uid": "u"}}),
            json!({"metadata": {"labels": {"a": "b"}}, "spec": 1}),
            json!({"metadata": {}}),
            json!({"kind": "Pod"}),
        ] {
            let encoded = Draft::from(object).encode();
            let scanned = StoredObject::scan(encoded.value().clone(), &[]).unwrap();
            let version = ResourceVersion::new(7);
            for header in [Header::Stored, Header::Omitted] {
                let (mut ours, mut theirs) = (Vec::new(), Vec::new());
                encoded.append(header, version, &mut ours);
                scanned.append(header, version, &mut theirs);
                assert_eq!(ours, theirs);
            }
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            encoded.append_metadata_only(b"\"x\":1", version, &mut ours);
            scanned.append_metadata_only(b"\"x\":1", version, &mut theirs);
            assert_eq!(ours, theirs);
        }
    }
}
