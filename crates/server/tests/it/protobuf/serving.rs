//! Answers in protobuf say what answers in JSON say.

use http::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    client::{JSON_PATCH, WebSocket, upgrade},
    protobuf::{
        reading::{Frames, PROTOBUF, PROTOBUF_WATCH, Reading},
        without_nulls,
    },
    running::{CONFIG_MAPS, TestServer, start_server, within},
};

const METADATA: &str =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// Asks for both forms and compares.
async fn assert_same(server: &TestServer, path: &str, protobuf: &str) -> Value {
    let in_protobuf = server.get_as(path, protobuf).await;
    let in_protobuf = Reading::new().answer(&in_protobuf, 200);
    let json = protobuf.replace("vnd.kubernetes.protobuf", "json");
    let mut in_json = server.get_as(path, &json).await.ok();
    same_items(&mut in_json, &in_protobuf);
    without_nulls(&mut in_json);
    assert_eq!(in_protobuf, in_json, "{path}");
    in_protobuf
}

/// Metadata in a list of JSON says of each item what it is, which protobuf says in its type; and
/// only JSON can say that there are no items.
fn same_items(in_json: &mut Value, in_protobuf: &Value) {
    if in_json["items"] == json!([]) {
        in_json["items"].take();
    }
    let items = in_json["items"].as_array_mut();
    for (place, item) in items.into_iter().flatten().enumerate() {
        if in_protobuf["items"][place].get("kind").is_none() {
            item.as_object_mut()
                .unwrap()
                .retain(|name, _| name != "kind" && name != "apiVersion");
        }
    }
}

fn deployment(name: &str) -> Value {
    let labels = json!({"app": name});
    json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{
                    "name": "main", "image": "app:1",
                    "resources": {"requests": {"memory": "64Mi", "cpu": "100m"}},
                    "readinessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
                }]},
            },
        },
    })
}

async fn create(server: &TestServer, name: &str) -> Value {
    let object = json!({"metadata": {"name": name}, "data": {"k": "0"}});
    server.post(CONFIG_MAPS, &object).await.created()
}

#[tokio::test]
async fn objects_lists_and_metadata_are_the_same_in_both_forms() {
    let server = start_server().await;
    for name in ["a", "b", "c"] {
        server.post(DEPLOYMENTS, &deployment(name)).await.created();
    }
    let one = format!("{DEPLOYMENTS}/a");
    assert_same(&server, &one, PROTOBUF).await;
    assert_same(&server, &one, METADATA).await;
    let scale = assert_same(&server, &format!("{one}/scale"), PROTOBUF).await;
    assert_eq!(scale["kind"], "Scale");
    assert_same(&server, &format!("{one}/status"), PROTOBUF).await;
    let list = assert_same(&server, DEPLOYMENTS, PROTOBUF).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 3);
    assert_same(&server, DEPLOYMENTS, METADATA_LIST).await;
    let page = assert_same(&server, &format!("{DEPLOYMENTS}?limit=2"), PROTOBUF).await;
    assert_eq!(page["metadata"]["remainingItemCount"], 1);
    let selected = format!("{DEPLOYMENTS}?labelSelector=app%3Db");
    assert_same(&server, &selected, PROTOBUF).await;
    let none = format!("{DEPLOYMENTS}?labelSelector=app%3Dx");
    assert_same(&server, &none, PROTOBUF).await;
}

#[tokio::test]
async fn what_the_server_begins_with_is_the_same_in_both_forms() {
    let server = start_server().await;
    for path in [
        "/api/v1/namespaces",
        "/api/v1/services",
        "/apis/discovery.k8s.io/v1/endpointslices",
        "/apis/apps/v1/deployments",
        "/apis/events.k8s.io/v1/events",
        "/apis/autoscaling/v1/horizontalpodautoscalers",
    ] {
        assert_same(&server, path, PROTOBUF).await;
    }
}

