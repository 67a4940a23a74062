//! Answers in CBOR say what answers in JSON say, and bodies in CBOR do what bodies in JSON do.

use http::Method;
use listwatch_api::cbor::{self, Typing};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    client::{Answer, Call, Chunks, Event, WebSocket, upgrade},
    running::{CONFIG_MAPS, TestServer, start_server, within},
};

const CBOR: &str = "application/cbor";
const METADATA: &str = "application/cbor;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/cbor;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/cbor;as=Table;g=meta.k8s.io;v=v1";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const FOOS: &str = "/apis/ex.com/v1/namespaces/default/foos";

/// What an answer with this code says, which must be CBOR.
#[track_caller]
fn read(answer: &Answer, code: u16) -> Value {
    assert_eq!(answer.code, code, "{}", answer.text());
    assert_eq!(answer.header("content-type"), CBOR);
    assert!(answer.body.starts_with(&[0xd9, 0xd9, 0xf7]));
    cbor::decode(&answer.body).unwrap()
}

fn document(value: &Value) -> Vec<u8> {
    let item = cbor::encode(value.to_string().as_bytes(), Typing::Untyped);
    cbor::document(&item.unwrap())
}

/// Asks for both forms and compares.
async fn assert_same(server: &TestServer, path: &str, accept: &str) -> Value {
    let in_cbor = read(&server.get_as(path, accept).await, 200);
    let json = accept.replace("cbor", "json");
    let in_json = server.get_as(path, &json).await.ok();
    assert_eq!(in_cbor, in_json, "{path}");
    in_cbor
}

async fn create(server: &TestServer, name: &str) -> Value {
    let object = json!({"metadata": {"name": name}, "data": {"k": "0"}});
    server.post(CONFIG_MAPS, &object).await.created()
}

