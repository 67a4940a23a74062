//! HTTP/2 with prior knowledge, as clients speak it inside a cluster.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::net::TcpStream;

use crate::{
    client::Events,
    running::{TestServer, start_server, within},
};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn connect(server: &TestServer) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

fn get(path: &str) -> Request<Full<Bytes>> {
    let request = Request::get(format!("http://server{path}"));
    request.body(Full::default()).unwrap()
}

#[tokio::test]
async fn one_connection_carries_many_watches_and_the_writes_between() {
    let server = start_server().await;
    let mut connection = connect(&server).await;
    let mut watches = Vec::new();
    for _ in 0..20 {
        let request = get(&format!("{CONFIG_MAPS}?watch=1"));
        let response = within(connection.send_request(request)).await.unwrap();
        assert_eq!(response.version(), http::Version::HTTP_2);
        assert_eq!(response.status(), 200);
        watches.push(Events::new(response));
    }
    let body = json!({"metadata": {"name": "a"}}).to_string();
    let request = Request::post(format!("http://server{CONFIG_MAPS}"))
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .unwrap();
    let response = within(connection.send_request(request)).await.unwrap();
    assert_eq!(response.status(), 201);
    for watch in &mut watches {
        watch.shows(&["ADDED a"]).await;
    }
}

#[tokio::test]
async fn an_unread_watch_does_not_hold_up_the_others_on_its_connection() {
    let server = start_server().await;
    let mut connection = connect(&server).await;
    let path = format!("{CONFIG_MAPS}?watch=1");
    let unread = within(connection.send_request(get(&path))).await.unwrap();
    let filler = "x".repeat(50_000);
    for index in 0..20 {
        let object = json!({"metadata": {"name": format!("big-{index}")}, "data": {"k": filler}});
        server.post(CONFIG_MAPS, &object).await.created();
    }
    let response = within(connection.send_request(get("/readyz"))).await;
    let body = within(response.unwrap().into_body().collect()).await;
    assert_eq!(body.unwrap().to_bytes(), "ok");

    let mut events = Events::new(unread);
    for index in 0..20 {
        events.shows(&[&format!("ADDED big-{index}")]).await;
    }
}
