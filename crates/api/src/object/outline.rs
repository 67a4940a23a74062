//! A stored object of which only those members become a tree that somebody looks into.

use bytes::Bytes;
use serde::de::Error;
use serde_json::{Map, Value};

use super::{StoredObject, canonical, draft::Draft, parts::Members};

/// A stored object: its metadata and some members as a tree, the others as canonical text.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// `kind`, `apiVersion`, `metadata` without `managedFields`, and the members that were parsed.
    pub object: Value,
    /// The text of `metadata.managedFields`.
    pub managed_fields: Option<Bytes>,
    /// Names and texts of the members that were not parsed, sorted by name.
    pub untouched: Vec<(Box<str>, Bytes)>,
}

impl Outline {
    /// The outline of a stored object.
    pub fn of(stored: &StoredObject) -> Result<Self, serde_json::Error> {
        let (header, metadata, rest) = stored.sections();
        let mut object = Map::new();
        for (name, value) in Members::of(header) {
            object.insert(unescape(name)?, serde_json::from_str(value)?);
        }
        let (metadata, managed_fields) = outline_metadata(metadata)?;
        object.insert("metadata".to_owned(), Value::Object(metadata));
        let bytes = |part: &str| stored.value().slice_ref(part.as_bytes());
        let mut untouched = Vec::new();
        let mut members = Members::left(rest);
        for (name, value) in &mut members {
            untouched.push((unescape(name)?.into(), bytes(value)));
        }
        check_complete(&members)?;
        Ok(Self {
            object: Value::Object(object),
            managed_fields: managed_fields.map(bytes),
            untouched,
        })
    }

    /// Makes a member part of the tree, if there is one.
    pub fn parse(&mut self, name: &str) -> Result<(), serde_json::Error> {
        let Some(place) = self
            .untouched
            .iter()
            .position(|(known, _)| **known == *name)
        else {
            return Ok(());
        };
        let (name, text) = self.untouched.remove(place);
        let value: Value = serde_json::from_slice(&text)?;
        if let Value::Object(members) = &mut self.object {
            members.insert(name.into(), value);
        }
        Ok(())
    }

    /// Makes all members part of the tree.
    pub fn parse_all(&mut self) -> Result<(), serde_json::Error> {
        while let Some((name, _)) = self.untouched.last() {
            let name = name.clone();
            self.parse(&name)?;
        }
        Ok(())
    }

    /// The whole object as a tree.
    pub fn whole(&self) -> Result<Value, serde_json::Error> {
        let mut whole = self.clone();
        whole.parse_all()?;
        if let (Some(text), Some(metadata)) =
            (&self.managed_fields, whole.object.get_mut("metadata"))
        {
            metadata["managedFields"] = serde_json::from_slice(text)?;
        }
        Ok(whole.object)
    }

    /// Whether a member that was not parsed has this value.
    pub fn has_untouched(&self, name: &str, value: &Value) -> bool {
        let mut untouched = self.untouched.iter();
        let found = untouched.find(|(known, _)| **known == *name);
        found.is_some_and(|(_, text)| canonical::is_text_of(text, value))
    }

    /// Whether a member that was not parsed has this value, but for parts that the value leaves out
    /// and `may_be_missing` accepts, with their names and texts.
    pub fn has_untouched_but_for(
        &self,
        name: &str,
        value: &Value,
        may_be_missing: impl Fn(&str, &str) -> bool,
    ) -> bool {
        let mut untouched = self.untouched.iter();
        let found = untouched.find(|(known, _)| **known == *name);
        let text = found.and_then(|(_, text)| std::str::from_utf8(text).ok());
        match (text, value) {
            (Some(text), Value::Object(parts)) => {
                canonical::is_text_but_for(text, parts, may_be_missing)
            }
            _ => false,
        }
    }
}

impl From<Outline> for Draft {
    fn from(outline: Outline) -> Self {
        Self {
            object: outline.object,
            managed_fields: outline.managed_fields,
            untouched: outline.untouched,
        }
    }
}

/// The metadata as a tree, and the text of `managedFields`, which is not in it.
fn outline_metadata(text: &str) -> Result<(Map<String, Value>, Option<&str>), serde_json::Error> {
    let (mut metadata, mut managed_fields) = (Map::new(), None);
    let mut members = Members::of(text);
    for (name, value) in &mut members {
        if name == "managedFields" {
            managed_fields = Some(value);
        } else {
            metadata.insert(unescape(name)?, serde_json::from_str(value)?);
        }
    }
    check_complete(&members)?;
    Ok((metadata, managed_fields))
}