async fn with_foos() -> TestServer {
    let server = start_server().await;
    let definition = json!({
        "metadata": {"name": "foos.ex.com"},
        "spec": {
            "group": "ex.com", "scope": "Namespaced",
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    });
    server.post(DEFINITIONS, &definition).await.created();
    server
}

/// The events of a watch in CBOR.
struct Frames {
    chunks: Chunks,
    partial: Vec<u8>,
}

impl Frames {
    async fn open(call: Call<'_>, accept: &str) -> Self {
        Self {
            chunks: call.header("accept", accept).chunks().await,
            partial: Vec::new(),
        }
    }

    async fn next_bytes(&mut self) -> Vec<u8> {
        loop {
            if let Ok(length) = cbor::item_length(&self.partial) {
                return self.partial.drain(..length).collect();
            }
            let chunk = within(self.chunks.next()).await;
            self.partial.extend_from_slice(&chunk);
        }
    }

    async fn next(&mut self) -> Event {
        event(&self.next_bytes().await)
    }
}

fn event(frame: &[u8]) -> Event {
    let mut event = cbor::decode(frame).unwrap();
    Event {
        event_type: event["type"].as_str().unwrap().to_owned(),
        object: event["object"].take(),
    }
}

#[tokio::test]
async fn objects_lists_tables_and_metadata_are_the_same_in_both_forms() {
    let server = start_server().await;
    for name in ["a", "b", "c"] {
        create(&server, name).await;
    }
    let one = format!("{CONFIG_MAPS}/a");
    for accept in [CBOR, METADATA, TABLE] {
        assert_same(&server, &one, accept).await;
        // The second time it is sent as it was made the first time.
        assert_same(&server, &one, accept).await;
    }
    for accept in [CBOR, METADATA_LIST, TABLE] {
        assert_same(&server, CONFIG_MAPS, accept).await;
        assert_same(&server, CONFIG_MAPS, accept).await;
    }
    let page = assert_same(&server, &format!("{CONFIG_MAPS}?limit=2"), CBOR).await;
    assert_eq!(page["metadata"]["remainingItemCount"], 1);
    let none = format!("{CONFIG_MAPS}?labelSelector=app%3Dx");
    assert_eq!(assert_same(&server, &none, CBOR).await["items"], json!([]));
    for path in [
        "/api/v1/namespaces",
        "/api/v1/services",
        "/apis/events.k8s.io/v1/events",
        "/apis/autoscaling/v1/horizontalpodautoscalers",
    ] {
        assert_same(&server, path, CBOR).await;
    }
}

#[tokio::test]
async fn custom_kinds_are_the_same_in_both_forms() {
    let server = with_foos().await;
    let foo = json!({
        "apiVersion": "ex.com/v1", "kind": "Foo", "metadata": {"name": "one"},
        "spec": {"ratio": 0.25, "big": 9_007_199_254_740_993_u64, "list": [null, {}, []]},
    });
    let call = server.call(Method::POST, FOOS).body(CBOR, document(&foo));
    let created = read(&call.header("accept", CBOR).answer().await, 201);
    assert_eq!(created["spec"], foo["spec"]);
    for (path, accept) in [
        (FOOS.to_owned(), CBOR),
        (FOOS.to_owned(), METADATA_LIST),
        (format!("{FOOS}/one"), CBOR),
        (format!("{FOOS}/one"), METADATA),
        (DEFINITIONS.to_owned(), CBOR),
    ] {
        assert_same(&server, &path, accept).await;
    }
}

#[tokio::test]
async fn writes_are_read_and_answered_in_cbor() {
    let server = start_server().await;
    let send = async |method, path: &str, content_type, body: &Value| {
        let call = server.call(method, path).header("accept", CBOR);
        call.body(content_type, document(body)).answer().await
    };
    let mut secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "AP8="},
    });
    let created = read(&send(Method::POST, SECRETS, CBOR, &secret).await, 201);
    let one = format!("{SECRETS}/s");
    assert_eq!(created, server.get(&one).await.ok());
    assert_eq!(created["data"]["k"], "AP8=");
    secret["data"]["k"] = json!("AQ==");
    let put = read(&send(Method::PUT, &one, CBOR, &secret).await, 200);
    assert_eq!(put["data"]["k"], "AQ==");
    let applied = json!({"apiVersion": "v1", "kind": "Secret", "data": {"other": "Ag=="}});
    let path = format!("{one}?fieldManager=m&force=true");
    let apply = "application/apply-patch+cbor";
    let applied = read(&send(Method::PATCH, &path, apply, &applied).await, 200);
    assert_eq!(applied["data"], json!({"k": "AQ==", "other": "Ag=="}));
    let options = json!({"kind": "DeleteOptions", "preconditions": {"uid": "other"}});
    let refused = read(&send(Method::DELETE, &one, CBOR, &options).await, 409);
    assert_eq!(refused["reason"], "Conflict");
    let options = json!({"preconditions": {"uid": created["metadata"]["uid"]}});
    let deleted = read(&send(Method::DELETE, &one, CBOR, &options).await, 200);
    assert_eq!(deleted["status"], "Success");
}

#[tokio::test]
async fn broken_bodies_are_refused_with_the_reason() {
    let server = start_server().await;
    let send = async |path: &str, body: &[u8]| {
        let call = server.call(Method::POST, path);
        call.body(CBOR, body.to_vec()).answer().await
    };
    send(CONFIG_MAPS, b"\xa1").await.says(
        400,
        "the object provided is unrecognized (must be of type ConfigMap): unable to determine \
         group/version/kind: unexpected EOF (a1)",
    );
    let deep = [vec![0x81; 10_000], vec![0]].concat();
    let refused = send(CONFIG_MAPS, &deep).await.refused(400);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("exceeded max nested level"), "{message}");
    let twice = b"\xa1\x44data\xa2\x41a\x41x\x41a\x41y";
    send(CONFIG_MAPS, twice).await.says(
        400,
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: cbor: found duplicate map \
         key \"a\" at map element index 1",
    );
    let call = server.call(Method::PATCH, &format!("{CONFIG_MAPS}/a?fieldManager=m"));
    let call = call.body("application/apply-patch+cbor", b"\xff".to_vec());
    let expected = "error decoding patch: cbor: unexpected \"break\" code";
    call.answer().await.says(400, expected);
    server.assert_well().await;
}

