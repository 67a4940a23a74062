//! Protobuf held against what Kubernetes' own code writes: objects of every kind, recorded by the
//! program in `conformance/protobuf` with every field set, with none, and with odd values.

mod random_objects;
mod reading;
mod serving;

use std::{collections::BTreeSet, fs::File, io::BufReader, path::Path};

use flate2::bufread::GzDecoder;
use listwatch_api::{
    EventType,
    protobuf::{self, Envelope, Surroundings, TypeMeta},
    schema::{Field, Schema, Shape, TypeId},
};
use listwatch_server::registry::{Expected, Registry};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Deserializer, Value, value::RawValue};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const OBJECT_FILES: [&str; 3] = ["unset", "full", "edge"];

/// One object in both forms.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record<J = Value> {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    event: Option<String>,
    protobuf: String,
    pub(crate) json: J,
}

impl<J> Record<J> {
    pub(crate) fn message(&self) -> Vec<u8> {
        use base64::{Engine, engine::general_purpose::STANDARD};
        STANDARD
            .decode(&self.protobuf)
            .expect("messages are recorded as base64")
    }

    fn type_meta(&self) -> TypeMeta<'_> {
        TypeMeta {
            api_version: &self.api_version,
            kind: &self.kind,
        }
    }

    pub(crate) fn group_version(&self) -> (&str, &str) {
        self.api_version
            .split_once('/')
            .unwrap_or(("", &self.api_version))
    }

    fn event_type(&self) -> Option<EventType> {
        let types = [
            EventType::Added,
            EventType::Modified,
            EventType::Deleted,
            EventType::Bookmark,
            EventType::Error,
        ];
        let name = self.event.as_deref()?;
        let found = types.into_iter().find(|known| known.as_str() == name);
        Some(found.unwrap_or_else(|| panic!("no event is {name}")))
    }

    fn type_id(&self, registry: &Registry) -> TypeId {
        type_id(registry, &self.api_version, &self.kind)
    }
}

/// The type of a kind: beside those of the same version, or with what all versions share.
pub(crate) fn type_id(registry: &Registry, api_version: &str, kind: &str) -> TypeId {
    let schema = registry.schema();
    let wanted = api_version.split_once('/').unwrap_or(("", api_version));
    let neighbour = registry
        .definitions()
        .iter()
        .find(|definition| (&*definition.group, &*definition.version) == wanted);
    let beside = neighbour.and_then(|definition| {
        let name = &schema.object_type(definition.schema?).name;
        let (package, _) = name.rsplit_once('.')?;
        schema.find(&format!("{package}.{kind}"))
    });
    beside
        .or_else(|| schema.find(&format!("{META}.{kind}")))
        .unwrap_or_else(|| panic!("no type for {api_version} {kind}"))
}

/// The objects of one recording.
pub(crate) fn records(name: &str) -> Vec<Record> {
    read_records(name)
}

fn read_records<J: DeserializeOwned>(name: &str) -> Vec<Record<J>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/protobuf");
    let file = File::open(folder.join(format!("{name}.jsonl.gz"))).expect("the file is there");
    let text = GzDecoder::new(BufReader::new(file));
    let records = Deserializer::from_reader(text).into_iter();
    records
        .collect::<Result<_, _>>()
        .expect("every line is a record")
}

/// Go writes `null` for what is not set in fields without `omitempty`; the others leave it out.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(without_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

#[test]
fn every_object_is_read_as_kubernetes_reads_it() {
    let registry = Registry::builtin();
    for file in OBJECT_FILES {
        for mut record in records(file) {
            let message = record.message();
            let envelope = Envelope::parse(&message).unwrap();
            assert_eq!(
                (envelope.api_version, envelope.kind),
                (&*record.api_version, &*record.kind)
            );
            let type_id = record.type_id(&registry);
            let mut members = protobuf::decode(registry.schema(), type_id, envelope.raw).unwrap();
            members.insert("apiVersion".to_owned(), envelope.api_version.into());
            members.insert("kind".to_owned(), envelope.kind.into());
            let mut read = Value::Object(members);
            without_nulls(&mut read);
            without_nulls(&mut record.json);
            assert_eq!(
                read, record.json,
                "{file} {} {}",
                record.api_version, record.kind
            );
        }
    }
}

#[test]
fn a_body_in_protobuf_becomes_the_object_that_one_in_json_becomes() {
    let registry = Registry::builtin();
    for record in OBJECT_FILES.into_iter().flat_map(records) {
        let found = registry.definitions().iter().find(|definition| {
            let group_version = (&*definition.group, &*definition.version);
            group_version == record.group_version() && *definition.kind == *record.kind
        });
        let Some(definition) = found else {
            continue;
        };
        let expected = Expected::from(&**definition);
        let body = record.message();
        let mut from_protobuf = registry.parse_protobuf(expected, &body).unwrap();
        let mut from_json = record.json;
        for object in [&mut from_protobuf, &mut from_json] {
            let problems = registry.decode(expected, object, &body).unwrap();
            assert_eq!(problems, [], "{}", record.kind);
        }
        assert_eq!(from_protobuf, from_json);
    }
}

#[test]
fn every_object_is_written_byte_for_byte_as_kubernetes_writes_it() {
    let registry = Registry::builtin();
    for file in OBJECT_FILES {
        for record in records(file) {
            let type_id = record.type_id(&registry);
            let json = record.json.to_string();
            let message = protobuf::encode(registry.schema(), type_id, json.as_bytes()).unwrap();
            let body = Surroundings::of_object(record.type_meta(), message.len()).around(&message);
            let what = format!("{file} {} {}: {json}", record.api_version, record.kind);
            assert!(body == record.message(), "{what}");
        }
    }
}

