//! HTTP/2 with prior knowledge, as clients speak it inside a cluster.

use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::json;

use crate::{
    client::SharedConnection,
    running::{CONFIG_MAPS, start_server, within},
};

#[tokio::test]
async fn one_connection_carries_many_watches_and_the_writes_between() {
    let server = start_server().await;
    let mut connection = SharedConnection::open(server.address()).await;
    let mut watches = Vec::new();
    for _ in 0..20 {
        watches.push(connection.watch(&format!("{CONFIG_MAPS}?watch=1")).await);
    }
    let body = json!({"metadata": {"name": "a"}}).to_string();
    let request = Request::post(format!("http://server{CONFIG_MAPS}"))
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .unwrap();
    assert_eq!(connection.send(request).await.status(), 201);
    for watch in &mut watches {
        watch.shows(&["ADDED a"]).await;
    }
}

#[tokio::test]
async fn an_unread_watch_does_not_hold_up_the_others_on_its_connection() {
    let server = start_server().await;
    let mut connection = SharedConnection::open(server.address()).await;
    let mut unread = connection.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    let filler = "x".repeat(50_000);
    for index in 0..20 {
        let object = json!({"metadata": {"name": format!("big-{index}")}, "data": {"k": filler}});
        server.post(CONFIG_MAPS, &object).await.created();
    }
    let ready = connection.get("/readyz").await.into_body();
    let body = within(ready.collect()).await.unwrap();
    assert_eq!(body.to_bytes(), "ok");
    for index in 0..20 {
        unread.shows(&[&format!("ADDED big-{index}")]).await;
    }
}
