use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

fn options(start: WatchStart, bookmarks: Bookmarks) -> WatchOptions {
    WatchOptions {
        label_selector: Some("a=b".to_owned()),
        field_selector: None,
        start,
        bookmarks,
        timeout: Some(Duration::from_secs(3)),
    }
}

/// A server that gives each connection this answer and closes.
async fn answering(answer: String) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let read = socket.read_buf(&mut request).await.unwrap();
                assert_ne!(read, 0);
            }
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    Client::new(&format!("http://{address}")).unwrap()
}

fn chunked(lines: &[Value]) -> String {
    let mut answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
    for line in lines {
        let text = format!("{line}\n");
        answer.push_str(&format!("{:x}\r\n{text}\r\n", text.len()));
    }
    answer
}

async fn watch(answer: String) -> WatchStream {
    let client = answering(answer).await;
    let start = WatchStart::After(ResourceVersion::new(5));
    let options = options(start, Bookmarks::Wanted);
    client
        .watch(&Collection::core("pods"), &options)
        .await
        .unwrap()
}

#[test]
fn a_watch_says_where_it_begins_and_what_it_wants() {
    let pods = Collection::core("pods");
    let after = WatchStart::After(ResourceVersion::new(5));
    assert_eq!(
        options(after, Bookmarks::Unwanted).path(&pods),
        "/api/v1/pods?watch=true&labelSelector=a%3Db&resourceVersion=5&timeoutSeconds=3"
    );
    let state = WatchStart::State(Freshness::MostRecent);
    assert_eq!(
        options(state, Bookmarks::Wanted).path(&pods),
        "/api/v1/pods?watch=true&labelSelector=a%3Db&resourceVersionMatch=NotOlderThan\
         &sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=3"
    );
}

#[tokio::test]
async fn events_come_typed_and_in_order_until_the_server_ends() {
    let object = json!({"metadata": {"name": "x", "resourceVersion": "6"}});
    let mark = json!({"metadata": {
        "resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"},
    }});
    let mut answer = chunked(&[
        json!({"type": "ADDED", "object": object}),
        json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "8"}}}),
        json!({"type": "BOOKMARK", "object": mark}),
        json!({"type": "DELETED", "object": object}),
    ]);
    answer.push_str("0\r\n\r\n");
    let mut stream = watch(answer).await;
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event.unwrap());
    }
    assert_eq!(
        events,
        [
            WatchEvent::Added(object.clone()),
            WatchEvent::Bookmark(Bookmark::Progress("8".to_owned())),
            WatchEvent::Bookmark(Bookmark::InitialEventsEnd("9".to_owned())),
            WatchEvent::Deleted(object),
        ]
    );
}

#[tokio::test]
async fn a_cut_connection_is_told_from_a_good_end() {
    let event = json!({"type": "ADDED", "object": {}});
    let mut stream = watch(chunked(&[event])).await;
    assert!(matches!(
        stream.next().await,
        Some(Ok(WatchEvent::Added(_)))
    ));
    assert!(matches!(
        stream.next().await,
        Some(Err(WatchError::Disconnected { .. }))
    ));
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn an_error_in_the_stream_ends_it_and_says_what_to_do() {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too old resource version: 1 (163)", "reason": "Expired", "code": 410,
    });
    let late = json!({"type": "ADDED", "object": {}});
    let mut stream = watch(chunked(&[json!({"type": "ERROR", "object": status}), late])).await;
    assert!(matches!(
        stream.next().await,
        Some(Err(WatchError::Expired(_)))
    ));
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn a_refused_watch_is_an_error_of_the_request() {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "no", "reason": "Expired", "code": 410,
    })
    .to_string();
    let answer = format!(
        "HTTP/1.1 410 Gone\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let client = answering(answer).await;
    let state = WatchStart::State(Freshness::Any);
    let refused = client
        .watch(
            &Collection::core("pods"),
            &options(state, Bookmarks::Wanted),
        )
        .await;
    assert!(matches!(refused, Err(RequestError::Expired(_))));
}
