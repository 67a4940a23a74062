//! Events as they arrive at a real server.

use std::time::Duration;

use k8s_openapi::api::{core::v1::ObjectReference, events::v1::Event};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams},
};
use listwatch::event_recorder::{
    EventRecorder, NewEvent, NotFlushed, RecorderSettings, Reporter, Severity,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    proxy::Proxy,
    real_server::{RealServer, client_of},
};

const PATIENCE: Duration = Duration::from_secs(30);

fn recorder(client: Client, settings: RecorderSettings) -> EventRecorder {
    let reporter = Reporter {
        controller: "example.com/test".to_owned(),
        instance: "one".to_owned(),
    };
    EventRecorder::start(client, reporter, settings)
}

/// Gives up an answer fast, so that a silent server costs little time.
fn hasty() -> RecorderSettings {
    RecorderSettings {
        request_timeout: Duration::from_millis(100),
        retry_pause: Duration::from_millis(10),
        attempts_max: 1000,
        flush_timeout: Duration::from_millis(300),
        ..RecorderSettings::default()
    }
}

fn failed(note: &str) -> NewEvent {
    NewEvent {
        severity: Severity::Warning,
        reason: "Failed".to_owned(),
        action: "Pulling".to_owned(),
        note: note.to_owned(),
        regarding: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some("default".to_owned()),
            name: Some("web".to_owned()),
            ..ObjectReference::default()
        },
        related: None,
    }
}

async fn events(client: &Client) -> Vec<Event> {
    let events: Api<Event> = Api::namespaced(client.clone(), "default");
    events.list(&ListParams::default()).await.unwrap().items
}

/// Note and count of each event, in the order of their notes.
async fn counts(client: &Client) -> Vec<(String, i32)> {
    let count = |event: Event| {
        let count = event.series.map_or(1, |series| series.count);
        (event.note.unwrap(), count)
    };
    let mut counts: Vec<_> = events(client).await.into_iter().map(count).collect();
    counts.sort();
    counts
}

/// What `kubectl get events -o wide` prints.
async fn kubectl_columns(client: &Client) -> Vec<(String, String)> {
    let request = http::Request::get("/api/v1/namespaces/default/events")
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Vec::new())
        .unwrap();
    let table: Value = client.request(request).await.unwrap();
    let names = table["columnDefinitions"].as_array().unwrap();
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    let text = |cell: &Value| {
        cell.as_str()
            .map_or_else(|| cell.to_string(), str::to_owned)
    };
    let columns = names.iter().zip(cells);
    columns
        .map(|(name, cell)| (text(&name["name"]), text(cell)))
        .collect()
}

#[tokio::test]
async fn kubectl_shows_what_was_recorded() {
    let server = RealServer::start().await;
    let recorder = recorder(server.client(), RecorderSettings::default());
    recorder.record(failed("no image"));
    recorder.record(failed("no image"));
    recorder.shutdown().await.unwrap();
    let columns = kubectl_columns(&server.client()).await;
    for (name, expected) in [
        ("Type", "Warning"),
        ("Reason", "Failed"),
        ("Object", "pod/web"),
        ("Source", "example.com/test, one"),
        ("Message", "no image"),
        ("Count", "2"),
    ] {
        let found = columns.iter().find(|(column, _)| column == name);
        assert_eq!(found.unwrap().1, expected, "{columns:?}");
    }
    let seen = columns.iter().find(|(column, _)| column == "Last Seen");
    assert_ne!(seen.unwrap().1, "<unknown>", "{columns:?}");
}

#[tokio::test]
async fn what_repeats_is_one_event_with_a_count() {
    let server = RealServer::start().await;
    let recorder = recorder(server.client(), RecorderSettings::default());
    for note in ["a", "b", "a", "a", "b"] {
        recorder.record(failed(note));
    }
    recorder.flush().await;
    let expected = [("a".to_owned(), 3), ("b".to_owned(), 2)];
    assert_eq!(counts(&server.client()).await, expected);
}