#[tokio::test]
async fn refusals_are_cbor_for_those_who_take_nothing_else() {
    let server = start_server().await;
    let missing = server.get_as(&format!("{CONFIG_MAPS}/nope"), CBOR).await;
    let status = read(&missing, 404);
    assert_eq!(status["message"], "configmaps \"nope\" not found");
    let accept = "application/json;q=0.9,application/cbor;q=1";
    let preferred = server.get_as("/api/v1/namespaces", accept).await;
    assert_eq!(preferred.header("content-type"), CBOR);
}

#[tokio::test]
async fn a_large_list_is_sent_while_it_is_made() {
    let server = start_server().await;
    for number in 0..60 {
        let name = format!("large-{number:02}");
        let data = json!({"k": "x".repeat(8 * 1024 + number)});
        let object = json!({"metadata": {"name": name}, "data": data});
        server.post(CONFIG_MAPS, &object).await.created();
    }
    assert_same(&server, CONFIG_MAPS, CBOR).await;
    let answer = server.get_as(CONFIG_MAPS, CBOR).await;
    assert_eq!(answer.header("content-length"), "");
}

#[tokio::test]
async fn a_watch_tells_the_same_in_both_forms() {
    let server = start_server().await;
    create(&server, "a").await;
    let path = format!(
        "{CONFIG_MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true\
         &resourceVersionMatch=NotOlderThan"
    );
    for accept in [CBOR, METADATA] {
        let json = accept.replace("cbor", "json");
        let call = server.call(Method::GET, &path).header("accept", &json);
        let mut in_json = call.events().await;
        let mut in_cbor = Frames::open(server.call(Method::GET, &path), accept).await;
        let mut others = Frames::open(server.call(Method::GET, &path), accept).await;
        for number in 0..2 {
            let frame = in_cbor.next_bytes().await;
            assert_eq!(event(&frame), in_json.next().await, "{number}");
            assert_eq!(frame, others.next_bytes().await);
        }
        create(&server, "b").await;
        server.delete(&format!("{CONFIG_MAPS}/b")).await.ok();
        for shown in ["ADDED b", "DELETED b"] {
            let expected = in_json.next().await;
            assert_eq!(expected.shown(), shown);
            assert_eq!(in_cbor.next().await, expected);
        }
    }
    let mut rows = Frames::open(server.call(Method::GET, &path), TABLE).await;
    assert_eq!(rows.next().await.object["kind"], "Table");
}

#[tokio::test]
async fn a_watch_says_its_type_and_why_it_ends() {
    let server = start_server().await;
    let path = format!(
        "{CONFIG_MAPS}?watch=1&resourceVersion=99999999&sendInitialEvents=true\
         &resourceVersionMatch=NotOlderThan"
    );
    let answer = server.get_as(&path, CBOR).await;
    assert_eq!(answer.header("content-type"), "application/cbor-seq");
    let error = event(&answer.body);
    assert_eq!(error.event_type, "ERROR");
    assert_eq!(error.object["code"], 504);
}

#[tokio::test]
async fn a_web_socket_carries_one_event_in_each_message() {
    let server = start_server().await;
    create(&server, "a").await;
    create(&server, "b").await;
    let path = format!("{CONFIG_MAPS}?watch=1");
    let request = upgrade(&path).header("origin", "http://x");
    let request = request.header("accept", CBOR);
    let (mut socket, _) = WebSocket::ask(server.address(), request).await.unwrap();
    let mut frames = Frames::open(server.call(Method::GET, &path), CBOR).await;
    for _ in 0..2 {
        let message = within(futures_util::StreamExt::next(&mut socket.0)).await;
        let Message::Binary(frame) = message.unwrap().unwrap() else {
            panic!("not binary");
        };
        assert_eq!(frame, frames.next_bytes().await);
    }
}
