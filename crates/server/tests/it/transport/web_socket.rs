//! The same events as text messages over a WebSocket.

use futures_util::{SinkExt, StreamExt};
use http::Request;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{
        Error, Message,
        handshake::client::{Response, generate_key},
        protocol::frame::coding::CloseCode,
    },
};

use crate::{
    client::Event,
    running::{TestServer, start_server, within},
};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A well-formed wish for a WebSocket, but for the headers that a test adds or leaves out.
fn upgrade(path: &str) -> http::request::Builder {
    Request::get(format!("ws://server{path}"))
        .header("host", "server")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", generate_key())
}

async fn open(
    server: &TestServer,
    request: http::request::Builder,
) -> Result<(WebSocketStream<TcpStream>, Response), Error> {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    within(client_async(request.body(()).unwrap(), stream)).await
}

/// The code of a refusal.
async fn refused(server: &TestServer, request: http::request::Builder) -> u16 {
    match open(server, request).await {
        Err(Error::Http(response)) => response.status().as_u16(),
        other => panic!("not refused: {other:?}"),
    }
}

async fn next(socket: &mut WebSocketStream<TcpStream>) -> Message {
    within(socket.next()).await.unwrap().unwrap()
}

async fn next_event(socket: &mut WebSocketStream<TcpStream>) -> Event {
    let Message::Text(text) = next(socket).await else {
        panic!("not text");
    };
    let line = text.strip_suffix('\n').expect("each with its newline");
    Event::parse(line.as_bytes())
}

#[tokio::test]
async fn events_are_text_messages() {
    let server = start_server().await;
    let object = json!({"metadata": {"name": "a"}});
    server.post(CONFIG_MAPS, &object).await.created();
    let request = upgrade(&format!("{CONFIG_MAPS}?watch=1")).header("origin", "http://x");
    let (mut socket, response) = open(&server, request).await.unwrap();
    assert_eq!(response.status(), 101);
    assert_eq!(next_event(&mut socket).await.shown(), "ADDED a");
    // What a client says means nothing.
    socket.send(Message::text("hello")).await.unwrap();
    server.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    assert_eq!(next_event(&mut socket).await.shown(), "DELETED a");
    socket.close(None).await.unwrap();
    server.assert_well().await;
}

#[tokio::test]
async fn a_watch_that_ends_closes_its_socket_normally() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1");
    let request = upgrade(&path).header("origin", "http://x");
    let (mut socket, _) = open(&server, request).await.unwrap();
    let Message::Close(Some(frame)) = next(&mut socket).await else {
        panic!("not closed with a code");
    };
    assert_eq!(frame.code, CloseCode::Normal);
}

#[tokio::test]
async fn a_single_protocol_is_echoed() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?watch=1");
    let request = upgrade(&path)
        .header("origin", "http://x")
        .header("sec-websocket-protocol", "base64.binary.k8s.io");
    let (_, response) = open(&server, request).await.unwrap();
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
