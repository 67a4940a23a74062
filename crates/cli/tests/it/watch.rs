//! `listwatch watch` beside a server that changes.

use std::process::Stdio;

use listwatch_sim::client::{Client, Collection, Patch, Precondition};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::server::Server;

struct Watch {
    _process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watch {
    fn start(server: &Server, arguments: &[&str]) -> Self {
        Self::start_at(&format!("http://{}", server.address), arguments)
    }

    fn start_at(servers: &str, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_listwatch"))
            .args(["watch", "--server", servers])
            .args(arguments)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        Self {
            _process: process,
            lines: BufReader::new(output).lines(),
        }
    }

    /// The next line, with the version masked.
    async fn line(&mut self) -> String {
        let line = self.lines.next_line().await.unwrap().unwrap();
        match line.split_once('@') {
            Some((before, version)) => {
                assert!(version.parse::<u64>().is_ok(), "{line}");
                format!("{before}@")
            }
            None => line,
        }
    }
}

async fn create(client: &Client, name: &str, labels: Value) {
    let configmaps = Collection::core("configmaps").in_namespace("default");
    let object = json!({"metadata": {"name": name, "labels": labels}, "data": {"is": "blue"}});
    client.create(&configmaps, &object).await.unwrap();
}

async fn turn_red(client: &Client, name: &str) {
    let configmaps = Collection::core("configmaps").in_namespace("default");
    let patch = Patch::Merge(json!({"data": {"is": "red", "since": "today"}}));
    client.patch(&configmaps, name, &patch).await.unwrap();
}

async fn delete(client: &Client, name: &str) {
    let configmaps = Collection::core("configmaps").in_namespace("default");
    let deleted = client.delete(&configmaps, name, Precondition::None).await;
    deleted.unwrap();
}

#[tokio::test]
async fn each_change_is_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let client = Client::new(&format!("http://{}", server.address)).unwrap();
    create(&client, "color", json!({})).await;
    for transport in ["http", "websocket"] {
        let mut watch = Watch::start(&server, &["cm", "--transport", transport]);
        assert_eq!(watch.line().await, "ADDED     default/color   @");
        create(&client, "other", json!({})).await;
        assert_eq!(watch.line().await, "ADDED     default/other   @");
        turn_red(&client, "other").await;
        assert_eq!(watch.line().await, "MODIFIED  default/other   @");
        delete(&client, "other").await;
        assert_eq!(watch.line().await, "DELETED   default/other   @");
    }
}

#[tokio::test]
async fn of_several_servers_one_that_answers_is_watched() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let client = Client::new(&format!("http://{}", server.address)).unwrap();
    create(&client, "color", json!({})).await;
    let here = format!("http://{}", server.address);
    let nobody = "http://127.0.0.1:1,http://127.0.0.1:2";
    let mut by_commas = Watch::start_at(&format!("{nobody},{here}"), &["cm"]);
    assert_eq!(by_commas.line().await, "ADDED     default/color   @");
    let mut repeated = Watch::start_at(&here, &["cm", "--server", nobody]);
    assert_eq!(repeated.line().await, "ADDED     default/color   @");
}

#[tokio::test]
async fn a_diff_shows_only_what_changed() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let client = Client::new(&format!("http://{}", server.address)).unwrap();
    create(&client, "plain", json!({})).await;
    create(&client, "color", json!({"app": "web"})).await;
    let arguments = ["configmaps", "-A", "-l", "app=web", "-o", "diff"];
    let mut watch = Watch::start(&server, &arguments);
    assert_eq!(watch.line().await, "ADDED     default/color   @");
    turn_red(&client, "plain").await;
    turn_red(&client, "color").await;
    assert_eq!(watch.line().await, "MODIFIED  default/color   @");
    assert_eq!(watch.line().await, r#"    ~ data.is: "blue" -> "red""#);
    assert_eq!(watch.line().await, r#"    + data.since: "today""#);
}

#[tokio::test]
async fn json_lines_are_the_events_of_the_api() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let client = Client::new(&format!("http://{}", server.address)).unwrap();
    create(&client, "color", json!({})).await;
    let mut watch = Watch::start(&server, &["ConfigMap", "-n", "default", "-o", "json"]);
    let event: Value = serde_json::from_str(&watch.line().await).unwrap();
    assert_eq!(event["type"], "ADDED");
    assert_eq!(event["object"]["kind"], "ConfigMap");
    assert_eq!(event["object"]["data"]["is"], "blue");
}

#[tokio::test]
async fn what_cannot_be_watched_is_said_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let url = format!("http://{}", server.address);
    let said = |arguments: Vec<String>| async move {
        let output = Command::new(env!("CARGO_BIN_EXE_listwatch"))
            .arg("watch")
            .args(arguments)
            .output()
            .await
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let unknown = said(vec!["gadgets".into(), "--server".into(), url]).await;
    assert!(
        unknown.contains(r#"the server has no resource "gadgets""#),
        "{unknown}"
    );
    assert!(unknown.contains("kubectl api-resources"), "{unknown}");
    let server = |url: &str| vec!["pods".into(), "--server".into(), url.into()];
    let nobody = said(server("http://127.0.0.1:1,http://127.0.0.1:2")).await;
    assert!(
        nobody.contains("cannot watch at http://127.0.0.1:1, http://127.0.0.1:2"),
        "{nobody}"
    );
    let no_url = said(server("localhost:8080")).await;
    assert!(
        no_url.contains(r#""localhost:8080" is not the URL of a server"#),
        "{no_url}"
    );
}
