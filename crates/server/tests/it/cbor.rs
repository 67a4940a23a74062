//! CBOR held against what Kubernetes' own code writes: objects of every kind with every field set,
//! recorded by the program in `conformance/cbor`.

mod serving;

use std::{fs::File, io::BufReader, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::bufread::GzDecoder;
use listwatch_api::cbor::{self, Typing};
use listwatch_server::registry::Registry;
use serde::Deserialize;
use serde_json::Deserializer;

use crate::protobuf::{records, type_id};

/// One object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    api_version: String,
    kind: String,
    cbor: String,
}

fn recorded() -> Vec<Recorded> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cbor.jsonl.gz");
    let text = GzDecoder::new(BufReader::new(File::open(path).expect("the file is there")));
    let lines = Deserializer::from_reader(text).into_iter();
    lines
        .collect::<Result<_, _>>()
        .expect("every line is a record")
}

#[test]
fn every_object_is_written_and_read_as_kubernetes_does() {
    let registry = Registry::builtin();
    let (recorded, objects) = (recorded(), records("full"));
    assert_eq!(recorded.len(), objects.len());
    for (line, object) in recorded.iter().zip(objects) {
        assert_eq!(
            (&line.api_version, &line.kind),
            (&object.api_version, &object.kind)
        );
        let type_id = type_id(&registry, &line.api_version, &line.kind);
        let typing = Typing::Typed(registry.schema(), type_id);
        let item = cbor::encode(object.json.to_string().as_bytes(), typing).unwrap();
        let written = cbor::document(&item);
        let expected = STANDARD.decode(&line.cbor).unwrap();
        assert!(
            written == expected,
            "{} {}:\n{}\n{}",
            line.api_version,
            line.kind,
            cbor::decode(&written).unwrap(),
            cbor::decode(&expected).unwrap()
        );
        assert_eq!(cbor::decode(&written), Ok(object.json), "{}", line.kind);
    }
}
