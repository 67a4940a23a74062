//! The same events as text messages over a WebSocket.

use futures_util::SinkExt;
use http::request::Builder;
use serde_json::json;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::{
    client::{WebSocket, upgrade},
    running::{CONFIG_MAPS, TestServer, start_server},
};

/// The code of a refusal.
async fn refused(server: &TestServer, request: Builder) -> u16 {
    match WebSocket::ask(server.address(), request).await {
        Err(Error::Http(response)) => response.status().as_u16(),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn events_are_text_messages() {
    let server = start_server().await;
    let object = json!({"metadata": {"name": "a"}});
    server.post(CONFIG_MAPS, &object).await.created();
    let path = format!("{CONFIG_MAPS}?watch=1");
    let mut socket = WebSocket::watch(server.address(), &path).await;
    assert_eq!(socket.next_event().await.shown(), "ADDED a");
    // What a client says means nothing.
    socket.0.send(Message::text("hello")).await.unwrap();
    server.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    assert_eq!(socket.next_event().await.shown(), "DELETED a");
    socket.0.close(None).await.unwrap();
    server.has_open_watches(0).await;
    server.assert_well().await;
}

#[tokio::test]
async fn a_watch_that_ends_closes_its_socket_normally() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1");
    let socket = WebSocket::watch(server.address(), &path).await;
    socket.closes_normally().await;
}

#[tokio::test]
async fn a_single_protocol_is_echoed() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?watch=1");
    let request = upgrade(&path)
        .header("origin", "http://x")
        .header("sec-websocket-protocol", "base64.binary.k8s.io");
    let (_, response) = WebSocket::ask(server.address(), request).await.unwrap();
    assert_eq!(response.status(), 101);
    let echoed = &response.headers()["sec-websocket-protocol"];
    assert_eq!(echoed, "base64.binary.k8s.io");
}

#[tokio::test]
async fn a_socket_without_an_origin_is_forbidden() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?watch=1");
    assert_eq!(refused(&server, upgrade(&path)).await, 403);
}

#[tokio::test]
async fn a_socket_with_half_a_handshake_is_refused() {
    let server = start_server().await;
    for missing in [
        "Sec-WebSocket-Key: abc\r\n",
        "Sec-WebSocket-Version: 13\r\n",
    ] {
        let mut connection = server.raw().await;
        let head = format!(
            "GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nOrigin: http://x\r\n{missing}\r\n"
        );
        connection.send(head).await;
        connection.read_until("HTTP/1.1 400 Bad Request\r\n").await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_watch_is_said_before_the_upgrade() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?watch=1&labelSelector=a%20b%20c");
    let request = upgrade(&path).header("origin", "http://x");
    assert_eq!(refused(&server, request).await, 400);
}
