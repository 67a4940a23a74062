//! Bytes that are no HTTP, or HTTP with two meanings.

use serde_json::json;

use super::{CONFIG_MAPS, soon};
use crate::running::{TestServer, start_server, within};

/// Sends bytes, closes nothing, and returns all that comes until the server closes.
async fn exchange(server: &TestServer, bytes: impl AsRef<[u8]>) -> String {
    let mut connection = server.raw().await;
    connection.send(bytes).await;
    soon(within(connection.read_to_end())).await
}

#[tokio::test]
async fn what_is_not_http_is_refused_and_closed() {
    let server = start_server().await;
    for bytes in [
        "\0\0\0\0\0\0\0\0\r\n\r\n",
        "hello\r\n\r\n",
        "GET\r\n\r\n",
        "GET /readyz\r\n\r\n",
        "GET /readyz HTTP/9.9\r\n\r\n",
        "GET /readyz HTTP/1.1\r\nno colon\r\n\r\n",
        "GET /readyz HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n",
        "GET /readyz HTTP/1.1\r\nHost: x\r\nA : c\r\n\r\n",
        "GET /readyz HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n",
        "GET /readyz HTTP/1.1\r\nHost: x\r\nA: \u{0}\r\n\r\n",
        "GET /rea dyz HTTP/1.1\r\nHost: x\r\n\r\n",
        "G\u{e4}T /readyz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}\r\n\r\n",
    ] {
        let answer = exchange(&server, bytes).await;
        let refused = answer.is_empty() || answer.starts_with("HTTP/1.1 400 ");
        assert!(refused, "{bytes:?}: {answer}");
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_body_has_one_length() {
    let server = start_server().await;
    let body = json!({"metadata": {"name": "smuggled"}}).to_string();
    for framing in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: -5\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 0x10\r\n",
        "Content-Length: 99999999999999999999999\r\n",
        "Content-Length: five\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity\r\n",
    ] {
        let head = format!(
            "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             {framing}\r\n{body}"
        );
        let answer = exchange(&server, head).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{framing:?}: {answer}");
    }
    server
        .get(&format!("{CONFIG_MAPS}/smuggled"))
        .await
        .refused(404);
    server.assert_well().await;
}

#[tokio::test]
async fn chunks_that_lie_end_the_connection() {
    let server = start_server().await;
    for chunks in [
        "zz\r\nhello\r\n0\r\n\r\n",
        "FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello world\r\n0\r\n\r\n",
        "5 hello\r\n0\r\n\r\n",
    ] {
        let head = format!(
            "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             Transfer-Encoding: chunked\r\n\r\n{chunks}"
        );
        let answer = exchange(&server, head).await;
        let refused = answer.is_empty() || answer.starts_with("HTTP/1.1 400 ");
        assert!(refused, "{chunks:?}: {answer}");
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_body_that_nobody_reads_is_not_taken_for_a_request() {
    let server = start_server().await;
    let inner = format!("DELETE {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\n\r\n");
    server
        .post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}}))
        .await
        .created();
    for path in [
        "/api/v1/nosuch",
        "/readyz",
        "/api/v1/configmaps",
        "/nowhere",
    ] {
        for method in ["GET", "POST"] {
            let outer = format!(
                "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{inner}\
                 GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                inner.len()
            );
            let answers = exchange(&server, outer).await;
            let count = answers.matches("HTTP/1.1 ").count();
            assert!((1..=2).contains(&count), "{method} {path}: {answers}");
        }
    }
    let watch = format!(
        "GET {CONFIG_MAPS}?watch=1&timeoutSeconds=1 HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{inner}",
        inner.len()
    );
    exchange(&server, watch).await;
    assert_eq!(server.get(CONFIG_MAPS).await.item_names(), ["a"]);
}

#[tokio::test]
async fn a_request_cut_in_the_middle_changes_nothing() {
    let server = start_server().await;
    let body = json!({"metadata": {"name": "half"}}).to_string();
    let whole = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for cut in (0..whole.len()).step_by(7) {
        let mut connection = server.raw().await;
        connection.send(&whole[..cut]).await;
    }
    server.assert_well().await;
    server
        .get(&format!("{CONFIG_MAPS}/half"))
        .await
        .refused(404);
}

#[tokio::test]
async fn heads_beyond_all_measure_are_refused() {
    let server = start_server().await;
    let many: String = (0..5_000).map(|index| format!("h{index}: v\r\n")).collect();
    let long = format!("long: {}\r\n", "x".repeat(1_000_000));
    for headers in [many, long] {
        let answer = exchange(&server, format!("GET /readyz HTTP/1.1\r\n{headers}\r\n")).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 431 "),
            "{answer}"
        );
    }
    server.assert_well().await;
}

#[tokio::test]
async fn headers_that_stand_twice_are_read_once() {
    let server = start_server().await;
    let object = json!({"metadata": {"name": "a"}}).to_string();
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nHost: y\r\nAccept: application/json\r\n\
         Accept: text/html\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\n\
         Authorization: Bearer a\r\nAuthorization: Bearer b\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{object}",
        object.len()
    );
    let answer = exchange(&server, head).await;
    let accepted = answer.starts_with("HTTP/1.1 201 ") || answer.starts_with("HTTP/1.1 400 ");
    assert!(accepted, "{answer}");
    server.assert_well().await;
}

#[tokio::test]
async fn odd_methods_and_targets_are_answered() {
    let server = start_server().await;
    for (line, expected) in [
        ("get /readyz", "405"),
        ("CONNECT example.com:443", "4"),
        ("TRACE /api/v1/pods", "405"),
        ("BREW /api/v1/pods", "405"),
        ("OPTIONS *", "4"),
        ("GET http://elsewhere/readyz", "200"),
        ("GET /readyz?a=%zz&%00&=&&&===", "200"),
        ("GET /readyz#fragment", ""),
        ("HEAD /api/v1/pods", "405"),
        ("PRI *", "4"),
    ] {
        let head = format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let answer = exchange(&server, head).await;
        let code = answer.get(9..12).unwrap_or_default();
        assert!(code.starts_with(expected), "{line}: {answer}");
        assert!(!code.starts_with('5'), "{line}: {answer}");
    }
    server.assert_well().await;
}
