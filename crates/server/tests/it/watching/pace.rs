//! Large events, many events, and watchers that do not keep up.

use listwatch_server::{Settings, watch_cache::CacheLimits};
use listwatch_store::Revision;
use serde_json::json;

use super::{CONFIG_MAPS, change, create, from_now};
use crate::{
    client::{Event, Events, SharedConnection, version},
    running::{TestServer, start_server, start_with},
};

/// A watch over a connection of its own that takes next to nothing before it is read.
async fn reluctant_watch(server: &TestServer, path: &str) -> Events {
    let mut connection = SharedConnection::reluctant(server.address()).await;
    connection.watch(path).await
}

#[tokio::test]
async fn an_event_may_be_as_large_as_an_object() {
    let server = start_server().await;
    let mut events = from_now(&server).await;
    let large = "x".repeat(1_000_000);
    let object = json!({"metadata": {"name": "large"}, "data": {"k": large}});
    let created = server.post(CONFIG_MAPS, &object).await.created();
    assert_eq!(events.next().await.object, created);
    create(&server, "small").await;
    events.shows(&["ADDED small"]).await;
    let mut state = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    state.shows(&["ADDED large", "ADDED small"]).await;
}

#[tokio::test]
async fn a_watch_that_is_read_late_misses_nothing() {
    const CHANGES: u64 = 600;
    let server = start_server().await;
    let first = version(&create(&server, "a").await);
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={first}");
    let mut late = reluctant_watch(&server, &path).await;
    for step in 1..=CHANGES {
        change(&server, "a", &step.to_string()).await;
    }
    for step in 1..=CHANGES {
        let event = late.next().await;
        assert_eq!(event.version(), first + step);
        assert_eq!(event.object["data"]["k"], step.to_string());
    }
}

#[tokio::test]
async fn a_watch_that_is_overtaken_by_forgetting_is_told_so_and_sees_no_gap() {
    const CHANGES: usize = 300;
    let cache = CacheLimits {
        history_events_max: 4,
        group_log_events_max: 2,
        ..CacheLimits::default()
    };
    let settings = Settings {
        cache,
        ..Settings::default()
    };
    let server = start_with(settings).await;
    let first = version(&create(&server, "a").await);
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={first}");
    let late = reluctant_watch(&server, &path).await;
    let mut healthy = server.watch(&path).await;
    let filler = "x".repeat(5_000);
    let mut newest = first;
    for step in 0..CHANGES {
        newest = version(&change(&server, "a", &format!("{step} {filler}")).await);
        assert_eq!(healthy.next().await.version(), newest);
    }
    server.store.compact(Revision::new(newest)).await.unwrap();

    let mut told = late.rest().await;
    let last = told.pop().unwrap();
    assert_eq!(last.event_type, "ERROR");
    assert_eq!(last.object["code"], 410);
    assert!(told.len() < CHANGES, "it was overtaken");
    let versions: Vec<u64> = told.iter().map(Event::version).collect();
    let expected: Vec<u64> = (first + 1..).take(told.len()).collect();
    assert_eq!(versions, expected);
}
