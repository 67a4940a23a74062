//! Reads tables of types: `package NAME`, then `type NAME [atomic]` with its fields indented.
//! A field is `NAME[?!*] SHAPE NUMBER [required] [set] [keys=] [atomic] [patch=] [in=] [go=]
//! [default=]`. The sign tells its [`Presence`]: `?` optional, `!` always, `*` nullable, none omits
//! empty values. `[x]` is a list of `x`, `{x}` a map; types of other packages have full names.

use std::collections::HashMap;

use super::{Embedding, Field, ListIdentity, ObjectType, PatchStrategy, Presence, Shape, TypeId};

/// A line of a table that cannot be understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} in {line:?}")]
pub struct TableError {
    problem: String,
    line: String,
}

/// The types of all the tables, in order.
pub(super) fn parse(tables: &[&str]) -> Result<Vec<ObjectType>, TableError> {
    let names = Names::collect(tables);
    let mut types: Vec<ObjectType> = Vec::with_capacity(names.places.len());
    for table in tables {
        let mut package = "";
        for line in table.lines() {
            if let Some(name) = line.strip_prefix("package ") {
                package = name;
            } else if let Some(rest) = line.strip_prefix("type ") {
                types.push(ObjectType {
                    name: full_name(package, first_word(rest)).into(),
                    fields: Vec::new(),
                    rest: None,
                });
            } else {
                let Some(open) = types.last_mut() else {
                    return Err(refuse("a field before any type".to_owned(), line));
                };
                let position = open.fields.len();
                let field = names.field(line, package, position);
                open.fields
                    .push(field.map_err(|problem| refuse(problem, line))?);
            }
        }
    }
    for object_type in &mut types {
        object_type
            .fields
            .sort_unstable_by(|one, other| one.name.cmp(&other.name));
        object_type.fields.shrink_to_fit();
    }
    Ok(types)
}

fn refuse(problem: String, line: &str) -> TableError {
    TableError {
        problem,
        line: line.to_owned(),
    }
}

/// Where each type will be, and whether it is one value.
struct Names {
    places: HashMap<String, Place>,
}

#[derive(Clone, Copy)]
struct Place {
    type_id: TypeId,
    atomic: bool,
}

impl Names {
    fn collect(tables: &[&str]) -> Self {
        let mut places = HashMap::new();
        let mut package = "";
        for line in tables.iter().flat_map(|table| table.lines()) {
            if let Some(name) = line.strip_prefix("package ") {
                package = name;
            } else if let Some(rest) = line.strip_prefix("type ") {
                let index = u32::try_from(places.len()).expect("a schema has far fewer types");
                let place = Place {
                    type_id: TypeId(index),
                    atomic: rest.ends_with(" atomic"),
                };
                places.insert(full_name(package, first_word(rest)), place);
            }
        }
        Self { places }
    }

    fn field(&self, line: &str, package: &str, position: usize) -> Result<Field, String> {
        let mut words = line.split_ascii_whitespace();
        let (name, presence) = parse_name(words.next().ok_or("no name")?);
        let shape = self.shape(words.next().ok_or("no shape")?, package)?;
        let mut field = Field {
            name: name.into(),
            shape,
            required: false,
            presence,
            patch: PatchStrategy::Default,
            position: u16::try_from(position).map_err(|_| "too many fields")?,
            number: parse_number(words.next().ok_or("no number")?)?,
            embedded: None,
            go_type: None,
            default: None,
        };
        words.try_for_each(|word| apply(&mut field, word))?;
        Ok(field)
    }

    fn shape(&self, word: &str, package: &str) -> Result<Shape, String> {
        if let Some(element) = enclosed(word, '[', ']') {
            return Ok(Shape::List {
                element: Box::new(self.shape(element, package)?),
                identity: ListIdentity::Atomic,
            });
        }
        if let Some(value) = enclosed(word, '{', '}') {
            return Ok(Shape::Map {
                value: Box::new(self.shape(value, package)?),
                atomic: false,
            });
        }
        let shape = match word {
            "string" => Shape::String,
            "bytes" => Shape::Bytes,
            "boolean" => Shape::Boolean,
            "int32" => Shape::Int32,
            "int64" => Shape::Int64,
            "number" => Shape::Number,
            "time" => Shape::Time,
            "micro-time" => Shape::MicroTime,
            "quantity" => Shape::Quantity,
            "int-or-string" => Shape::IntOrString,
            "any" => Shape::Any,
            name => return self.object(name, package),
        };
        Ok(shape)
    }

    fn object(&self, name: &str, package: &str) -> Result<Shape, String> {
        let found = if name.contains('.') {
            self.places.get(name)
        } else {
            self.places.get(&full_name(package, name))
        };
        let place = found.ok_or_else(|| format!("unknown type {name}"))?;
        Ok(Shape::Object {
            type_id: place.type_id,
            atomic: place.atomic,
        })
    }
}

fn apply(field: &mut Field, word: &str) -> Result<(), String> {
    match word.split_once('=').unwrap_or((word, "")) {
        ("required", _) => field.required = true,
        ("atomic", _) => set_atomic(&mut field.shape),
        ("set", _) => set_identity(&mut field.shape, ListIdentity::Set),
        ("keys", keys) => {
            let keys = keys.split(',').map(Into::into).collect();
            set_identity(&mut field.shape, ListIdentity::Keys(keys));
        }
        ("patch", strategy) => field.patch = parse_patch(strategy)?,
        ("in", embedded) => field.embedded = Some(Box::new(parse_embedding(embedded)?)),
        ("go", name) => field.go_type = Some(name.into()),
        ("default", value) => field.default = Some(value.into()),
        _ => return Err(format!("unknown word {word:?}")),
    }
    Ok(())
}

