//! Too much of what would be fine once.

use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::soon;
use crate::{
    client::{SharedConnection, get},
    running::{CONFIG_MAPS, TestServer, start_server, within},
};

const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=1";

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
        let mut connection = SharedConnection::reluctant(server.address()).await;
        for _ in 0..WATCHES {
            unread.push(connection.watch(WATCH).await);
        }
    }
    let mut healthy = server.watch(WATCH).await;
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
    server.has_open_watches(0).await;
}

#[tokio::test]
async fn watches_opened_and_closed_in_a_loop_leave_nothing_behind() {
    let server = start_server().await;
    create(&server, "a", 10).await;
    for _ in 0..300 {
        let mut events = server.watch(WATCH).await;
        events.shows(&["ADDED a"]).await;
    }
    server.has_open_watches(0).await;
    server.assert_well().await;
}

#[tokio::test]
async fn streams_that_are_reset_at_once_leave_nothing_behind() {
    let server = start_server().await;
    for _ in 0..5 {
        let mut connection = SharedConnection::open(server.address()).await;
        for _ in 0..500 {
            if connection.0.ready().await.is_err() {
                break;
            }
            let request = connection.0.send_request(get(WATCH));
            // Polled once, so that it is sent, and reset by the drop.
            let _ = tokio::time::timeout(Duration::ZERO, request).await;
        }
    }
    server.assert_well().await;
    server.has_open_watches(0).await;
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
