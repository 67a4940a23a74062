//! Copies an object without some of its fields, in one pass.

use std::collections::BTreeMap;

use super::{
    cursor::{Cursor, Next},
    header::Malformed,
};

/// Fields that are left out of every object, by their paths.
///
/// A path names members from the outside in, with dots between them: `metadata.managedFields`. A
/// dot inside a name is written `\.`, and a backslash `\\`. Where there is an array on the way, the
/// path goes on in each object in it: `spec.containers.env`.
#[derive(Clone, Debug, Default)]
pub struct DroppedFields {
    members: BTreeMap<Vec<u8>, Dropped>,
}

#[derive(Clone, Debug)]
enum Dropped {
    /// All of the member.
    Whole,
    /// Something inside it.
    Inside(DroppedFields),
}

impl DroppedFields {
    /// The fields at these paths.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut fields = Self::default();
        for path in paths {
            fields.insert(&names(path));
        }
        fields
    }

    fn insert(&mut self, path: &[Vec<u8>]) {
        let Some((name, inner)) = path.split_first() else {
            return;
        };
        if inner.is_empty() {
            self.members.insert(name.clone(), Dropped::Whole);
            return;
        }
        let inside = || Dropped::Inside(Self::default());
        match self.members.entry(name.clone()).or_insert_with(inside) {
            Dropped::Inside(fields) => fields.insert(inner),
            Dropped::Whole => {}
        }
    }

    /// The object without these fields. What it keeps is kept as it is written.
    pub fn drop_from(&self, object: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut kept = Vec::with_capacity(object.len());
        let mut cursor = Cursor::new(object);
        self.copy_object(&mut cursor, &mut kept)?;
        match cursor.peek() {
            None => Ok(kept),
            Some(_) => Err(Malformed::new("something follows the object")),
        }
    }

    fn copy_object(&self, cursor: &mut Cursor<'_>, kept: &mut Vec<u8>) -> Result<(), Malformed> {
        let mut next = cursor.open(b'{', b'}')?;
        kept.push(b'{');
        let begin = kept.len();
        while next == Next::Another {
            cursor.peek();
            let member = cursor.position();
            let name = cursor.name()?;
            match self.members.get(&*name) {
                Some(Dropped::Whole) => cursor.skip()?,
                Some(Dropped::Inside(fields)) => {
                    separate(kept, begin);
                    kept.extend_from_slice(cursor.since(member));
                    fields.copy_value(cursor, kept)?;
                }
                None => {
                    cursor.skip()?;
                    separate(kept, begin);
                    kept.extend_from_slice(cursor.since(member));
                }
            }
            next = cursor.more(b'}')?;
        }
        kept.push(b'}');
        Ok(())
    }

    fn copy_value(&self, cursor: &mut Cursor<'_>, kept: &mut Vec<u8>) -> Result<(), Malformed> {
        match cursor.peek() {
            Some(b'{') => self.copy_object(cursor, kept),
            Some(b'[') => self.copy_array(cursor, kept),
            Some(_) | None => copy_whole(cursor, kept),
        }
    }

    /// Arrays in the array are copied whole, so that the paths alone say how deep this goes.
    fn copy_array(&self, cursor: &mut Cursor<'_>, kept: &mut Vec<u8>) -> Result<(), Malformed> {
        let mut next = cursor.open(b'[', b']')?;
        kept.push(b'[');
        let begin = kept.len();
        while next == Next::Another {
            separate(kept, begin);
            match cursor.peek() {
                Some(b'{') => self.copy_object(cursor, kept)?,
                Some(_) | None => copy_whole(cursor, kept)?,
            }
            next = cursor.more(b']')?;
        }
        kept.push(b']');
        Ok(())
    }
}

fn copy_whole(cursor: &mut Cursor<'_>, kept: &mut Vec<u8>) -> Result<(), Malformed> {
    let begin = cursor.position();
    cursor.skip()?;
    kept.extend_from_slice(cursor.since(begin));
    Ok(())
}

/// A comma, unless nothing stands behind the opening bracket yet.
fn separate(kept: &mut Vec<u8>, begin: usize) {
    if kept.len() > begin {
        kept.push(b',');
    }
}

