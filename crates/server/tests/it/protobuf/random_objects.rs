//! Objects of every kind with random fields, from JSON to protobuf and back.

use listwatch_api::{
    protobuf,
    schema::{Field, Schema, Shape, TypeId},
};
use listwatch_server::{random::Random, registry::Registry};
use serde_json::{Map, Value, json};

/// Objects of each kind.
const TURNS: u64 = 6;
/// How deep objects may be within each other.
const DEPTH_MAX: usize = 12;

struct Inventor<'a> {
    schema: &'a Schema,
    random: Random,
}

impl Inventor<'_> {
    fn happens(&self, one_in: usize) -> bool {
        self.random.below(one_in) == 0
    }

    fn object(&self, type_id: TypeId, depth: usize) -> Value {
        let fields = &self.schema.object_type(type_id).fields;
        let written = fields.iter().filter(|field| {
            field.number.is_some() && !["kind", "apiVersion"].contains(&&*field.name)
        });
        let mut members = Map::new();
        for field in written {
            if depth < DEPTH_MAX && !self.happens(1 + depth / 3) || self.happens(3) {
                members.insert(field.name.to_string(), self.field(field, depth));
            }
        }
        members.into()
    }

    fn field(&self, field: &Field, depth: usize) -> Value {
        match field.go_type.as_deref() {
            Some("v1.JSONSchemaPropsOrArray") => json!([{"type": "object"}]),
            Some("v1.JSONSchemaPropsOrBool") => json!(true),
            Some("v1.JSONSchemaDependencies") => json!({"a": ["b"]}),
            _ => self.value(&field.shape, depth),
        }
    }

    fn value(&self, shape: &Shape, depth: usize) -> Value {
        let number = 1 + self.random.below(1_000);
        match shape {
            Shape::String => json!(format!("t\u{e9}\"{number}")),
            Shape::Bytes => json!("AP8="),
            Shape::Boolean => json!(true),
            Shape::Int32 | Shape::Int64 if self.happens(2) => json!(-(number as i64)),
            Shape::Int32 | Shape::Int64 => json!(number),
            Shape::Number => json!(number as f64 + 0.25),
            Shape::Time => json!("2026-01-02T03:04:05Z"),
            Shape::MicroTime => json!("2026-01-02T03:04:05.000006Z"),
            Shape::Quantity => json!(format!("{number}m")),
            Shape::IntOrString if self.happens(2) => json!("50%"),
            Shape::IntOrString => json!(number),
            Shape::Any | Shape::Deduced => json!({"any": [number, null, "x"]}),
            Shape::Object { .. } if depth > DEPTH_MAX => json!({}),
            Shape::Object { type_id, .. } => self.object(*type_id, depth + 1),
            Shape::List { element, .. } => {
                let count = 1 + self.random.below(2);
                (0..count).map(|_| self.value(element, depth + 1)).collect()
            }
            Shape::Map { value, .. } => {
                let entry = |number| (format!("k{number}"), self.value(value, depth + 1));
                (0..1 + self.random.below(2)).map(entry).collect()
            }
        }
    }
}

/// Whether all of one value is in the other.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part.iter().all(|(name, value)| {
            let found = whole.get(name);
            found.is_some_and(|found| contains(found, value))
        }),
        (Value::Array(whole), Value::Array(part)) => {
            let mut both = whole.iter().zip(part);
            whole.len() == part.len() && both.all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}

#[test]
fn an_object_of_any_kind_comes_back_from_protobuf_as_it_went() {
    let registry = Registry::builtin();
    let schema = registry.schema();
    for definition in registry.definitions() {
        let type_id = definition.schema.expect("built-in kinds have a shape");
        for turn in 0..TURNS {
            let random = Random::seeded(turn);
            let object = Inventor { schema, random }.object(type_id, 0);
            let encode = |object: &Value| {
                protobuf::encode(schema, type_id, object.to_string().as_bytes()).unwrap()
            };
            let message = encode(&object);
            let read = Value::from(protobuf::decode(schema, type_id, &message).unwrap());
            let what = format!("{} of turn {turn}: {object} became {read}", definition.kind);
            assert!(contains(&read, &object), "{what}");
            assert!(encode(&read) == message, "{what}");
        }
    }
}
