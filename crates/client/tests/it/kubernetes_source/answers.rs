//! What a server may answer, made up byte by byte.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

use super::*;
use crate::real_server::client_of;

/// Answers the first request with these bytes, closes the connection, and says what was asked.
async fn answering(answer: impl Into<Vec<u8>>) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = answer.into();
    let asked = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            asked.push(connection.read_u8().await.unwrap());
        }
        connection.write_all(&answer).await.unwrap();
        connection.shutdown().await.unwrap();
        String::from_utf8(asked).unwrap()
    });
    (address, asked)
}

fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

/// An answer whose body ends with the connection.
fn endless(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{body}")
}

fn config_maps(address: SocketAddr) -> KubernetesSource {
    KubernetesSource::all::<ConfigMap>(client_of(address))
}

fn after_five() -> WatchOptions {
    starting(WatchStart::After(5.into()))
}

#[tokio::test]
async fn refusals_say_what_to_do_next_and_are_not_repeated_unseen() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let cases = [
        (
            response("429 Too Many Requests", "Retry-After: 7\r\n", "later\n"),
            SourceError::TooManyRequests {
                message: "later".to_owned(),
                retry_after: seconds(7),
            },
        ),
        (
            response(
                "504 Gateway Timeout",
                "Retry-After: 1\r\n",
                r#"{"kind":"Status","message":"m","reason":"Timeout","code":504,"details":{
                    "causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":2}}"#,
            ),
            SourceError::TooLarge {
                message: "m".to_owned(),
                retry_after: seconds(2),
            },
        ),
        (
            response("503 Service Unavailable", "", "<html>"),
            SourceError::Internal {
                code: 503,
                message: "<html>".to_owned(),
            },
        ),
        (
            response("401 Unauthorized", "", r#"{"message":"Unauthorized"}"#),
            SourceError::Denied {
                code: 401,
                message: "Unauthorized".to_owned(),
            },
        ),
        (
            response(
                "422 Unprocessable Entity",
                "",
                r#"{"message":"m","code":422}"#,
            ),
            SourceError::Refused {
                code: 422,
                message: "m".to_owned(),
            },
        ),
    ];
    for (answer, expected) in cases {
        let (address, _) = answering(answer.clone()).await;
        let error = list(&config_maps(address), &most_recent()).await;
        assert_eq!(error.unwrap_err(), expected);
        let (address, _) = answering(answer).await;
        let error = within(config_maps(address).watch(&after_five())).await;
        assert_eq!(error.err(), Some(expected));
    }
}

#[tokio::test]
async fn a_refused_connection_is_told_from_a_lost_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = list(&config_maps(address), &most_recent())
        .await
        .unwrap_err();
    assert!(
        matches!(error, SourceError::ConnectionRefused { .. }),
        "{error}"
    );
    let (address, _) = answering("").await;
    let error = list(&config_maps(address), &most_recent())
        .await
        .unwrap_err();
    assert!(matches!(error, SourceError::Disconnected { .. }), "{error}");
}

#[tokio::test]
async fn what_is_asked_is_what_client_go_asks() {
    let (address, asked) = answering(endless("")).await;
    let source = config_maps(address).labels("a=b").metadata_only();
    within(source.watch(&after_five())).await.unwrap();
    let asked = asked.await.unwrap().to_lowercase();
    let first = asked.lines().next().unwrap();
    let expected = "get /api/v1/configmaps?watch=true&allowwatchbookmarks=true&timeoutseconds=300\
                    &resourceversion=5&labelselector=a%3db http/1.1";
    assert_eq!(first, expected);
    let accept = "accept: application/json;as=partialobjectmetadata;g=meta.k8s.io;v=v1,\
                  application/json";
    assert!(asked.lines().any(|line| line == accept), "{asked}");
    assert!(
        asked
            .lines()
            .any(|line| line == "accept-encoding: identity")
    );
}

#[tokio::test]
async fn a_watch_that_is_cut_within_an_event_is_a_lost_connection() {
    let object = r#"{"metadata":{"name":"a","resourceVersion":"6"}}"#;
    let event = format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n");
    let (address, _) = answering(endless(&format!("{event}{}", &event[..30]))).await;
    let mut stream = within(config_maps(address).watch(&after_five()))
        .await
        .unwrap();
    assert_eq!(lines(&mut *stream, 1).await, ["ADDED a"]);
    let error = within(stream.next()).await.unwrap().unwrap_err();
    assert!(matches!(error, SourceError::Disconnected { .. }), "{error}");
}

#[tokio::test]
async fn an_event_of_an_unknown_type_is_passed_over_and_an_error_ends_the_watch() {
    let object = r#"{"metadata":{"name":"a","resourceVersion":"6"}}"#;
    let frame = |kind, object| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
    let frames = [
        frame("PATCHED", object),
        frame("MODIFIED", object),
        frame("ERROR", r#"{"code":410,"message":"m"}"#),
    ];
    let (address, _) = answering(endless(&frames.concat())).await;
    let mut stream = within(config_maps(address).watch(&after_five()))
        .await
        .unwrap();
    let lines = lines(&mut *stream, 2).await;
    let expected = ["UNREADABLE: the type of the event is unknown", "MODIFIED a"];
    assert_eq!(lines, expected);
    let error = within(stream.next()).await.unwrap().unwrap_err();
    let message = "m".to_owned();
    assert_eq!(error, SourceError::Expired { message });
    assert!(within(stream.next()).await.is_none());
}

#[tokio::test]
async fn a_list_that_is_cut_is_a_lost_connection_also_when_nobody_says_so() {
    let whole = r#"{"items":[],"metadata":{"resourceVersion":"9"}}"#;
    let (address, _) = answering(endless(whole)).await;
    let (_, end) = list(&config_maps(address), &most_recent()).await.unwrap();
    assert_eq!(end.version, Some(9.into()));
    let (address, _) = answering(endless(&whole[..20])).await;
    let error = list(&config_maps(address), &most_recent())
        .await
        .unwrap_err();
    assert!(matches!(error, SourceError::Disconnected { .. }), "{error}");
}

#[tokio::test]
async fn what_is_no_list_is_refused_with_the_reason() {
    let table = response("200 OK", "", r#"{"kind":"Table","rows":[]}"#);
    let page = response("200 OK", "Content-Type: text/html\r\n", "<html>");
    for (answer, word) in [(table, "table"), (page, "text/html")] {
        let (address, _) = answering(answer).await;
        let error = list(&config_maps(address), &most_recent())
            .await
            .unwrap_err();
        assert!(matches!(error, SourceError::Unreadable { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_web_sockets_is_told() {
    use listwatch::source::kubernetes::Transport;
    let (address, asked) = answering(endless("")).await;
    let source = config_maps(address).transport(Transport::WebSocket);
    let error = within(source.watch(&after_five())).await.err().unwrap();
    assert!(matches!(error, SourceError::Unreadable { .. }), "{error}");
    let asked = asked.await.unwrap().to_lowercase();
    assert!(asked.contains("upgrade: websocket") && asked.contains("origin: "));
    assert!(!asked.contains("sec-websocket-protocol"));
}