#[tokio::test]
async fn writes_are_answered_in_protobuf() {
    let (server, reading) = (start_server().await, Reading::new());
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "0"}});
    let call = server.call(Method::POST, CONFIG_MAPS).json(&object);
    let created = reading.answer(&call.header("accept", PROTOBUF).answer().await, 201);
    let item = format!("{CONFIG_MAPS}/a");
    assert_eq!(created, server.get(&item).await.ok());
    let patch = json!([{"op": "replace", "path": "/data/k", "value": "1"}]);
    let call = server.call(Method::PATCH, &item);
    let call = call.body(JSON_PATCH, patch.to_string());
    let patched = reading.answer(&call.header("accept", PROTOBUF).answer().await, 200);
    assert_eq!(patched["data"]["k"], "1");
    let call = server.call(Method::PUT, &item).json(&object);
    let put = reading.answer(&call.header("accept", PROTOBUF).answer().await, 200);
    assert_eq!(put["data"]["k"], "0");
    let call = server.call(Method::DELETE, &item);
    let deleted = reading.answer(&call.header("accept", PROTOBUF).answer().await, 200);
    assert_eq!(
        (&deleted["kind"], &deleted["status"]),
        (&json!("Status"), &json!("Success"))
    );
    assert_eq!(deleted["details"]["uid"], created["metadata"]["uid"]);
}

#[tokio::test]
async fn reviews_and_refusals_are_answered_in_protobuf() {
    let (server, reading) = (start_server().await, Reading::new());
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let question = json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let call = server.call(Method::POST, path).json(&question);
    let answer = reading.answer(&call.header("accept", PROTOBUF).answer().await, 201);
    assert_eq!(answer["status"]["allowed"], true);

    let missing = server
        .get_as(&format!("{CONFIG_MAPS}/nope"), PROTOBUF)
        .await;
    let status = reading.answer(&missing, 404);
    assert_eq!(status["message"], "configmaps \"nope\" not found");
    assert_eq!(
        status["details"],
        json!({"name": "nope", "kind": "configmaps"})
    );
    let unknown = server.get_as("/api/v1/nothings", PROTOBUF).await;
    assert_eq!(reading.answer(&unknown, 404)["reason"], "NotFound");
}

#[tokio::test]
async fn a_client_that_takes_both_gets_what_it_wants_more() {
    let server = start_server().await;
    for (accept, expected) in [
        (
            "application/vnd.kubernetes.protobuf,application/json",
            PROTOBUF,
        ),
        (
            "application/json,application/vnd.kubernetes.protobuf",
            "application/json",
        ),
        (
            "application/vnd.kubernetes.protobuf;q=0.5,application/json",
            "application/json",
        ),
        (
            "application/json;q=0.5,application/vnd.kubernetes.protobuf",
            PROTOBUF,
        ),
        ("application/vnd.kubernetes.protobuf;stream=watch", PROTOBUF),
        ("*/*", "application/json"),
    ] {
        let answer = server.get_as("/api/v1/namespaces", accept).await;
        assert_eq!(answer.header("content-type"), expected, "{accept}");
    }
}

#[tokio::test]
async fn a_table_is_never_protobuf() {
    let server = start_server().await;
    let table = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";
    let text = "only the following media types are accepted: application/json, application/yaml, \
                application/vnd.kubernetes.protobuf";
    server.get_as(CONFIG_MAPS, table).await.says(406, text);
    let fallback = format!("{table},application/json;as=Table;g=meta.k8s.io;v=v1");
    let answer = server.get_as(CONFIG_MAPS, &fallback).await;
    assert_eq!(answer.ok()["kind"], "Table");
}

#[tokio::test]
async fn a_large_list_is_sent_while_it_is_made_and_is_the_same_each_time() {
    let (server, reading) = (start_server().await, Reading::new());
    for number in 0..60 {
        let name = format!("large-{number:02}");
        let data = json!({"k": "x".repeat(8 * 1024 + number)});
        let object = json!({"metadata": {"name": name}, "data": data});
        server.post(CONFIG_MAPS, &object).await.created();
    }
    let first = assert_same(&server, CONFIG_MAPS, PROTOBUF).await;
    let answer = server.get_as(CONFIG_MAPS, PROTOBUF).await;
    assert_eq!(answer.header("content-length"), "");
    assert_eq!(reading.answer(&answer, 200), first);
    let call = server.call(Method::GET, CONFIG_MAPS);
    let call = call
        .header("accept", PROTOBUF)
        .header("accept-encoding", "gzip");
    let compressed = call.answer().await;
    assert_eq!(compressed.header("content-encoding"), "gzip");
    let mut body = Vec::new();
    let mut decoder = flate2::bufread::MultiGzDecoder::new(&*compressed.body);
    std::io::Read::read_to_end(&mut decoder, &mut body).unwrap();
    assert_eq!(reading.document(&body), first);
}

