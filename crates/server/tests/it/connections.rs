//! What holds on a connection while a watch is open on it, and after.

mod wire;

use std::sync::Arc;

use listwatch_server::{RunningServer, Settings};
use listwatch_store::MemoryStore;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use self::wire::{Wire, get};
use crate::{
    client::Client,
    running::{CONFIG_MAPS, TestServer, start_server},
};

const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=1";
/// A watch that ends by itself and has nothing to say before.
const SHORT_WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1";

async fn create(server: &TestServer, name: &str, bytes: usize) {
    let object = json!({"metadata": {"name": name}, "data": {"x": "x".repeat(bytes)}});
    server.post(CONFIG_MAPS, &object).await.created();
}

/// A connection with a watch on it, of which the head has come.
async fn watching(server: &TestServer, path: &str) -> Wire {
    let mut wire = Wire::connect(server.address()).await;
    wire.send(get(path, "")).await;
    assert_eq!(wire.head().await.status, 200);
    wire
}

#[tokio::test]
async fn a_watch_has_the_head_of_every_answer_and_says_what_comes_after_silence() {
    let server = start_server().await;
    let mut wire = Wire::connect(server.address()).await;
    wire.send(get(WATCH, "")).await;
    let head = wire.head().await;
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), Some("application/json"));
    assert_eq!(head.header("transfer-encoding"), Some("chunked"));
    assert_eq!(head.header("cache-control"), Some("no-cache, private"));
    assert!(head.header("audit-id").is_some());
    assert!(head.header("date").is_some());
    for name in ["a", "b"] {
        create(&server, name, 8).await;
        let event = wire.chunk().await;
        assert!(event.starts_with(r#"{"type":"ADDED""#), "{event}");
        assert!(event.contains(&format!(r#""name":"{name}""#)), "{event}");
        assert!(event.ends_with("}\n"), "{event}");
    }
}

#[tokio::test]
async fn a_silent_watch_gets_its_last_bookmark_and_its_end_when_the_server_stops() {
    let server = start_server().await;
    let mut wire = watching(&server, &format!("{WATCH}&allowWatchBookmarks=true")).await;
    assert!(wire.chunk().await.contains("initial-events-end"));
    let elsewhere = json!({"metadata": {"name": "elsewhere"}});
    server
        .post("/api/v1/namespaces", &elsewhere)
        .await
        .created();
    server.has_settled().await;
    let stopping = tokio::spawn(server.shutdown());
    let bookmark = wire.chunk().await;
    assert!(bookmark.starts_with(r#"{"type":"BOOKMARK""#), "{bookmark}");
    assert_eq!(wire.until_closed().await, "0\r\n\r\n");
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_watch_that_is_not_read_does_not_keep_the_server_from_stopping() {
    let server = start_server().await;
    let wire = watching(&server, WATCH).await;
    for number in 0..20 {
        create(&server, &format!("n{number}"), 500_000).await;
    }
    // From here on nothing happens, so the clock runs ahead to when the server's patience ends.
    tokio::time::pause();
    server.shutdown().await;
    drop(wire);
}

#[tokio::test]
async fn a_connection_goes_on_after_a_watch() {
    let server = start_server().await;
    let mut wire = Wire::connect(server.address()).await;
    for _ in 0..2 {
        wire.send(get(SHORT_WATCH, "")).await;
        assert_eq!(wire.head().await.status, 200);
        assert_eq!(wire.chunks().await, "");
        wire.send(get("/healthz", "")).await;
        assert_eq!(wire.body().await, "ok");
    }
}

#[tokio::test]
async fn requests_sent_with_and_during_a_watch_are_answered_after_it() {
    let server = start_server().await;
    let mut wire = Wire::connect(server.address()).await;
    wire.send(get(SHORT_WATCH, "") + &get("/healthz", "")).await;
    assert_eq!(wire.head().await.status, 200);
    wire.send(get("/version", "")).await;
    assert_eq!(wire.chunks().await, "");
    assert_eq!(wire.body().await, "ok");
    assert!(wire.body().await.contains("gitVersion"));
}

#[tokio::test]
async fn a_long_request_sent_during_a_watch_is_answered_after_it() {
    let server = start_server().await;
    let mut wire = watching(&server, SHORT_WATCH).await;
    let padding = format!("x-padding: {}\r\n", "x".repeat(10_000));
    wire.send(get("/healthz", &padding)).await;
    assert_eq!(wire.chunks().await, "");
    assert_eq!(wire.body().await, "ok");
}

#[tokio::test]
async fn a_watch_asked_for_behind_a_long_list_comes_after_all_of_it() {
    let server = start_server().await;
    for number in 0..20 {
        create(&server, &format!("n{number}"), 500_000).await;
    }
    let mut wire = Wire::connect(server.address()).await;
    wire.send(get(CONFIG_MAPS, "") + &get(WATCH, "")).await;
    assert_eq!(wire.head().await.status, 200);
    let list: Value = serde_json::from_str(&wire.chunks().await).unwrap();
    assert_eq!(list["items"].as_array().map(Vec::len), Some(20));
    assert_eq!(wire.head().await.status, 200);
    assert!(wire.chunk().await.starts_with(r#"{"type":"ADDED""#));
}

#[tokio::test]
async fn a_client_that_reads_late_misses_nothing() {
    // The kernel has room for less than the state, so that its end is still to be written when the
    // watch falls silent.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(4 * 1024).unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let store = Arc::new(MemoryStore::new());
    let listener = socket.listen(16).unwrap();
    let server = RunningServer::start(listener, store, Settings::default());
    let server = server.await.unwrap();
    let client = Client::new(server.address());
    let object = json!({"metadata": {"generateName": "a-"}, "data": {"x": "x".repeat(50_000)}});
    client.post(CONFIG_MAPS, &object).await.created();

    let mut wire = Wire::connect(server.address()).await;
    wire.send(get(WATCH, "")).await;
    for _ in 0..3 {
        client.post(CONFIG_MAPS, &object).await.created();
    }
    assert_eq!(wire.head().await.status, 200);
    let mut events = String::new();
    while events.lines().count() < 4 {
        events.push_str(&wire.chunk().await);
    }
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["type"], "ADDED");
    }
}

#[tokio::test]
async fn a_client_that_wants_its_connection_closed_after_a_watch_gets_that() {
    let server = start_server().await;
    let mut wire = Wire::connect(server.address()).await;
    wire.send(get(SHORT_WATCH, "connection: close\r\n")).await;
    assert_eq!(wire.head().await.header("connection"), Some("close"));
    assert_eq!(wire.until_closed().await, "0\r\n\r\n");
}

#[tokio::test]
async fn clients_that_leave_free_their_watches_at_once() {
    let server = start_server().await;
    let mut wires = Vec::new();
    for _ in 0..20 {
        wires.push(watching(&server, WATCH).await);
    }
    server.has_open_watches(20).await;
    wires.truncate(5);
    server.has_open_watches(5).await;
    drop(wires);
    server.has_open_watches(0).await;
}

#[tokio::test]
async fn a_client_that_leaves_with_events_unread_frees_its_watch() {
    let server = start_server().await;
    let wire = watching(&server, WATCH).await;
    for number in 0..20 {
        create(&server, &format!("n{number}"), 500_000).await;
    }
    server.has_open_watches(1).await;
    drop(wire);
    server.has_open_watches(0).await;
}

#[tokio::test]
async fn a_client_of_http_1_0_gets_events_without_chunks() {
    let server = start_server().await;
    create(&server, "a", 8).await;
    let mut wire = Wire::connect(server.address()).await;
    wire.send(format!("GET {SHORT_WATCH} HTTP/1.0\r\n\r\n"))
        .await;
    assert_eq!(wire.head().await.header("transfer-encoding"), None);
    let events = wire.until_closed().await;
    assert!(events.starts_with(r#"{"type":"ADDED""#), "{events}");
    assert_eq!(events.lines().count(), 1);
}

#[tokio::test]
async fn a_body_that_nobody_asked_for_is_not_taken_for_a_request() {
    let server = start_server().await;
    let body = get("/version", "connection: close\r\n");
    let length = format!("content-length: {}\r\n", body.len());
    let watch = get(SHORT_WATCH, &length);

    let mut wire = Wire::connect(server.address()).await;
    wire.send(watch.clone() + &body + &get("/healthz", ""))
        .await;
    wire.head().await;
    assert_eq!(wire.chunks().await, "");
    assert_eq!(wire.body().await, "ok");

    let mut late = server.raw().await;
    late.send(watch).await;
    late.read_until("\r\n\r\n").await;
    late.send(body).await;
    let rest = late.read_to_end().await;
    assert!(!rest.contains("gitVersion"), "{rest}");
}
