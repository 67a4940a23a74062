//! What strangers may send, thrown at every decoder.
//!
//! Each function takes any bytes. It must return: no panic, no endless work. Where something was
//! understood, what comes out of it must hold together.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use listwatch::{
    RawObject,
    wire::{DroppedFields, LabelPool, Lines, ListParser, WatchFrame, read_frame},
};
use listwatch_api::{
    ContinueToken, GetOptions, ListOptions, Query, ResourceVersion, WatchOptions, cbor, json,
    object::{Header, StoredObject, to_canonical},
    patch::{Patch, PatchFormat},
    selector::{FieldSelector, LabelSelector},
    write_options::{DeleteOptions, WriteOptions},
    yaml,
};
use listwatch_cel::{Bindings, Budget, CompileError, Environment, Sizes, Type};
use listwatch_server::registry::{Expected, Registry};
use listwatch_store::{
    EmbeddedOptions, EmbeddedStore, WallClock,
    disk::{Disk, simulated::SimulatedDisk},
};
use serde_json::Value;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// A body: decoded, held against a kind, kept, scanned and given out again.
pub fn decode_object(input: &[u8]) {
    let _ = yaml::decode(input);
    let Ok(document) = json::decode(input) else {
        return;
    };
    for (group, resource) in [("", "configmaps"), ("", "pods"), ("apps", "deployments")] {
        let mut object = document.value.clone();
        let definition = REGISTRY.find(group, "v1", resource);
        let definition = definition.expect("the kind is built in");
        let decoded = REGISTRY.decode(Expected::from(&*definition), &mut object, input);
        if decoded.is_ok() {
            keep_and_give_out(&object);
        }
    }
}

fn keep_and_give_out(object: &Value) {
    let Ok(stored) = StoredObject::scan(to_canonical(object).into(), &[]) else {
        // Only parts longer than their offsets can say are refused.
        assert!(to_canonical(object).len() > usize::from(u16::MAX));
        return;
    };
    let mut given = Vec::new();
    stored.append(Header::Stored, ResourceVersion::new(7), &mut given);
    let given: Value = serde_json::from_slice(&given).expect("what is given out is JSON");
    assert_eq!(given["metadata"]["resourceVersion"], "7");
}

/// An expression of a rule or policy: refused with a reason, or evaluated within its budget.
pub fn expression(input: &[u8]) {
    const LIMIT: u64 = 10_000;
    let Ok(source) = std::str::from_utf8(input) else {
        return;
    };
    let data = serde_json::json!({"name": "web", "items": ["a", "b"], "replicas": 3});
    let environment = Environment::kubernetes().with_variable("object", Type::Dyn);
    let program = match environment.compile(source) {
        Ok(program) => program,
        Err(CompileError::Invalid { issues, .. }) => return assert!(!issues.is_empty()),
        Err(CompileError::Failing(why)) => return assert!(!why.is_empty()),
    };
    let estimate = program.estimate(Sizes::Variables(&[]));
    assert!(estimate.min <= estimate.max);
    let bindings = Bindings::new().with("object", listwatch_cel::Value::dynamic(&data));
    let mut budget = Budget::new(LIMIT);
    if program.evaluate(&bindings, &mut budget).is_ok() {
        assert!(budget.spent() <= LIMIT);
    }
}

/// The parameters of a request.
pub fn list_query(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let split = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.to_owned(), value.to_owned())
    };
    let pairs: Vec<(String, String)> = text.split('&').map(split).collect();
    let query = Query::new(&pairs);
    let _ = GetOptions::parse(query);
    let _ = ListOptions::parse(query);
    let _ = WatchOptions::parse(query);
    let _ = WriteOptions::create(query);
    let _ = DeleteOptions::from_query(query);
    let _ = query.timeout();
}

/// Selectors: what was understood is understood again when written back.
pub fn selector(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(parsed) = LabelSelector::parse(&text) {
        let again = LabelSelector::parse(&parsed.to_string());
        assert_eq!(again.as_ref(), Ok(&parsed), "{text:?}");
    }
    if let Ok(parsed) = FieldSelector::parse(&text) {
        let again = FieldSelector::parse(&parsed.to_string());
        assert_eq!(again.as_ref(), Ok(&parsed), "{text:?}");
    }
}

/// Continue tokens, also forged ones.
pub fn continue_token(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(token) = ContinueToken::decode(&text) {
        let again = ContinueToken::decode(&token.encode());
        assert_eq!(again.as_ref(), Ok(&token), "{text:?}");
        assert!(!token.start.split('/').any(|part| part == ".."), "{text:?}");
    }
}

/// Patches of all kinds on one pod: the first byte chooses.
pub fn patch(input: &[u8]) {
    let Some((choice, body)) = input.split_first() else {
        return;
    };
    let format = match choice % 3 {
        0 => PatchFormat::Json,
        1 => PatchFormat::Merge,
        _ => PatchFormat::StrategicMerge,
    };
    let Ok(decoded) = Patch::decode(format, body) else {
        return;
    };
    let pods = REGISTRY.find("", "v1", "pods").expect("pods are built in");
    let type_id = pods.schema.expect("pods have a schema");
    let _ = decoded.patch.apply(pod(), REGISTRY.schema(), type_id);
}

