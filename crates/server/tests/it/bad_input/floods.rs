//! Too much of what would be fine once.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{CONFIG_MAPS, soon};
use crate::running::{TestServer, start_server, within};

async fn connect(server: &TestServer) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let mut builder = Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(1024);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn watch_request() -> Request<Full<Bytes>> {
    let request = Request::get(format!("http://server{CONFIG_MAPS}?watch=1"));
    request.body(Full::default()).unwrap()
}

/// Waits until the server has noticed that all its watchers are gone.
async fn all_watches_closed(server: &TestServer) {
    within(async {
        loop {
            let text = server.get("/metrics").await.text();
            let mut gauges = text
                .lines()
                .filter(|line| line.starts_with("apiserver_longrunning_requests{"));
            if gauges.all(|line| line.ends_with(" 0")) {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn create(server: &TestServer, name: &str, bytes: usize) {
    let object = json!({"metadata": {"name": name}, "data": {"k": "x".repeat(bytes)}});
    server.post(CONFIG_MAPS, &object).await.created();
}

#[tokio::test]
async fn watches_that_nobody_reads_delay_nobody() {
    const CONNECTIONS: usize = 8;
    const WATCHES: usize = 250;
    let server = start_server().await;
    let mut unread = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = connect(&server).await;
        for _ in 0..WATCHES {
            let response = within(connection.send_request(watch_request()))
                .await
                .unwrap();
            assert_eq!(response.status(), 200);
            unread.push(response);
        }
    }
    let mut healthy = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    for index in 0..20 {
        let name = format!("big-{index}");
        soon(async {
            create(&server, &name, 10_000).await;
            healthy.shows(&[&format!("ADDED {name}")]).await;
        })
        .await;
    }
    server.assert_well().await;
    drop((unread, healthy));
    all_watches_closed(&server).await;
}

#[tokio::test]
async fn watches_opened_and_closed_in_a_loop_leave_nothing_behind() {
    let server = start_server().await;
    create(&server, "a", 10).await;
    for _ in 0..300 {
        let mut events = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
        events.shows(&["ADDED a"]).await;
    }
    all_watches_closed(&server).await;
    server.assert_well().await;
}

#[tokio::test]
async fn streams_that_are_reset_at_once_leave_nothing_behind() {
    let server = start_server().await;
    for _ in 0..5 {
        let mut connection = connect(&server).await;
        for _ in 0..500 {
            if connection.ready().await.is_err() {
                break;
            }
            let request = connection.send_request(watch_request());
            // Polled once, so that it is sent, and reset by the drop.
            let _ = tokio::time::timeout(Duration::ZERO, request).await;
        }
    }
    server.assert_well().await;
    all_watches_closed(&server).await;
}

#[tokio::test]
async fn pings_and_settings_without_end_hold_up_nobody() {
    let server = start_server().await;
    let ping = [&[0, 0, 8, 6, 0, 0, 0, 0, 0], [7_u8; 8].as_slice()].concat();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0_u8].to_vec();
    for frame in [ping, settings] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        stream.write_all(preface).await.unwrap();
        let flood = frame.repeat(20_000);
        // The server may stop reading, or close.
        let flood = tokio::time::timeout(Duration::from_millis(200), stream.write_all(&flood));
        let _ = flood.await;
        server.assert_well().await;
    }
}

#[tokio::test]
async fn frames_that_are_none_end_their_connection_only() {
    let server = start_server().await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice();
    for frames in [
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff".as_slice(),
        b"\0\0\x05\x01\x05\0\0\0\x01abcde",
        b"\0\0\0\x00\x01\0\0\0\x01",
        b"\0\0\x04\x08\0\0\0\0\0\0\0\0\0",
        b"\0\0\x04\x03\0\0\0\0\x63\0\0\0\x08",
    ] {
        let mut connection = server.raw().await;
        connection
            .send([preface, b"\0\0\0\x04\0\0\0\0\0", frames].concat())
            .await;
        within(connection.read_to_end()).await;
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_client_that_reads_byte_by_byte_gets_everything() {
    let server = start_server().await;
    for index in 0..20 {
        create(&server, &format!("object-{index:02}"), 10_000).await;
    }
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head = format!("GET {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    within(async {
        let mut byte = [0];
        while stream.read(&mut byte).await.unwrap() > 0 {
            received.push(byte[0]);
        }
    })
    .await;
    let text = String::from_utf8(received).unwrap();
    assert_eq!(text.matches("\"name\":\"object-").count(), 20);
    assert!(text.ends_with("0\r\n\r\n"));
}

#[tokio::test]
async fn lists_that_nobody_reads_hold_up_nobody() {
    let server = start_server().await;
    for index in 0..10 {
        create(&server, &format!("big-{index}"), 500_000).await;
    }
    let mut unread = Vec::new();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let head = format!("GET {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        unread.push(stream);
    }
    let list = soon(server.get(CONFIG_MAPS)).await;
    assert_eq!(list.item_names().len(), 10);
    server.assert_well().await;
}

#[tokio::test]
async fn connections_opened_and_left_hold_up_nobody() {
    let server = start_server().await;
    let mut left = Vec::new();
    for index in 0..200 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        if index % 2 == 0 {
            stream.write_all(b"GET /api/v1/po").await.unwrap();
        }
        left.push(stream);
    }
    server.assert_well().await;
}
