//! Bookmarks: when they come, and what they are good for.

use std::time::Duration;

use listwatch_server::Settings;
use serde_json::json;

use super::{CONFIG_MAPS, change, create};
use crate::{
    client::{Event, version},
    running::{TestServer, start_server, start_with},
};

/// Something happens that a watch of configmaps does not tell.
async fn write_elsewhere(server: &TestServer) -> u64 {
    let object = json!({"metadata": {"generateName": "secret-"}});
    let path = "/api/v1/namespaces/default/secrets";
    version(&server.post(path, &object).await.created())
}

async fn quick_bookmarks() -> TestServer {
    let settings = Settings {
        bookmark_interval: Duration::from_millis(20),
        ..Settings::default()
    };
    start_with(settings).await
}

#[tokio::test]
async fn an_idle_watch_learns_how_far_the_server_is() {
    let server = quick_bookmarks().await;
    let start = version(&create(&server, "a").await);
    let options = "allowWatchBookmarks=true";
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={start}&{options}");
    let mut events = server.watch(&path).await;
    for _ in 0..3 {
        let at = write_elsewhere(&server).await;
        let mark = events.shows(&["BOOKMARK"]).await.remove(0);
        let expected = json!({
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": at.to_string()},
        });
        assert_eq!(mark.object, expected);
    }
}

#[tokio::test]
async fn a_watch_resumes_from_a_bookmark() {
    let server = quick_bookmarks().await;
    let start = version(&create(&server, "a").await);
    let options = "allowWatchBookmarks=true";
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={start}&{options}");
    let mut events = server.watch(&path).await;
    write_elsewhere(&server).await;
    let mark = events.shows(&["BOOKMARK"]).await.remove(0).version();
    drop(events);
    change(&server, "a", "1").await;
    let resumed = format!("{CONFIG_MAPS}?watch=1&resourceVersion={mark}");
    server.watch(&resumed).await.shows(&["MODIFIED a"]).await;
}

#[tokio::test]
async fn bookmarks_come_between_events_in_order() {
    let server = quick_bookmarks().await;
    let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true");
    let mut events = server.watch(&path).await;
    let mut last = events.shows(&["BOOKMARK"]).await.remove(0).version();
    let mut changes = 0;
    let mut marks = 0;
    create(&server, "a").await;
    while changes < 10 || marks < 3 {
        write_elsewhere(&server).await;
        change(&server, "a", &changes.to_string()).await;
        let event = events.next().await;
        let is_mark = event.event_type == "BOOKMARK";
        assert!(event.version() > last || is_mark && event.version() == last);
        last = event.version();
        marks += usize::from(is_mark);
        changes += usize::from(!is_mark);
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_gets_bookmarks_who_does_not_allow_them() {
    let server = quick_bookmarks().await;
    for off in ["", "&allowWatchBookmarks=false", "&allowWatchBookmarks=0"] {
        let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=2{off}");
        let events = server.watch(&path).await;
        write_elsewhere(&server).await;
        assert!(events.rest().await.is_empty(), "{off}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_by_time_ends_with_a_bookmark() {
    let server = start_server().await;
    let start = version(&create(&server, "a").await);
    let options = "allowWatchBookmarks=true&timeoutSeconds=1";
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={start}&{options}");
    let events = server.watch(&path).await;
    change(&server, "a", "1").await;
    let at = write_elsewhere(&server).await;
    let told = events.rest().await;
    let shown: Vec<String> = told.iter().map(Event::shown).collect();
    assert_eq!(shown, ["MODIFIED a", "BOOKMARK"]);
    assert_eq!(told[1].version(), at);
}

#[tokio::test(start_paused = true)]
async fn a_watch_in_which_nothing_came_ends_with_a_bookmark() {
    let server = start_server().await;
    let start = version(&create(&server, "a").await);
    let options = "allowWatchBookmarks=true&timeoutSeconds=1";
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={start}&{options}");
    let told = server.watch(&path).await.rest().await;
    let shown: Vec<String> = told.iter().map(Event::shown).collect();
    assert_eq!(shown, ["BOOKMARK"]);
    assert_eq!(told[0].version(), start);
}