fn set_atomic(shape: &mut Shape) {
    if let Shape::Object { atomic, .. } | Shape::Map { atomic, .. } = shape {
        *atomic = true;
    }
}

fn set_identity(shape: &mut Shape, wanted: ListIdentity) {
    if let Shape::List { identity, .. } = shape {
        *identity = wanted;
    }
}

fn parse_name(word: &str) -> (&str, Presence) {
    let presence = match word.as_bytes().last() {
        Some(b'?') => Presence::Optional,
        Some(b'!') => Presence::Always,
        Some(b'*') => Presence::Nullable,
        _ => return (word, Presence::OmitEmpty),
    };
    (&word[..word.len() - 1], presence)
}

fn parse_number(word: &str) -> Result<Option<u32>, String> {
    match word {
        "-" => Ok(None),
        digits => match digits.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("{digits:?} is not a number")),
        },
    }
}

fn parse_patch(word: &str) -> Result<PatchStrategy, String> {
    let (strategy, key) = match word.split_once(':') {
        Some((strategy, key)) => (strategy, Some(key.into())),
        None => (word, None),
    };
    match strategy {
        "replace" => Ok(PatchStrategy::Replace),
        "retainKeys" => Ok(PatchStrategy::RetainKeys),
        "merge" | "merge,retainKeys" => Ok(PatchStrategy::Merge {
            key,
            retain_keys: strategy != "merge",
        }),
        _ => Err(format!("unknown patch strategy {strategy:?}")),
    }
}

/// `Outer:1/Inner:2`: the struct, its number, and the struct inside it.
fn parse_embedding(word: &str) -> Result<Embedding, String> {
    let (outer, inner) = match word.split_once('/') {
        Some((outer, inner)) => (outer, Some(Box::new(parse_embedding(inner)?))),
        None => (word, None),
    };
    let (name, number) = outer.split_once(':').unwrap_or((outer, "-"));
    Ok(Embedding {
        name: name.into(),
        number: parse_number(number)?,
        inner,
    })
}

fn enclosed(word: &str, open: char, close: char) -> Option<&str> {
    word.strip_prefix(open)?.strip_suffix(close)
}

fn full_name(package: &str, name: &str) -> String {
    format!("{package}.{name}")
}

fn first_word(text: &str) -> &str {
    text.split_once(' ').map_or(text, |(first, _)| first)
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::*;

    const META: &str = "package meta\ntype Labels atomic\n  all {string} 1\n";
    const CORE: &str = "\
package core
type Pod
  zone? string 7 required go=v1.Zone default=\"x\"
  labels! meta.Labels 1
  parts [Part] 2 keys=name,type patch=merge,retainKeys:name in=Body:4/Core:5
type Part
  name string 1
";

    fn schema() -> Schema {
        Schema::parse(&[CORE, META]).unwrap()
    }

    fn field<'a>(schema: &'a Schema, name: &str) -> &'a Field {
        let pod = schema.find("core.Pod").unwrap();
        schema.object_type(pod).field(name).unwrap()
    }

    #[test]
    fn fields_keep_their_place_though_they_are_sorted_by_name() {
        let schema = schema();
        let pod = schema.object_type(schema.find("core.Pod").unwrap());
        let places: Vec<(&str, u16)> = pod
            .fields
            .iter()
            .map(|field| (&*field.name, field.position))
            .collect();
        assert_eq!(places, [("labels", 1), ("parts", 2), ("zone", 0)]);
    }

    #[test]
    fn a_type_of_another_table_is_found_and_keeps_being_one_value() {
        let schema = schema();
        let type_id = schema.find("meta.Labels").unwrap();
        let expected = Shape::Object {
            type_id,
            atomic: true,
        };
        assert_eq!(field(&schema, "labels").shape, expected);
    }

    #[test]
    fn the_words_after_a_shape_are_read() {
        let schema = schema();
        let zone = field(&schema, "zone");
        assert!(zone.required);
        assert_eq!(zone.presence, Presence::Optional);
        assert_eq!(zone.number, Some(7));
        assert_eq!(zone.go_type.as_deref(), Some("v1.Zone"));
        assert_eq!(zone.default.as_deref(), Some("\"x\""));

        let parts = field(&schema, "parts");
        let Shape::List { identity, .. } = &parts.shape else {
            panic!("parts is a list");
        };
        let keys = vec!["name".into(), "type".into()];
        assert_eq!(*identity, ListIdentity::Keys(keys));
        let patch = PatchStrategy::Merge {
            key: Some("name".into()),
            retain_keys: true,
        };
        assert_eq!(parts.patch, patch);
        let embedding = parts.embedded.as_ref().unwrap();
        assert_eq!(embedding.path(), "Body.Core");
        let inner = embedding.inner.as_ref().unwrap();
        assert_eq!((embedding.number, inner.number), (Some(4), Some(5)));
    }

    #[test]
    fn an_unknown_type_is_named_with_its_line() {
        let error = Schema::parse(&["package a\ntype B\n  c D 1\n"]).unwrap_err();
        assert_eq!(error.to_string(), "unknown type D in \"  c D 1\"");
    }
}
