//! Replays the known inputs of every target, and mangled copies of them.

use super::*;

/// Mangled copies of each known input.
const MANGLED_PER_INPUT: usize = 300;

fn replay(target: fn(&[u8]), known: &[&[u8]]) {
    let mut random = fastrand::Rng::with_seed(20_261_115);
    for input in known {
        target(input);
        for _ in 0..MANGLED_PER_INPUT {
            target(&mangled(input, &mut random));
        }
    }
}

/// A copy with a few bytes changed, cut out, repeated or inserted.
fn mangled(input: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..random.usize(1..6) {
        let at = random.usize(..=bytes.len());
        let end = at + random.usize(..=(bytes.len() - at).min(16));
        match random.u8(..4) {
            0 => bytes.insert(at, random.u8(..)),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << random.u8(..8),
            _ => {}
        }
    }
    bytes
}

#[test]
fn bodies() {
    replay(
        decode_object,
        &[
            br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}"#,
            br#"{"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[{"name":"c"}]}}"#,
            b"a: &a [x]\nb: *a\nc: {d: !!str 1}\n",
            &[b'['; 500],
        ],
    );
}

#[test]
fn expressions() {
    replay(
        expression,
        &[
            b"object.replicas <= 5 && object.name.startsWith('web')",
            b"object.items.all(i, i.matches('^[a-z]+$')) || has(object.other.field)",
            b"object.?other.field.orValue({'a': [1, 2.5, 3u]}).size() in [1, 0x10]",
            b"'%s %.2f'.format([object.items.map(i, i + \"\\u00e9\"), 1.5]) == r'raw'",
            b"true ? b'\\xff' : null",
            b"quantity('1.5Gi').compareTo(quantity('2G')) < 0",
            b"cidr('10.0.0.0/8').containsIP('10.1.2.3')",
            b"timestamp('2024-02-29T12:00:00Z') + duration('1h30m') > timestamp(0)",
            &[b'('; 400],
        ],
    );
}

#[test]
fn queries() {
    replay(
        list_query,
        &[
            b"watch=1&resourceVersion=5&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            b"limit=2&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTUsInN0YXJ0IjoiYzJcdTAwMDAifQ",
            b"labelSelector=a in (b,c),!d&fieldSelector=metadata.name!=x&timeout=1h3m&dryRun=All",
        ],
    );
}

#[test]
fn selectors() {
    replay(
        selector,
        &[
            b"a=b,c!=d,e in (f,g),h notin (i),!j,k,l>1,m<2",
            br"metadata.name=a\,b,x!=\=\\",
        ],
    );
}

#[test]
fn continue_tokens() {
    replay(
        continue_token,
        &[
            b"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTUsInN0YXJ0IjoiYzJcdTAwMDAifQ",
            b"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vc2VjcmV0cy9hXHUwMDAwIn0",
        ],
    );
}

#[test]
fn patches() {
    replay(
        patch,
        &[
            b"\x00[{\"op\":\"copy\",\"from\":\"/spec\",\"path\":\"/spec/x\"}]",
            b"\x01{\"metadata\":{\"labels\":{\"a\":null}}}",
            b"\x02{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"}],\"containers\":[{\
              \"name\":\"a\",\"$patch\":\"delete\"},{\"name\":\"b\",\"image\":\"x\"}]}}",
            b"\x02{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"x.io/a\"]}}",
        ],
    );
}

#[test]
fn cbor_bodies() {
    let pod =
        b"\xd9\xd9\xf7\xa2\x44kind\x43Pod\x44spec\xa2\x44list\x83\x01\x39\x01\x00\xf9\x3c\x00\
        \x65bytes\xd6\x43\0\x01\xff";
    let indefinite = b"\xbf\x7f\x61a\x61b\xff\x9f\xf6\xf5\xc1\x1a\x51\x4b\x67\xb0\xff\xff";
    replay(
        cbor,
        &[pod, indefinite, &[0x81; 200], b"\x9b\x7f\xff\xff\xff"],
    );
}

#[test]
fn protobuf_bodies() {
    let pod =
        b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12\x1a\n\x06\n\x01p\x12\x01\x00\x12\x10\x12\x0e\n\x01c\
                \x12\x05nginx\x9a\x01\x02\n\0";
    replay(protobuf, &[pod, b"k8s\0", b"k8s\0\xff\xff\xff\xff\x0f"]);
}

#[test]
fn damaged_directories() {
    let mut known = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let disk = Arc::new(SimulatedDisk::new(1));
        drop(open(&disk).await.unwrap());
        known.extend(disk.names().iter().filter_map(|name| disk.contents(name)));
    });
    let known: Vec<&[u8]> = known
        .iter()
        .map(|file| &file[..file.len().min(256)])
        .collect();
    replay(log_recovery, &known);
}

#[test]
fn list_bodies() {
    replay(
        list_body,
        &[
            br#"P{"kind":"PodList","metadata":{"resourceVersion":"9","continue":"x"},"items":[]}"#,
            br#"0{"items":[{"metadata":{"name":"a"},"spec":[{},"\""]}],"kind":"FooList"}"#,
            br#"9{"items":[{"metadata":{"resourceVersion":"3","labels":{"a":"b"},"name":"a"}}]}"#,
            br#" {"items":null,"kind":"Table"}"#,
        ],
    );
}

#[test]
fn watches() {
    replay(
        watch_frames,
        &[
            b" {\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\
              \"resourceVersion\":\"3\",\"labels\":{\"a\":\"b\"}}}}\n\
              {\"object\":{\"code\":410},\"type\":\"ERROR\"}\n",
            b"9{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\",\
              \"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
        ],
    );
}

#[test]
fn objects_without_some_fields() {
    replay(
        dropped_fields,
        &[
            br#"{"metadata":{"name":"a","managedFields":[{"a":"}"}]},"status":{"b":[]},"c":1}"#,
            br#"{"spec":[{"a":1,"b":[{"a":2}]},7,[{"a":3}]],"\u0073tatus":null}"#,
        ],
    );
}
