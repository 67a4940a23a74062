//! WATCH: where a stream begins.

use super::{
    CONFIG_MAPS, change, create, forgotten_history, history, newest, too_large, write_history,
};
use crate::{client::Event, running::start_server};

const INITIAL_EVENTS: &str = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

fn shown(events: &[Event]) -> Vec<String> {
    events.iter().map(Event::shown).collect()
}

#[tokio::test]
async fn a_watch_without_a_version_begins_with_the_state() {
    let history = history().await;
    let b = history.b;
    for start in [
        "".to_owned(),
        "&resourceVersion=".to_owned(),
        "&resourceVersion=0".to_owned(),
        format!("&{INITIAL_EVENTS}"),
        format!("&{INITIAL_EVENTS}&resourceVersion=0"),
        format!("&{INITIAL_EVENTS}&resourceVersion={b}"),
    ] {
        let path = format!("{CONFIG_MAPS}?watch=1{start}");
        let mut events = history.server.watch(&path).await;
        let state = events.shows(&["ADDED a", "ADDED b", "ADDED c"]).await;
        let versions: Vec<u64> = state.iter().map(Event::version).collect();
        let expected = [history.a_changed, b, history.c];
        assert_eq!(versions, expected, "each its own: {path}");
    }
}

#[tokio::test]
async fn the_state_and_what_follows_are_one_stream() {
    let history = history().await;
    let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true");
    let mut events = history.server.watch(&path).await;
    let state = ["ADDED a", "ADDED b", "ADDED c", "BOOKMARK"];
    let mark = events.shows(&state).await.pop().unwrap();
    let annotations = &mark.object["metadata"]["annotations"];
    assert_eq!(annotations["k8s.io/initial-events-end"], "true");
    assert_eq!(mark.version(), newest(&history.server).await);
    create(&history.server, "d").await;
    change(&history.server, "a", "2").await;
    let follows = events.shows(&["ADDED d", "MODIFIED a"]).await;
    assert!(follows[0].version() > mark.version());
}

#[tokio::test]
async fn a_watch_after_a_version_begins_with_the_next_change() {
    let history = history().await;
    for (after, expected) in [
        (history.a, ["ADDED b", "MODIFIED a", "ADDED c"].as_slice()),
        (history.b, &["MODIFIED a", "ADDED c"]),
        (history.a_changed, &["ADDED c"]),
        (history.c, &[]),
    ] {
        let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={after}");
        let mut events = history.server.watch(&path).await;
        events.shows(expected).await;
    }
}

#[tokio::test]
async fn a_watch_may_begin_now() {
    let history = history().await;
    for version in ["", "&resourceVersion=0"] {
        let start = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
        let path = format!("{CONFIG_MAPS}?watch=1&{start}{version}");
        let mut events = history.server.watch(&path).await;
        let name = format!("new{}", version.len());
        create(&history.server, &name).await;
        events.shows(&[&format!("ADDED {name}")]).await;
    }
}

#[tokio::test]
async fn a_version_without_initial_events_is_continued() {
    let history = history().await;
    let start = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    let path = format!(
        "{CONFIG_MAPS}?watch=1&{start}&resourceVersion={}",
        history.b
    );
    let mut events = history.server.watch(&path).await;
    events.shows(&["MODIFIED a", "ADDED c"]).await;
}

#[tokio::test]
async fn a_watch_from_the_future_is_silent_until_then() {
    let history = history().await;
    let future = newest(&history.server).await + 2;
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={future}");
    let mut events = history.server.watch(&path).await;
    create(&history.server, "before").await;
    assert_eq!(create(&history.server, "at").await, future);
    create(&history.server, "after").await;
    events.shows(&["ADDED after"]).await;
}

#[tokio::test]
async fn a_watch_from_a_forgotten_version_is_told_so_in_its_stream() {
    let history = forgotten_history().await;
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", history.a);
    let events = history.server.watch(&path).await.rest().await;
    assert_eq!(shown(&events), ["ERROR"]);
    let status = &events[0].object;
    assert_eq!(status["kind"], "Status");
    assert_eq!(status["code"], 410);
    assert_eq!(status["reason"], "Expired");
    let message = status["message"].as_str().unwrap();
    let expected = format!("too old resource version: {} (", history.a);
    assert!(message.starts_with(&expected), "{message}");
}

#[tokio::test]
async fn the_oldest_version_that_is_kept_can_be_continued() {
    let history = forgotten_history().await;
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", history.c);
    let mut events = history.server.watch(&path).await;
    create(&history.server, "d").await;
    events.shows(&["ADDED d"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_state_that_has_not_happened_is_refused_in_the_stream() {
    let history = write_history(start_server().await).await;
    let current = newest(&history.server).await;
    let path = format!("{CONFIG_MAPS}?watch=1&{INITIAL_EVENTS}&resourceVersion=99999999");
    let events = history.server.watch(&path).await.rest().await;
    assert_eq!(shown(&events), ["ERROR"]);
    assert_eq!(events[0].object, too_large(99_999_999, current));
}

#[tokio::test(start_paused = true)]
async fn no_mark_ends_the_state_for_those_who_do_not_allow_bookmarks() {
    let history = history().await;
    let path = format!("{CONFIG_MAPS}?watch=1&{INITIAL_EVENTS}&timeoutSeconds=1");
    let events = history.server.watch(&path).await.rest().await;
    assert_eq!(shown(&events), ["ADDED a", "ADDED b", "ADDED c"]);
}

#[tokio::test]
async fn an_empty_state_still_has_an_end() {
    let history = history().await;
    let selector = "labelSelector=absent&allowWatchBookmarks=true";
    let path = format!("{CONFIG_MAPS}?watch=1&{selector}");
    let mut events = history.server.watch(&path).await;
    let mark = events.shows(&["BOOKMARK"]).await.remove(0);
    assert!(mark.object["metadata"]["annotations"].is_object());
}