#[tokio::test]
async fn many_similar_events_are_few_on_the_server() {
    let server = RealServer::start().await;
    let recorder = recorder(server.client(), RecorderSettings::default());
    for number in 10..30 {
        recorder.record(failed(&format!("try {number}")));
    }
    recorder.flush().await;
    let counts = counts(&server.client()).await;
    assert_eq!(counts.len(), 10);
    let combined = ("(combined from similar events): try 19".to_owned(), 11);
    assert_eq!(counts[0], combined);
}

#[tokio::test]
async fn an_event_that_was_deleted_comes_back_with_its_count() {
    let server = RealServer::start().await;
    let recorder = recorder(server.client(), RecorderSettings::default());
    recorder.record(failed("a"));
    recorder.flush().await;
    let all: Api<Event> = Api::namespaced(server.client(), "default");
    let name = events(&server.client()).await.remove(0).metadata.name;
    all.delete(&name.unwrap(), &DeleteParams::default())
        .await
        .unwrap();
    recorder.record(failed("a"));
    recorder.flush().await;
    assert_eq!(counts(&server.client()).await, [("a".to_owned(), 2)]);
}

#[tokio::test]
async fn an_event_that_the_server_refuses_does_not_hold_up_the_next() {
    let server = RealServer::start().await;
    let recorder = recorder(server.client(), RecorderSettings::default());
    let mut nowhere = failed("a");
    nowhere.regarding.namespace = Some("missing".to_owned());
    recorder.record(nowhere);
    recorder.record(failed("b"));
    timeout(PATIENCE, recorder.flush()).await.unwrap();
    assert_eq!(counts(&server.client()).await, [("b".to_owned(), 1)]);
}

#[tokio::test]
async fn recording_never_waits_and_drops_what_does_not_fit() {
    let server = RealServer::start().await;
    let proxy = Proxy::start(server.address()).await;
    proxy.fall_silent();
    let settings = RecorderSettings {
        queue_events_max: 5,
        ..hasty()
    };
    let recorder = recorder(client_of(proxy.address()), settings);
    // On one thread the writer takes none of them meanwhile.
    for _ in 0..20 {
        recorder.record(failed("a"));
    }
    assert_eq!(recorder.dropped(), 15);
    proxy.resume();
    timeout(PATIENCE, recorder.flush()).await.unwrap();
    assert_eq!(counts(&server.client()).await, [("a".to_owned(), 5)]);
}

#[tokio::test]
async fn an_event_outlives_a_silent_server_and_is_written_once() {
    let server = RealServer::start().await;
    let proxy = Proxy::start(server.address()).await;
    let recorder = recorder(client_of(proxy.address()), hasty());
    proxy.fall_silent();
    recorder.record(failed("a"));
    let tried = async {
        while proxy.requests().len() < 2 {
            events(&server.client()).await;
        }
    };
    timeout(PATIENCE, tried).await.unwrap();
    proxy.resume();
    timeout(PATIENCE, recorder.flush()).await.unwrap();
    assert_eq!(counts(&server.client()).await, [("a".to_owned(), 1)]);
}

#[tokio::test]
async fn shutting_down_does_not_wait_for_ever() {
    let server = RealServer::start().await;
    let proxy = Proxy::start(server.address()).await;
    proxy.fall_silent();
    let recorder = recorder(client_of(proxy.address()), hasty());
    recorder.record(failed("a"));
    let ended = timeout(PATIENCE, recorder.shutdown()).await.unwrap();
    assert_eq!(ended, Err(NotFlushed));
}

#[tokio::test]
async fn after_a_shutdown_events_of_clones_are_dropped() {
    let server = RealServer::start().await;
    let first = recorder(server.client(), RecorderSettings::default());
    let second = first.clone();
    first.record(failed("a"));
    first.shutdown().await.unwrap();
    let dropped = async {
        while second.dropped() == 0 {
            second.record(failed("b"));
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, dropped).await.unwrap();
    assert_eq!(counts(&server.client()).await[0], ("a".to_owned(), 1));
}

#[tokio::test]
async fn what_was_recorded_is_written_when_the_last_recorder_is_dropped() {
    let server = RealServer::start().await;
    let recorder = recorder(server.client(), RecorderSettings::default());
    recorder.record(failed("a"));
    drop(recorder);
    let written = async { while counts(&server.client()).await.is_empty() {} };
    timeout(PATIENCE, written).await.unwrap();
}