/// The name that stands between quotes.
fn unescape(name: &str) -> Result<String, serde_json::Error> {
    match name.contains('\\') {
        false => Ok(name.to_owned()),
        true => serde_json::from_str(&format!("\"{name}\"")),
    }
}

fn check_complete(members: &Members<'_>) -> Result<(), serde_json::Error> {
    match members.is_complete() {
        true => Ok(()),
        false => Err(serde_json::Error::custom("not canonical JSON")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::to_canonical;

    fn stored() -> (Value, StoredObject) {
        let object = json!({
            "kind": "Pod", "apiVersion": "v1", "status": {"a": "\u{e9}<"}, "spec": {"b": [1]},
            "metadata": {"name": "n", "managedFields": [{"manager": "m"}], "labels": {"a": "b"}},
        });
        let stored = StoredObject::scan(to_canonical(&object).into(), &[]).unwrap();
        (object, stored)
    }

    #[test]
    fn members_become_a_tree_when_they_are_parsed() {
        let (whole, stored) = stored();
        let mut outline = Outline::of(&stored).unwrap();
        assert_eq!(outline.object["spec"], Value::Null);
        outline.parse("spec").unwrap();
        assert_eq!(outline.object["spec"], whole["spec"]);
        assert_eq!(
            outline.managed_fields.as_deref(),
            Some(&br#"[{"manager":"m"}]"#[..])
        );
        assert!(outline.has_untouched("status", &whole["status"]));
        assert!(!outline.has_untouched("status", &json!({})));
        assert!(!outline.has_untouched("spec", &whole["spec"]));
        assert_eq!(outline.whole().unwrap(), whole);
        outline.parse("nothing").unwrap();
        outline.parse_all().unwrap();
        assert!(outline.untouched.is_empty());
        assert_eq!(outline.object["status"], whole["status"]);
    }

    #[test]
    fn a_member_may_be_the_same_but_for_what_is_left_out() {
        let object = json!({"metadata": {}, "spec": {"a": 1, "b": "\u{e9}<", "c": {"d": []}}});
        let stored = StoredObject::scan(to_canonical(&object).into(), &[]).unwrap();
        let outline = Outline::of(&stored).unwrap();
        let is_same_but_for = |missing: &'static [(&str, &str)], value: Value| {
            let may_be_missing = |name: &str, text: &str| missing.contains(&(name, text));
            outline.has_untouched_but_for("spec", &value, may_be_missing)
        };
        let whole = &object["spec"];
        assert!(is_same_but_for(&[], whole.clone()));
        assert!(is_same_but_for(&[("a", "1")], whole.clone()));
        let without_a = json!({"b": "\u{e9}<", "c": {"d": []}});
        assert!(is_same_but_for(&[("a", "1")], without_a.clone()));
        assert!(!is_same_but_for(
            &[("a", "2"), ("b", "1")],
            without_a.clone()
        ));
        assert!(!is_same_but_for(&[], without_a));
        assert!(is_same_but_for(
            &[("c", r#"{"d":[]}"#)],
            json!({"a": 1, "b": "\u{e9}<"})
        ));
        let with_more = json!({"a": 1, "b": "\u{e9}<", "c": {"d": []}, "e": 1});
        assert!(!is_same_but_for(&[("a", "1")], with_more));
        let with_other = json!({"a": 2, "b": "\u{e9}<", "c": {"d": []}});
        assert!(!is_same_but_for(&[("a", "1")], with_other));
        assert!(!outline.has_untouched_but_for("metadata", &json!({}), |_, _| true));
        assert!(!outline.has_untouched_but_for("spec", &json!(1), |_, _| true));
    }

    #[test]
    fn an_outline_is_written_back_as_it_was() {
        let (_, stored) = stored();
        for parsed in [None, Some("spec"), Some("status")] {
            let mut outline = Outline::of(&stored).unwrap();
            parsed.iter().for_each(|name| outline.parse(name).unwrap());
            assert_eq!(Draft::from(outline).encode().value(), stored.value());
        }
    }

    #[test]
    fn an_object_without_anything_has_an_outline() {
        for text in [r#"{"metadata":{}}"#, r#"{"kind":"Pod","metadata":{}}"#] {
            let stored = StoredObject::scan(Bytes::from_static(text.as_bytes()), &[]).unwrap();
            let outline = Outline::of(&stored).unwrap();
            assert_eq!(outline.whole().unwrap().to_string(), text);
        }
    }
}
