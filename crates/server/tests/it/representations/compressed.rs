//! gzip: for large answers, and for watches that begin with state.

use std::io::Read;

use flate2::read::{GzDecoder, MultiGzDecoder};
use http::Method;
use serde_json::{Value, json};

use super::CONFIG_MAPS;
use crate::{
    client::{Client, Event, names},
    running::{TestServer, start_server},
};

/// A server with objects that together are larger than what is worth compressing.
async fn much() -> TestServer {
    let server = start_server().await;
    for index in 0..4 {
        let name = format!("big-{index}");
        let object = json!({"metadata": {"name": name}, "data": {"k": "x".repeat(50_000)}});
        server.post(CONFIG_MAPS, &object).await.created();
    }
    server
}

fn decompress(bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut whole).unwrap();
    whole
}

async fn get_gzip(server: &Client, path: &str) -> crate::client::Answer {
    let call = server.call(Method::GET, path);
    call.header("accept-encoding", "gzip").answer().await
}

#[tokio::test]
async fn a_large_list_is_compressed_for_those_who_can_read_it() {
    let server = much().await;
    let answer = get_gzip(&server, CONFIG_MAPS).await;
    assert_eq!(answer.header("content-encoding"), "gzip");
    assert_eq!(answer.header("vary"), "Accept-Encoding");
    assert!(answer.body.len() < 20_000);
    let list: Value = serde_json::from_slice(&decompress(&answer.body)).unwrap();
    assert_eq!(names(&list).len(), 4);

    let plain = server.get(CONFIG_MAPS).await;
    assert_eq!(plain.header("content-encoding"), "");
    assert_eq!(plain.item_names(), names(&list));
}

#[tokio::test]
async fn a_large_object_is_compressed_too() {
    let server = start_server().await;
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "x".repeat(200_000)}});
    server.post(CONFIG_MAPS, &object).await.created();
    let answer = get_gzip(&server, &format!("{CONFIG_MAPS}/a")).await;
    assert_eq!(answer.header("content-encoding"), "gzip");
    let object: Value = serde_json::from_slice(&decompress(&answer.body)).unwrap();
    assert_eq!(object["metadata"]["name"], "a");
}

#[tokio::test]
async fn a_small_answer_is_sent_as_it_is() {
    let server = start_server().await;
    let answer = get_gzip(&server, "/api/v1/namespaces").await;
    assert_eq!(answer.header("content-encoding"), "");
    assert_eq!(answer.item_names().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_begins_with_state_is_compressed() {
    let server = much().await;
    let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=1");
    let answer = get_gzip(&server, &path).await;
    assert_eq!(answer.header("content-encoding"), "gzip");
    let lines = decompress(&answer.body);
    let events: Vec<Event> = lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(Event::parse)
        .collect();
    assert_eq!(events.len(), 5);
    assert_eq!(events[4].event_type, "BOOKMARK");
}

#[tokio::test(start_paused = true)]
async fn an_event_of_a_compressed_watch_does_not_wait_for_the_next() {
    let server = much().await;
    let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true");
    let call = server.call(Method::GET, &path);
    let mut bytes = call.header("accept-encoding", "gzip").chunks().await;
    let mut received = Vec::new();
    let readable = |received: &[u8]| {
        let mut text = Vec::new();
        // What has arrived may end anywhere.
        let _ = MultiGzDecoder::new(received).read_to_end(&mut text);
        text.iter().filter(|byte| **byte == b'\n').count()
    };
    while readable(&received) < 5 {
        received.extend_from_slice(&bytes.next().await);
    }
    server.delete(&format!("{CONFIG_MAPS}/big-0")).await.ok();
    while readable(&received) < 6 {
        received.extend_from_slice(&bytes.next().await);
    }
}

#[tokio::test(start_paused = true)]
async fn other_watches_are_never_compressed() {
    let server = much().await;
    for query in [
        "watch=1",
        "watch=1&resourceVersion=1&allowWatchBookmarks=true",
    ] {
        let path = format!("{CONFIG_MAPS}?{query}&timeoutSeconds=1");
        let answer = get_gzip(&server, &path).await;
        assert_eq!(answer.header("content-encoding"), "", "{query}");
    }
}

#[tokio::test]
async fn the_first_part_of_a_compressed_list_is_a_gzip_stream_of_its_own() {
    let server = much().await;
    let answer = get_gzip(&server, CONFIG_MAPS).await;
    let mut whole = Vec::new();
    let mut single = GzDecoder::new(&answer.body[..]);
    single.read_to_end(&mut whole).unwrap();
    assert_eq!(
        whole,
        decompress(&answer.body),
        "old readers read one member"
    );
}
