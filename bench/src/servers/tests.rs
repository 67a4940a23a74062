//! A run that is as short as possible, against a server in this process.

use std::sync::Arc;

use clap::Parser;
use listwatch_server::{RunningServer, Settings};
use listwatch_store::MemoryStore;
use tokio::net::TcpListener;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    plan: Plan,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quick_run_goes_through_every_scenario_and_writes_it_down() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let store = Arc::new(MemoryStore::new());
    let server = RunningServer::start(listener, store, Settings::default());
    let server = server.await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("benchmarks.md");
    let ours = format!(
        "url=http://{},pids={}",
        server.address(),
        std::process::id()
    );
    let line = [
        "bench", "--quick", "--beside", "nobody", "--ours", &ours, "--write",
    ];
    let words = line.iter().map(std::ffi::OsStr::new);
    let line = Line::parse_from(words.chain([file.as_os_str()]));
    run(&line.plan).await.unwrap();
    server.shutdown().await;
    let text = std::fs::read_to_string(&file).unwrap();
    for group in Group::value_variants() {
        let expected = !matches!(group, Group::Resumes | Group::Stores);
        let table = text.split_once(&format!("## {}\n", group.title()));
        let rows = table.map_or(0, |(_, table)| rows(table));
        assert_eq!(rows > 0, expected, "{rows} rows of {group:?}:\n{text}");
    }
    assert!(!text.contains(" came, "), "events were lost:\n{text}");
    assert!(text.contains("The peer is missing: it was not asked for."));
    for file in ["benchmarks-growth.svg", "benchmarks-latency.svg"] {
        assert!(folder.path().join(file).exists(), "no {file}");
        assert!(text.contains(&format!("({file})")), "no {file} in\n{text}");
    }
}

/// Rows of the table that begins here, its head apart.
fn rows(text: &str) -> usize {
    let lines = text.trim_start().lines();
    let rows = lines.take_while(|line| line.starts_with('|')).count();
    rows.saturating_sub(2)
}