fn names(path: &str) -> Vec<Vec<u8>> {
    let mut names = vec![Vec::new()];
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'.' => {
                names.push(Vec::new());
                continue;
            }
            b'\\' => bytes.next().unwrap_or(byte),
            byte => byte,
        };
        names.last_mut().expect("there is always one").push(byte);
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn dropped(paths: &[&str], object: &str) -> String {
        let fields = DroppedFields::new(paths.iter().copied());
        String::from_utf8(fields.drop_from(object.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn fields_are_dropped_wherever_they_stand() {
        let object = r#"{"a":1,"b":{"c":"}","d":[2],"e":null},"f":true}"#;
        let cases: [(&[&str], &str); 8] = [
            (&["a"], r#"{"b":{"c":"}","d":[2],"e":null},"f":true}"#),
            (&["f"], r#"{"a":1,"b":{"c":"}","d":[2],"e":null}}"#),
            (&["b"], r#"{"a":1,"f":true}"#),
            (&["b.c", "b.e"], r#"{"a":1,"b":{"d":[2]},"f":true}"#),
            (&["b.c", "b.d", "b.e", "f"], r#"{"a":1,"b":{}}"#),
            (&["b.c", "b"], r#"{"a":1,"f":true}"#),
            (&["b", "b.c"], r#"{"a":1,"f":true}"#),
            (&["x", "a.x", "b.x", "b.c.x", "b.d.x", ""], object),
        ];
        for (paths, expected) in cases {
            assert_eq!(dropped(paths, object), expected, "{paths:?}");
        }
    }

    #[test]
    fn names_with_dots_and_escapes_are_found() {
        let object = r#"{"metadata":{"annotations":{"a.b/c":"{\"x\":1}","d":"e","\u0066":"g"}}}"#;
        assert_eq!(
            dropped(
                &[r"metadata.annotations.a\.b/c", "metadata.annotations.f"],
                object
            ),
            r#"{"metadata":{"annotations":{"d":"e"}}}"#
        );
        assert_eq!(dropped(&[r"a\\b"], r#"{"a\\b":1,"c":2}"#), r#"{"c":2}"#);
    }

    #[test]
    fn a_path_goes_on_in_each_object_of_an_array() {
        let object = r#"{"c":[{"name":"x","env":[1]}, 7, [{"env":2}],{"env":3}],"d":[]}"#;
        let expected = r#"{"c":[{"name":"x"},7,[{"env":2}],{}],"d":[]}"#;
        assert_eq!(dropped(&["c.env", "d.env"], object), expected);
    }

    #[test]
    fn white_space_and_depth_are_no_danger() {
        let spaced = " { \"a\" : 1 , \"b\" : { \"c\" : 2 } } ";
        assert_eq!(dropped(&["a"], spaced), r#"{"b" : { "c" : 2 }}"#);
        let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(dropped(&["a.b.c"], &deep), deep);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let fields = DroppedFields::new(["a.b"]);
        for object in [
            "",
            "[]",
            r#"{"a":{"b":1}"#,
            r#"{"a":{"b":}}"#,
            "{} {}",
            r#"{"a""#,
        ] {
            assert!(fields.drop_from(object.as_bytes()).is_err(), "{object}");
        }
    }

    proptest! {
        #[test]
        fn what_is_left_is_what_a_json_library_leaves(
            outer in prop::collection::btree_map("[a-e\"\\\\]", "\\PC*", 0..5),
            inner in prop::collection::btree_map("[a-e.\"\\\\]", any::<Option<i32>>(), 0..5),
        ) {
            let mut object = json!(outer);
            object["inner"] = json!(inner);
            let paths = ["a", "inner.b", r"inner.\.", r"inner.\\", "inner.\""];
            let left = dropped(&paths, &object.to_string());
            let members = object.as_object_mut().unwrap();
            members.remove("a");
            let inner = members["inner"].as_object_mut().unwrap();
            for name in ["b", ".", "\\", "\""] {
                inner.remove(name);
            }
            let left: Value = serde_json::from_str(&left).unwrap();
            prop_assert_eq!(left, object);
        }
    }
}
