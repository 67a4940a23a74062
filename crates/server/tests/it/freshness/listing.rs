//! LIST of a collection, whole.

use super::{CONFIG_MAPS, forgotten_history, history, newest, too_large};
use crate::client::{names, version};

#[tokio::test]
async fn a_list_is_as_fresh_as_asked() {
    let history = history().await;
    let newest = newest(&history.server).await;
    let b = history.b;
    for requested in [
        "".to_owned(),
        "resourceVersion=0".to_owned(),
        "resourceVersion=0&resourceVersionMatch=NotOlderThan".to_owned(),
        format!("resourceVersion={b}"),
        format!("resourceVersion={b}&resourceVersionMatch=NotOlderThan"),
        format!("resourceVersion={newest}"),
        format!("resourceVersion={newest}&resourceVersionMatch=Exact"),
    ] {
        let path = format!("{CONFIG_MAPS}?{requested}");
        let list = history.server.get(&path).await.ok();
        assert_eq!(names(&list), ["a", "b", "c"], "{path}");
        assert_eq!(version(&list), newest, "{path}");
        assert!(list["metadata"].get("continue").is_none(), "{path}");
        assert!(list["metadata"].get("remainingItemCount").is_none());
    }
}

#[tokio::test]
async fn an_exact_list_shows_the_state_at_that_version() {
    let history = history().await;
    for (at, expected) in [
        (history.a, ["a"].as_slice()),
        (history.b, &["a", "b"]),
        (history.a_changed, &["a", "b"]),
        (history.c, &["a", "b", "c"]),
    ] {
        let path = format!("{CONFIG_MAPS}?resourceVersion={at}&resourceVersionMatch=Exact");
        let list = history.server.get(&path).await.ok();
        assert_eq!(names(&list), expected);
        assert_eq!(version(&list), at);
        let a = if at < history.a_changed {
            history.a
        } else {
            history.a_changed
        };
        assert_eq!(version(&list["items"][0]), a, "at {at}");
    }
}

#[tokio::test]
async fn zero_ignores_the_limit() {
    let history = history().await;
    let path = format!("{CONFIG_MAPS}?resourceVersion=0&limit=1");
    let list = history.server.get(&path).await.ok();
    assert_eq!(names(&list), ["a", "b", "c"]);
    assert!(list["metadata"].get("continue").is_none());
}

#[tokio::test]
async fn a_version_with_a_limit_and_no_match_is_exact() {
    let history = history().await;
    let path = format!("{CONFIG_MAPS}?resourceVersion={}&limit=1", history.b);
    let list = history.server.get(&path).await.ok();
    assert_eq!(names(&list), ["a"]);
    assert_eq!(version(&list), history.b);
    assert_eq!(list["metadata"]["remainingItemCount"], 1);
}

#[tokio::test]
async fn not_older_than_with_a_limit_is_paged_at_the_state_at_hand() {
    let history = history().await;
    let newest = newest(&history.server).await;
    let requested = format!("resourceVersion={}", history.a);
    let path = format!("{CONFIG_MAPS}?{requested}&resourceVersionMatch=NotOlderThan&limit=2");
    let list = history.server.get(&path).await.ok();
    assert_eq!(names(&list), ["a", "b"]);
    assert_eq!(version(&list), newest);
    assert!(list["metadata"]["continue"].is_string());
}

#[tokio::test(start_paused = true)]
async fn a_version_that_has_not_happened_is_refused_after_a_while() {
    let history = history().await;
    let current = newest(&history.server).await;
    let mut expected = too_large(99_999_999, current);
    for matching in ["", "&resourceVersionMatch=NotOlderThan"] {
        let path = format!("{CONFIG_MAPS}?resourceVersion=99999999{matching}");
        let answer = history.server.get(&path).await;
        assert_eq!(answer.refused(504), expected, "{matching}");
        assert_eq!(answer.header("retry-after"), "1");
    }
    let details = expected["details"].as_object_mut().unwrap();
    details.remove("retryAfterSeconds");
    for matching in ["&resourceVersionMatch=Exact", "&limit=5"] {
        let path = format!("{CONFIG_MAPS}?resourceVersion=99999999{matching}");
        let answer = history.server.get(&path).await;
        assert_eq!(answer.refused(504), expected, "{matching}");
    }
}

#[tokio::test]
async fn an_exact_state_that_was_forgotten_is_gone() {
    let history = forgotten_history().await;
    for requested in [
        format!("resourceVersion={}&resourceVersionMatch=Exact", history.a),
        format!("resourceVersion={}&limit=3", history.a),
    ] {
        let answer = history
            .server
            .get(&format!("{CONFIG_MAPS}?{requested}"))
            .await;
        let message = "The resourceVersion for the provided list is too old.";
        answer.says(410, message);
        assert_eq!(answer.json()["reason"], "Expired");
    }
    let not_older = format!("{CONFIG_MAPS}?resourceVersion={}", history.a);
    let names = history.server.get(&not_older).await.item_names();
    assert_eq!(names, ["a", "b", "c"]);
}