#[tokio::test]
async fn deleted_collections_are_listed_in_protobuf() {
    let (server, reading) = (start_server().await, Reading::new());
    create(&server, "a").await;
    let call = server.call(Method::DELETE, CONFIG_MAPS);
    let deleted = reading.answer(&call.header("accept", PROTOBUF).answer().await, 200);
    assert_eq!(deleted["kind"], "ConfigMapList");
    assert_eq!(deleted["items"][0]["metadata"]["name"], "a");
}

#[tokio::test]
async fn a_watch_tells_the_same_in_both_forms() {
    let server = start_server().await;
    create(&server, "a").await;
    let path = format!(
        "{CONFIG_MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true\
         &resourceVersionMatch=NotOlderThan"
    );
    let mut in_json = server.watch(&path).await;
    let mut in_protobuf = Frames::open(server.call(Method::GET, &path)).await;
    for number in 0..2 {
        let expected = in_json.next().await;
        assert_eq!(in_protobuf.next().await, expected, "{number}");
    }
    create(&server, "b").await;
    let patch = json!({"data": {"k": "1"}});
    server.merge(&format!("{CONFIG_MAPS}/a"), &patch).await.ok();
    server.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    for shown in ["ADDED b", "MODIFIED a", "DELETED a"] {
        let expected = in_json.next().await;
        assert_eq!(expected.shown(), shown);
        assert_eq!(in_protobuf.next().await, expected);
    }
}

#[tokio::test]
async fn a_watch_of_metadata_tells_the_same_in_both_forms() {
    let server = start_server().await;
    create(&server, "a").await;
    let path = format!("{CONFIG_MAPS}?watch=1");
    let accept = METADATA.replace("vnd.kubernetes.protobuf", "json");
    let call = server.call(Method::GET, &path).header("accept", &accept);
    let mut in_json = call.events().await;
    let call = server.call(Method::GET, &path).header("accept", METADATA);
    let answer = Frames::of(call.chunks().await).next().await;
    assert_eq!(answer, in_json.next().await);
}

#[tokio::test]
async fn the_state_and_the_events_of_one_object_are_the_same_bytes_for_all() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?watch=1");
    let mut first = Frames::open(server.call(Method::GET, &path)).await;
    let mut second = Frames::open(server.call(Method::GET, &path)).await;
    // What the server made by itself comes first, to both.
    create(&server, "zzz").await;
    let mut told = Vec::new();
    loop {
        let frame = first.next_bytes().await;
        assert_eq!(second.next_bytes().await, frame);
        told.push(frame.clone());
        if Reading::new().event(&frame).shown() == "ADDED zzz" {
            break;
        }
    }
    let mut later = Frames::open(server.call(Method::GET, &path)).await;
    for frame in told {
        assert_eq!(later.next_bytes().await, frame);
    }
}

#[tokio::test]
async fn a_watch_that_cannot_go_on_says_so_in_its_own_form() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion=1&resourceVersionMatch=Exact");
    let refused = server.get_as(&path, PROTOBUF_WATCH).await;
    assert_eq!(Reading::new().answer(&refused, 422)["reason"], "Invalid");
    let path = format!(
        "{CONFIG_MAPS}?watch=1&resourceVersion=99999999&sendInitialEvents=true\
         &resourceVersionMatch=NotOlderThan"
    );
    let mut frames = Frames::open(server.call(Method::GET, &path)).await;
    let error = frames.next().await;
    assert_eq!(error.event_type, "ERROR");
    assert_eq!(error.object["code"], 504);
}

#[tokio::test]
async fn a_web_socket_carries_frames_without_their_length() {
    let server = start_server().await;
    create(&server, "a").await;
    create(&server, "b").await;
    let path = format!("{CONFIG_MAPS}?watch=1");
    let request = upgrade(&path).header("origin", "http://x");
    let request = request.header("accept", PROTOBUF_WATCH);
    let (mut socket, _) = WebSocket::ask(server.address(), request).await.unwrap();
    let mut frames = Frames::open(server.call(Method::GET, &path)).await;
    for _ in 0..2 {
        let message = within(futures_util::StreamExt::next(&mut socket.0)).await;
        let Message::Binary(frame) = message.unwrap().unwrap() else {
            panic!("not binary");
        };
        assert_eq!(frame, frames.next_bytes().await);
    }
}