#[test]
fn every_answer_of_a_kube_apiserver_is_written_byte_for_byte() {
    let registry = Registry::builtin();
    // As text, since the order of members is part of what owns which field.
    let answers: Vec<Record<Box<RawValue>>> = read_records("answers");
    let mut kinds = BTreeSet::new();
    for record in &answers {
        let type_id = record.type_id(&registry);
        let json = record.json.get();
        let message = protobuf::encode(registry.schema(), type_id, json.as_bytes()).unwrap();
        let around = match record.event_type() {
            Some(event) => Surroundings::of_event(event, record.type_meta(), message.len()),
            None => Surroundings::of_object(record.type_meta(), message.len()),
        };
        let what = format!("{:?} {} {json}", record.event, record.kind);
        assert!(around.around(&message) == record.message(), "{what}");
        kinds.insert(&*record.kind);
    }
    assert!(kinds.len() > 90, "{}", kinds.len());
}

#[test]
fn a_list_is_made_of_messages_that_are_encoded_already() {
    let registry = Registry::builtin();
    let schema = registry.schema();
    let list_meta = schema.find(&format!("{META}.ListMeta")).unwrap();
    let lists = OBJECT_FILES.into_iter().flat_map(records);
    for record in lists.filter(|record| record.json.get("items").is_some()) {
        let list = schema.object_type(record.type_id(&registry));
        let Shape::List { element, .. } = &list.field("items").unwrap().shape else {
            panic!("the items of {} are a list", list.name);
        };
        let Shape::Object { type_id, .. } = **element else {
            panic!("the items of {} are objects", list.name);
        };
        let encode = |type_id, value: &Value| {
            protobuf::encode(schema, type_id, value.to_string().as_bytes()).unwrap()
        };
        let items = record.json["items"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let mut encoded = Vec::new();
        for item in items {
            let message = encode(type_id, item);
            encoded.extend(protobuf::item_head(message.len()));
            encoded.extend(message);
        }
        let metadata = encode(list_meta, &record.json["metadata"]);
        let list = Surroundings::of_items(record.type_meta(), &metadata, encoded.len());
        assert!(list.around(&encoded) == record.message(), "{}", record.kind);
    }
}

#[test]
fn an_event_is_made_of_a_message_that_is_encoded_already() {
    let registry = Registry::builtin();
    for record in records("watch") {
        let json = record.json.to_string();
        let type_id = record.type_id(&registry);
        let message = protobuf::encode(registry.schema(), type_id, json.as_bytes()).unwrap();
        let event = record.event_type().expect("these are events");
        let frame = Surroundings::of_event(event, record.type_meta(), message.len());
        assert!(frame.around(&message) == record.message(), "{event}");
    }
}

/// Notes the fields that have a value, as `TYPE.FIELD`.
fn note_fields(schema: &Schema, shape: &Shape, value: &Value, noted: &mut BTreeSet<String>) {
    match (shape, value) {
        (Shape::Object { type_id, .. }, Value::Object(members)) => {
            let object_type = schema.object_type(*type_id);
            for (name, member) in members {
                let field = object_type.field(name).expect("the type has the field");
                noted.insert(format!("{}.{name}", object_type.name));
                note_fields(schema, &field.shape, member, noted);
            }
        }
        (Shape::List { element, .. }, Value::Array(elements)) => elements
            .iter()
            .for_each(|value| note_fields(schema, element, value, noted)),
        (Shape::Map { value: shape, .. }, Value::Object(members)) => members
            .values()
            .for_each(|value| note_fields(schema, shape, value, noted)),
        _ => {}
    }
}

#[test]
fn every_field_of_every_type_is_recorded() {
    let registry = Registry::builtin();
    let schema = registry.schema();
    let mut noted = BTreeSet::new();
    for record in records("full") {
        let type_id = record.type_id(&registry);
        let atomic = false;
        let shape = Shape::Object { type_id, atomic };
        note_fields(schema, &shape, &record.json, &mut noted);
    }
    let fields = schema.types().iter().flat_map(|object_type| {
        let named = |field: &Field| format!("{}.{}", object_type.name, field.name);
        object_type.fields.iter().map(named)
    });
    // Events are recorded as the frames of a stream.
    let fields = fields.filter(|name| !name.starts_with(&format!("{META}.WatchEvent.")));
    let missing: Vec<String> = fields.filter(|name| !noted.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_kind_its_list_and_its_subresources_are_recorded() {
    let registry = Registry::builtin();
    let schema = registry.schema();
    let recorded: BTreeSet<&str> = records("full")
        .iter()
        .map(|record| &*schema.object_type(record.type_id(&registry)).name)
        .collect();
    let mut wanted = BTreeSet::new();
    for definition in registry.definitions() {
        let below = definition.subresources.iter().map(|below| below.schema);
        for type_id in [definition.schema].into_iter().chain(below).flatten() {
            wanted.insert(schema.object_type(type_id).name.to_string());
        }
        let list = definition
            .schema
            .map(|type_id| format!("{}List", schema.object_type(type_id).name));
        wanted.extend(list.filter(|name| schema.find(name).is_some()));
    }
    wanted.extend(["DeleteOptions", "Status"].map(|name| format!("{META}.{name}")));
    let missing: Vec<&String> = wanted
        .iter()
        .filter(|name| !recorded.contains(&***name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
