//! A thousand connections that write at once, five times more than are served at one time: each
//! waits for its turn, and none is refused.

use listwatch_sim::client::{Client, Collection, ListOptions};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    task::JoinSet,
};

use crate::server::Server;

const WRITERS: usize = 1_000;
const WRITES_EACH: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_connections_write_at_once_and_none_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let mut connections = Vec::new();
    for _ in 0..WRITERS {
        connections.push(TcpStream::connect(&server.address).await.unwrap());
    }
    let mut writers = JoinSet::new();
    for (number, stream) in connections.into_iter().enumerate() {
        writers.spawn(write_several(stream, number));
    }
    let codes: Vec<String> = writers.join_all().await.concat();
    let refused: Vec<_> = codes
        .iter()
        .filter(|line| !line.contains(" 201 "))
        .collect();
    assert!(
        refused.is_empty(),
        "{} such as {:?}",
        refused.len(),
        refused[0]
    );

    let client = Client::new(&format!("http://{}", server.address)).unwrap();
    let configmaps = Collection::core("configmaps").in_namespace("default");
    let written = client
        .list(&configmaps, &ListOptions::default())
        .await
        .unwrap();
    assert_eq!(written.items.len(), WRITERS * WRITES_EACH);
}

/// Creates objects one after the other; the first line of each answer.
async fn write_several(stream: TcpStream, writer: usize) -> Vec<String> {
    let mut stream = BufReader::new(stream);
    let mut lines = Vec::new();
    for number in 0..WRITES_EACH {
        let body = format!(r#"{{"metadata":{{"name":"written-{writer}-{number}"}}}}"#);
        let request = format!(
            "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        lines.push(read_answer(&mut stream).await);
    }
    lines
}

/// Reads an answer to its end, and returns its first line.
async fn read_answer(stream: &mut BufReader<TcpStream>) -> String {
    let mut first = String::new();
    stream.read_line(&mut first).await.unwrap();
    let mut length = 0;
    let mut line = first.clone();
    while line != "\r\n" {
        line.clear();
        assert_ne!(stream.read_line(&mut line).await.unwrap(), 0, "{first}");
        if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    first
}