fn pod() -> Value {
    serde_json::json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "labels": {"a": "b"}, "finalizers": ["x.io/a", "x.io/b"]},
        "spec": {"containers": [
            {"name": "a", "image": "i", "ports": [{"containerPort": 80, "protocol": "TCP"}]},
            {"name": "b", "env": [{"name": "E", "value": "1"}]},
        ]},
    })
}

/// Protobuf bodies.
pub fn protobuf(input: &[u8]) {
    for (group, resource) in [("", "pods"), ("apps", "deployments"), ("", "secrets")] {
        let definition = REGISTRY.find(group, "v1", resource);
        let definition = definition.expect("the kind is built in");
        let _ = REGISTRY.parse_protobuf(Expected::from(&*definition), input);
    }
}

/// CBOR bodies: what was understood is understood again when written back.
pub fn cbor(input: &[u8]) {
    let length = cbor::item_length(input);
    assert!(length.is_ok_and(|length| length <= input.len()) || cbor::decode(input).is_err());
    let Ok(value) = cbor::decode(input) else {
        return;
    };
    let item = cbor::encode(value.to_string().as_bytes(), cbor::Typing::Untyped);
    let item = item.expect("a value is JSON");
    assert_eq!(cbor::decode(&cbor::document(&item)), Ok(value));
}

/// A directory in which one file has been replaced by any bytes: the store opens or says why not.
pub fn log_recovery(input: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.expect("a runtime can be made").block_on(async {
        let disk = Arc::new(SimulatedDisk::new(1));
        drop(open(&disk).await.expect("an empty disk is opened"));
        let names = disk.names();
        let chosen = usize::from(input.first().copied().unwrap_or_default()) % names.len();
        disk.replace(&names[chosen], input.to_vec());
        disk.restart();
        let _ = open(&disk).await;
    });
}

async fn open(disk: &Arc<SimulatedDisk>) -> Result<EmbeddedStore, listwatch_store::OpenError> {
    let disk: Arc<dyn Disk> = Arc::clone(disk) as Arc<dyn Disk>;
    EmbeddedStore::open(disk, WallClock::system(), EmbeddedOptions::default()).await
}

/// The body of a list: read the same whether it comes in one piece or in two. The first byte says
/// where it is cut.
pub fn list_body(input: &[u8]) {
    let (first, second) = cut(input);
    let whole = read_list(&[&[first, second].concat()]);
    assert_eq!(read_list(&[first, second]), whole);
}

fn read_list(pieces: &[&[u8]]) -> String {
    let mut parser = ListParser::default();
    let mut labels = LabelPool::default();
    let mut items = Vec::new();
    for piece in pieces {
        match parser.push(Bytes::copy_from_slice(piece), &mut labels) {
            Ok(found) => items.extend(found),
            Err(error) => return error.to_string(),
        }
    }
    items.iter().flatten().for_each(is_what_it_says);
    match parser.finish() {
        Ok(end) => format!("{items:?} {end:?}"),
        Err(error) => error.to_string(),
    }
}

/// A watch: read the same whether it comes in one piece or in two. The first byte says where it is
/// cut.
pub fn watch_frames(input: &[u8]) {
    let (first, second) = cut(input);
    let whole = read_frames(&[&[first, second].concat()]);
    assert_eq!(read_frames(&[first, second]), whole);
}

fn read_frames(pieces: &[&[u8]]) -> String {
    use listwatch::RawEvent::{Added, Deleted, Modified};
    let mut lines = Lines::default();
    let mut labels = LabelPool::default();
    let mut frames = Vec::new();
    for piece in pieces {
        lines.push(Bytes::copy_from_slice(piece));
        while let Ok(Some(line)) = lines.next_line() {
            frames.push(read_frame(line, &mut labels));
        }
    }
    for frame in &frames {
        if let WatchFrame::Event(Added(object) | Modified(object) | Deleted(object)) = frame {
            is_what_it_says(object);
        }
    }
    format!("{frames:?} {}", lines.is_complete())
}

fn cut(input: &[u8]) -> (&[u8], &[u8]) {
    let (place, body) = input.split_first().unwrap_or((&0, &[]));
    body.split_at(usize::from(*place).min(body.len()))
}

/// Where the body is JSON, its header is what a JSON library finds.
fn is_what_it_says(object: &RawObject) {
    let Ok(body) = serde_json::from_slice::<Value>(&object.body) else {
        return;
    };
    let metadata = &body["metadata"];
    assert_eq!(metadata["resourceVersion"], object.version.to_string());
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    let name = metadata["name"].as_str().unwrap_or_default();
    assert_eq!(object.key, listwatch::ObjectKey::new(Some(namespace), name));
    for (name, value) in object.labels.iter() {
        assert_eq!(metadata["labels"][name], value);
    }
}

/// An object without some fields: still JSON, and without them.
pub fn dropped_fields(input: &[u8]) {
    let fields = DroppedFields::new(["metadata.managedFields", "spec.a", "status"]);
    let left = fields.drop_from(input);
    if serde_json::from_slice::<serde_json::Map<String, Value>>(input).is_err() {
        return;
    }
    let left = left.expect("an object can be copied");
    let left: Value = serde_json::from_slice(&left).expect("what is left is JSON");
    assert_eq!(left.get("status"), None);
    assert_eq!(left["metadata"].get("managedFields"), None);
    assert_eq!(left["spec"].get("a"), None);
}

#[cfg(test)]
mod tests;
