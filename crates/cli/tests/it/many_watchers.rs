//! A thousand watchers, a thousand updates: each sees all of them, in order.

use std::time::Duration;

use listwatch_sim::client::{Client, Collection, Patch};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};

use crate::server::Server;

const WATCHERS: usize = 1_000;
const UPDATES: usize = 1_000;
/// Far more than it takes, so that only a lost event runs into it.
const PATIENCE: Duration = Duration::from_secs(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_watchers_each_see_a_thousand_updates_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let client = Client::new(&format!("http://{}", server.address)).unwrap();
    let configmaps = Collection::core("configmaps").in_namespace("default");
    let object = json!({"metadata": {"name": "counter"}, "data": {"count": "0"}});
    let created = client.create(&configmaps, &object).await.unwrap();
    let version = created["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();

    let mut watchers = JoinSet::new();
    for _ in 0..WATCHERS {
        let stream = open_watch(&server.address, &version).await;
        watchers.spawn(timeout(PATIENCE, counts_seen(stream)));
    }
    for count in 1..=UPDATES {
        let patch = Patch::Merge(json!({"data": {"count": count.to_string()}}));
        client.patch(&configmaps, "counter", &patch).await.unwrap();
    }
    let expected: Vec<usize> = (1..=UPDATES).collect();
    while let Some(seen) = watchers.join_next().await {
        let seen = seen.unwrap().expect("every update arrives");
        assert!(
            seen == expected,
            "saw {} updates, or not in order",
            seen.len()
        );
    }
}

/// Sends the request and reads the head of the answer, so that the watch is open on return.
async fn open_watch(address: &str, version: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /api/v1/namespaces/default/configmaps?watch=1&resourceVersion={version} HTTP/1.1\r\n\
         Host: {address}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        assert_ne!(
            reader.read_line(&mut line).await.unwrap(),
            0,
            "the head arrives"
        );
    }
    reader
}

/// The count in each event, until the last one has come or the stream ends.
async fn counts_seen(mut stream: BufReader<TcpStream>) -> Vec<usize> {
    let mut seen = Vec::new();
    let mut line = String::new();
    while seen.last() != Some(&UPDATES) && stream.read_line(&mut line).await.unwrap() > 0 {
        if let Some((_, rest)) = line.split_once(r#""count":""#) {
            assert!(line.starts_with(r#"{"type":"MODIFIED""#), "{line}");
            let (count, _) = rest.split_once('"').unwrap();
            seen.push(count.parse().unwrap());
        }
        line.clear();
    }
    seen
}
