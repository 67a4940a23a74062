//! Stopping: not ready, finish what is in flight, a last bookmark to each watcher, close.

use serde_json::json;
use tokio::net::TcpStream;

use crate::{
    client::{Event, SharedConnection, WebSocket, version},
    running::{CONFIG_MAPS, TestServer, start_server, within},
};

/// Writes something that a watch of configmaps does not tell, and returns its version.
async fn write_elsewhere(server: &TestServer) -> u64 {
    let object = json!({"metadata": {"generateName": "secret-"}});
    let path = "/api/v1/namespaces/default/secrets";
    let created = server.post(path, &object).await.created();
    server.has_settled().await;
    version(&created)
}

#[tokio::test]
async fn every_watch_ends_with_a_bookmark_if_it_allows_them() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion=1");
    let without = server.watch(&path).await;
    let with = server
        .watch(&format!("{path}&allowWatchBookmarks=true"))
        .await;
    let at = write_elsewhere(&server).await;
    server.shutdown().await;
    assert!(without.rest().await.is_empty());
    let told = with.rest().await;
    assert_eq!(
        told.iter().map(Event::shown).collect::<Vec<_>>(),
        ["BOOKMARK"]
    );
    assert_eq!(told[0].version(), at);
}

#[tokio::test]
async fn a_web_socket_ends_with_a_bookmark_and_is_closed_normally() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion=1&allowWatchBookmarks=true");
    let mut socket = WebSocket::watch(server.address(), &path).await;
    let at = write_elsewhere(&server).await;
    server.shutdown().await;
    assert_eq!(socket.next_event().await.version(), at);
    socket.closes_normally().await;
}

#[tokio::test]
async fn what_is_in_flight_is_finished() {
    let server = start_server().await;
    let mut connection = server.raw().await;
    let body = json!({"metadata": {"name": "late"}}).to_string();
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.send(head).await;
    connection.read_until("100 Continue\r\n").await;
    let store = std::sync::Arc::clone(&server.store);
    let stopping = tokio::spawn(server.shutdown());
    tokio::task::yield_now().await;
    connection.send(body).await;
    let answer = within(connection.read_to_end()).await;
    assert!(answer.contains("HTTP/1.1 201 Created"), "{answer}");
    within(stopping).await.unwrap();
    drop(store);
}

#[tokio::test]
async fn idle_connections_do_not_hold_it_up_and_new_ones_are_not_taken() {
    let server = start_server().await;
    let mut idle = server.raw().await;
    idle.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").await;
    idle.read_until("\r\n\r\nok").await;
    let silent = server.raw().await;
    let address = server.address();
    server.shutdown().await;
    assert_eq!(within(idle.read_to_end()).await, "");
    assert_eq!(within(silent.read_to_end()).await, "");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_finishes_is_cut_in_the_end() {
    let server = start_server().await;
    let mut connection = server.raw().await;
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"
    );
    connection.send(head).await;
    connection.read_until("100 Continue\r\n").await;
    let begun = tokio::time::Instant::now();
    server.shutdown().await;
    assert!((5..20).contains(&begun.elapsed().as_secs()));
    connection.read_to_end().await;
}

#[tokio::test]
async fn a_server_that_is_aborted_cuts_its_connections() {
    let server = start_server().await;
    let mut connection = server.raw().await;
    let head = format!("GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    connection.send(head).await;
    connection.read_until("\r\n\r\n").await;
    server.abort().await;
    assert_eq!(within(connection.read_to_end()).await, "");
}

#[tokio::test]
async fn every_watch_of_a_shared_connection_ends_with_a_bookmark() {
    let server = start_server().await;
    let mut connection = SharedConnection::open(server.address()).await;
    let mut watches = Vec::new();
    for _ in 0..10 {
        let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion=1&allowWatchBookmarks=true");
        watches.push(connection.watch(&path).await);
    }
    let at = write_elsewhere(&server).await;
    server.shutdown().await;
    for watch in watches {
        let told = watch.rest().await;
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].version(), at);
    }
}
