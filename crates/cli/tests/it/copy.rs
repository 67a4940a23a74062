//! `listwatch copy` on real directories, interrupted in the rudest ways.

use std::{
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use listwatch_etcd::{
    KeyRange as EtcdRange, Range,
    testing::{Cluster, Program, Release},
};
use listwatch_sim::client::{Client, Collection};
use listwatch_store::{
    Commit, Condition, EmbeddedOptions, EmbeddedStore, Entry, Key, KeyRange, Operation, Read,
    Revision, Store, Write,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::Command,
    time::timeout,
};

use crate::server::Server;

/// Enough for many commits, and for several files of a log.
const OBJECTS: usize = 30_000;

/// A copy that ended before it was interrupted is begun anew, so often at the most.
const ATTEMPTS_MAX: usize = 20;

/// Far more than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn copy_command(from: &Path, to: &Path) -> Command {
    copy_between(&data(from), &data(to))
}

fn data(directory: &Path) -> String {
    format!("data:{}", directory.display())
}

fn copy_between(from: &str, to: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_listwatch"));
    command
        .arg("copy")
        .args(["--from", from, "--to", to])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

fn standard_error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

async fn open(directory: &Path) -> EmbeddedStore {
    let options = EmbeddedOptions::default();
    let opened = EmbeddedStore::open_existing_directory(directory, options).await;
    opened.unwrap()
}

/// A directory with many objects.
async fn fill(directory: &Path) {
    let store = EmbeddedStore::open_directory(directory, EmbeddedOptions::default()).await;
    let store = store.unwrap();
    let numbers: Vec<_> = (0..OBJECTS).collect();
    for some in numbers.chunks(1_000) {
        let operations = some.iter().map(|number| Operation {
            key: Key::new(format!("/registry/configmaps/default/{number:06}")),
            condition: Condition::Absent,
            write: Write::put(format!("{number:0>500}")),
        });
        let operations = operations.collect();
        store.commit(Commit::together(operations)).await.unwrap();
    }
}

async fn objects(directory: &Path) -> Vec<Entry> {
    let read = Read::newest(KeyRange::prefix("/registry/"));
    open(directory).await.read(read).await.unwrap().entries
}

/// Waits until a copy into a directory has filled some files of the log.
async fn wait_for_files(directory: PathBuf, number: usize) {
    let file = directory.join(format!("log-{number:010}"));
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    while !file.exists() {
        ticks.tick().await;
    }
}

async fn is_unfinished(directory: &Path) -> bool {
    let read = Read::newest(KeyRange::single("/registry/listwatch.copy"));
    let page = open(directory).await.read(read).await.unwrap();
    !page.entries.is_empty()
}

/// Begins a copy, interrupts it, goes on with it and kills that too. What the first said; `None` if
/// one of them was faster.
async fn interrupt_and_kill(from: &Path, to: &Path) -> Option<String> {
    let interrupted = copy_command(from, to).spawn().unwrap();
    let process = interrupted.id().unwrap().to_string();
    timeout(PATIENCE, wait_for_files(to.to_owned(), 2))
        .await
        .unwrap();
    let sent = Command::new("kill").args(["-INT", &process]).status().await;
    assert!(sent.unwrap().success());
    let ended = interrupted.wait_with_output().await.unwrap();
    if !is_unfinished(to).await {
        return None;
    }
    let mut killed = copy_command(from, to).spawn().unwrap();
    timeout(PATIENCE, wait_for_files(to.to_owned(), 4))
        .await
        .unwrap();
    killed.kill().await.unwrap();
    is_unfinished(to).await.then(|| standard_error(&ended))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_goes_on_after_an_interrupt_and_after_a_kill() {
    let place = TempDir::new().unwrap();
    let (from, to) = (place.path().join("from"), place.path().join("to"));
    fill(&from).await;

    let mut said = None;
    for _ in 0..ATTEMPTS_MAX {
        said = interrupt_and_kill(&from, &to).await;
        if said.is_some() {
            break;
        }
        std::fs::remove_dir_all(&to).unwrap();
    }
    let said = said.expect("a copy can be interrupted before its end");
    assert!(said.contains("run the same command again"), "{said}");

    let mut serve = Command::new(env!("CARGO_BIN_EXE_listwatch"));
    let serve = serve.args(["--listen", "127.0.0.1:0", "--data"]).arg(&to);
    let refused = timeout(PATIENCE, serve.output()).await.unwrap().unwrap();
    let said = standard_error(&refused);
    assert!(
        !refused.status.success() && said.contains("has not finished"),
        "{said}"
    );

    let finished = copy_command(&from, &to).output().await.unwrap();
    assert!(finished.status.success(), "{}", standard_error(&finished));
    let said = String::from_utf8_lossy(&finished.stdout);
    assert!(said.contains("copied 30,000 objects"), "{said}");
    assert!(said.contains("the rest of them"), "{said}");
    let (copies, originals) = (objects(&to).await, objects(&from).await);
    let newest = originals.iter().map(|entry| entry.revision).max();
    assert_eq!(copies.len(), originals.len());
    for (copy, original) in copies.iter().zip(&originals) {
        assert_eq!((&copy.key, &copy.value), (&original.key, &original.value));
        assert!(Some(copy.revision) > newest);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_serves_a_copy_and_clients_notice() {
    let place = TempDir::new().unwrap();
    let (from, to) = (place.path().join("from"), place.path().join("to"));
    let configmaps = Collection::core("configmaps").in_namespace("default");
    let server = Server::start(&from);
    let client = Client::new(&format!("http://{}", server.address)).unwrap();
    let object = json!({"metadata": {"name": "color"}, "data": {"is": "blue"}});
    let original = client.create(&configmaps, &object).await.unwrap();

    let refused = copy_command(&from, &to).output().await.unwrap();
    let said = standard_error(&refused);
    assert!(
        !refused.status.success() && said.contains("Stop it"),
        "{said}"
    );
    assert!(!to.exists(), "nothing is made before the source is open");
    drop(server);
    let copied = copy_command(&from, &to).output().await.unwrap();
    assert!(copied.status.success(), "{}", standard_error(&copied));

    let server = Server::start(&to);
    let client = Client::new(&format!("http://{}", server.address)).unwrap();
    let mut copy = client.get(&configmaps, "color").await.unwrap();
    assert!(version(&copy) > version(&original));
    copy["metadata"]["resourceVersion"] = original["metadata"]["resourceVersion"].clone();
    assert_eq!(copy, original);

    drop(server);
    let again = copy_command(&from, &to).output().await.unwrap();
    let said = standard_error(&again);
    assert!(said.contains("the target is not empty"), "{said}");
    let merged = copy_command(&from, &to)
        .arg("--merge")
        .output()
        .await
        .unwrap();
    assert!(merged.status.success(), "{}", standard_error(&merged));
}

/// Data to etcd, to another prefix there, and back to data, each served and written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_move_to_etcd_and_back() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let etcd = Cluster::single(&program).await.unwrap();
    let address = etcd.settings().endpoints.join(",");
    let place = TempDir::new().unwrap();
    let [first, last] = ["first", "last"].map(|name| place.path().join(name));
    let data_flag = |directory: &Path| vec!["--data".to_owned(), directory.display().to_string()];
    let etcd_flags = |prefix: &str| {
        let flags = ["--etcd", &address, "--etcd-prefix", prefix];
        flags.map(str::to_owned).to_vec()
    };
    let in_etcd = format!("etcd:{address}");
    let mut newest = write_at(&data_flag(&first), 0, Revision::ZERO).await;
    let mut to_etcd = copy_between(&data(&first), &in_etcd);
    newest = move_on(&mut to_etcd, &etcd_flags("/registry"), (1, newest)).await;
    let mut within_etcd = copy_between(&in_etcd, &in_etcd);
    within_etcd.args(["--to-etcd-prefix", "/other"]);
    newest = move_on(&mut within_etcd, &etcd_flags("/other"), (2, newest)).await;
    let mut back = copy_between(&in_etcd, &data(&last));
    back.args(["--from-etcd-prefix", "/other"]);
    newest = move_on(&mut back, &data_flag(&last), (3, newest)).await;
    assert!(newest > Revision::new(3_000_000), "{newest}");
}

/// Waits until a copy has written to etcd.
async fn wait_for_marker(etcd: &Cluster, key: &str) {
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    while !has(etcd, key).await {
        ticks.tick().await;
    }
}

async fn has(etcd: &Cluster, key: &str) -> bool {
    let range = Range::new(EtcdRange::one(key.to_owned()));
    etcd.client().range(range).await.unwrap().count > 0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_to_etcd_goes_on_after_a_kill() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let etcd = Cluster::single(&program).await.unwrap();
    let address = etcd.settings().endpoints.join(",");
    let place = TempDir::new().unwrap();
    fill(place.path()).await;
    for attempt in 0..ATTEMPTS_MAX {
        let prefix = format!("/attempt-{attempt}");
        let marker = format!("{prefix}/listwatch.copy");
        let mut copy = copy_between(&data(place.path()), &format!("etcd:{address}"));
        copy.args(["--to-etcd-prefix", &prefix]);
        let mut killed = copy.spawn().unwrap();
        tokio::select! {
            () = wait_for_marker(&etcd, &marker) => {}
            _ended = killed.wait() => {}
        }
        killed.kill().await.unwrap();
        if !has(&etcd, &marker).await {
            continue;
        }
        let finished = copy.output().await.unwrap();
        let said = String::from_utf8_lossy(&finished.stdout);
        assert!(finished.status.success(), "{}", standard_error(&finished));
        assert!(said.contains("copied 30,000 objects"), "{said}");
        assert!(said.contains("the rest of them"), "{said}");
        assert!(!has(&etcd, &marker).await);
        return;
    }
    panic!("a copy can be killed before its end");
}

/// Copies, and writes at the new place.
async fn move_on(copy: &mut Command, serve: &[String], stop: (usize, Revision)) -> Revision {
    let copied = copy.output().await.unwrap();
    assert!(copied.status.success(), "{}", standard_error(&copied));
    let (number, before) = stop;
    write_at(serve, number, before).await
}

/// Serves a place, finds the objects written at all stops before it, newer than anything there, and
/// adds one.
async fn write_at(serve: &[String], stop: usize, before: Revision) -> Revision {
    let server = Server::start_with(serve);
    let client = Client::new(&format!("http://{}", server.address)).unwrap();
    let configmaps = Collection::core("configmaps").in_namespace("default");
    for number in 0..stop {
        let found = client.get(&configmaps, &format!("stop-{number}")).await;
        assert!(version(&found.unwrap()) > before);
        let answer = watch_after(&server.address, before).await;
        assert!(answer.contains(r#""code":410"#), "{answer}");
    }
    let object = json!({"metadata": {"name": format!("stop-{stop}")}});
    version(&client.create(&configmaps, &object).await.unwrap())
}

/// What a watch after a version that the server does not know says before it ends.
async fn watch_after(address: &str, version: Revision) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /api/v1/namespaces/default/configmaps?watch=1&resourceVersion={version} HTTP/1.1\r\n\
         Host: {address}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
    read.expect("the watch ends").unwrap();
    answer
}

fn version(object: &serde_json::Value) -> Revision {
    let version = object["metadata"]["resourceVersion"].as_str().unwrap();
    Revision::new(version.parse().unwrap())
}

#[tokio::test]
async fn what_is_no_source_is_said_and_left_alone() {
    let place = TempDir::new().unwrap();
    let (from, to) = (place.path().join("from"), place.path().join("to"));
    let missing = copy_command(&from, &to).output().await.unwrap();
    let said = standard_error(&missing);
    assert!(
        !missing.status.success() && said.contains("holds no store"),
        "{said}"
    );
    let same = copy_command(&to, &to).output().await.unwrap();
    assert!(standard_error(&same).contains("the same place"));
    assert_eq!(place.path().read_dir().unwrap().count(), 0);
}
