//! HTTP/1.0 and HTTP/1.1 on the wire.

use serde_json::json;

use crate::running::{CONFIG_MAPS, start_server};

#[tokio::test]
async fn a_watch_is_sent_in_chunks_of_whole_lines() {
    let server = start_server().await;
    let object = json!({"metadata": {"name": "a"}});
    let mut connection = server.raw().await;
    let head = format!("GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    connection.send(head).await;
    let head = connection.read_until("\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}");

    server.post(CONFIG_MAPS, &object).await.created();
    let chunk = connection.read_until("}\n\r\n").await;
    let (size, data) = chunk.split_once("\r\n").unwrap();
    let size = usize::from_str_radix(size, 16).unwrap();
    assert_eq!(data.len(), size + "\r\n".len());
    assert!(data.starts_with(r#"{"type":"ADDED","object":{"kind":"ConfigMap","#));
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let server = start_server().await;
    let mut connection = server.raw().await;
    for _ in 0..3 {
        connection
            .send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
            .await;
        let answer = connection.read_until("\r\n\r\nok").await;
        assert!(answer.contains("content-length: 2\r\n"), "{answer}");
    }
    let pipelined = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2);
    connection.send(pipelined).await;
    connection.read_until("\r\n\r\nokHTTP/1.1 200").await;
}

#[tokio::test]
async fn an_old_client_gets_a_list_that_ends_with_the_connection() {
    let server = start_server().await;
    let mut connection = server.raw().await;
    connection
        .send("GET /api/v1/namespaces HTTP/1.0\r\n\r\n")
        .await;
    let answer = connection.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let list: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(list["kind"], "NamespaceList");
}

#[tokio::test]
async fn a_client_that_asks_first_is_told_to_go_on() {
    let server = start_server().await;
    let body = json!({"metadata": {"name": "a"}}).to_string();
    let mut connection = server.raw().await;
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.send(head).await;
    connection.read_until("HTTP/1.1 100 Continue\r\n").await;
    connection.send(body).await;
    connection.read_until("HTTP/1.1 201 Created\r\n").await;
}

#[tokio::test]
async fn a_body_in_chunks_is_read_whole() {
    let server = start_server().await;
    let mut connection = server.raw().await;
    connection
        .send(format!(
            "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             Transfer-Encoding: chunked\r\n\r\n"
        ))
        .await;
    for piece in [r#"{"metadata":"#, r#"{"name":"pieces"}}"#] {
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        connection.send(chunk).await;
    }
    connection.send("0\r\n\r\n").await;
    connection.read_until("HTTP/1.1 201 Created\r\n").await;
}

#[tokio::test]
async fn an_old_client_can_watch_without_chunks() {
    let server = start_server().await;
    server
        .post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}}))
        .await
        .created();
    let mut connection = server.raw().await;
    let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1");
    connection
        .send(format!("GET {path} HTTP/1.0\r\n\r\n"))
        .await;
    let answer = connection.read_to_end().await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(!head.contains("chunked"), "{head}");
    assert!(body.starts_with("{\"type\":\"ADDED\""), "{body}");
    assert!(body.ends_with("}\n"), "{body}");
}
