//! Protobuf that is none.

use http::Method;

use super::{CONFIG_MAPS, soon};
use crate::{
    client::Answer,
    running::{TestServer, start_server},
};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MAGIC: &[u8] = b"k8s\0";

async fn post(server: &TestServer, body: Vec<u8>) -> Answer {
    let call = server.call(Method::POST, CONFIG_MAPS);
    soon(call.body(PROTOBUF, body).answer()).await
}

/// A field with bytes as its value.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        field.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend_from_slice(content);
    field
}

/// A message in the envelope that names its kind.
fn enveloped(raw: &[u8]) -> Vec<u8> {
    let kind = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
    [MAGIC, &field(1, &kind), &field(2, raw)].concat()
}

#[tokio::test]
async fn a_small_object_is_read() {
    let server = start_server().await;
    let metadata = field(1, b"from-protobuf");
    let created = post(&server, enveloped(&field(1, &metadata)))
        .await
        .created();
    assert_eq!(created["metadata"]["name"], "from-protobuf");
}

#[tokio::test]
async fn what_is_no_protobuf_is_refused() {
    let server = start_server().await;
    let deep = (0..10_000).fold(Vec::new(), |inner, _| {
        if inner.len() < 100_000 {
            field(1, &inner)
        } else {
            inner
        }
    });
    let huge_length = [&[0x0a][..], &[0xff; 9], &[0x01]].concat();
    let overlong = [&[0x0a][..], &[0x80; 20], &[0x01]].concat();
    for body in [
        Vec::new(),
        b"{}".to_vec(),
        b"k8s".to_vec(),
        MAGIC[..3].to_vec(),
        [MAGIC, &[0xff; 100]].concat(),
        [MAGIC, &[0x0a, 0x05, b'v']].concat(),
        [MAGIC, &huge_length].concat(),
        [MAGIC, &overlong].concat(),
        [MAGIC, &[0x0b; 1_000]].concat(),
        [MAGIC, &[0x0f; 10]].concat(),
        enveloped(&huge_length),
        enveloped(&overlong),
        enveloped(&field(1, &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])),
        enveloped(&field(1, &field(1, &[0xff, 0xfe]))),
        enveloped(&deep),
        enveloped(&[0x0b; 50_000]),
    ] {
        let shown: Vec<u8> = body.iter().copied().take(20).collect();
        let answer = post(&server, body).await;
        assert!(
            [400, 422].contains(&answer.code),
            "{shown:?}: {}",
            answer.text()
        );
        assert!(answer.body.len() < 10_000, "a short answer to {shown:?}");
    }
    server.assert_well().await;
}

#[tokio::test]
async fn every_prefix_and_every_flipped_bit_is_read_or_refused() {
    let server = start_server().await;
    let metadata = [
        field(1, b"cut"),
        field(11, &[field(1, b"a"), field(2, b"b")].concat()),
    ];
    let data = field(2, &[field(1, b"key"), field(2, b"value")].concat());
    let whole = enveloped(&[field(1, &metadata.concat()), data].concat());
    let path = format!("{CONFIG_MAPS}?dryRun=All");
    for cut in 0..whole.len() {
        let call = server
            .call(Method::POST, &path)
            .body(PROTOBUF, whole[..cut].to_vec());
        let answer = call.answer().await;
        assert!(answer.code < 500, "{cut}: {}", answer.text());
    }
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let call = server.call(Method::POST, &path).body(PROTOBUF, flipped);
        let answer = call.answer().await;
        assert!(answer.code < 500, "{bit}: {}", answer.text());
    }
    server.assert_well().await;
}
