//! GET of one object.

use super::{CONFIG_MAPS, change, history, newest, too_large};
use crate::client::version;

#[tokio::test]
async fn an_object_is_read_as_fresh_as_asked() {
    let history = history().await;
    for requested in [
        "",
        "?resourceVersion=",
        "?resourceVersion=0",
        "?resourceVersion=1",
        &format!("?resourceVersion={}", history.a_changed),
        &format!("?resourceVersion={}", history.c),
    ] {
        let path = format!("{CONFIG_MAPS}/a{requested}");
        let object = history.server.get(&path).await.ok();
        assert_eq!(version(&object), history.a_changed, "{path}");
    }
}

#[tokio::test]
async fn every_read_sees_the_write_before_it() {
    let history = history().await;
    for step in 0..50 {
        let written = change(&history.server, "b", &step.to_string()).await;
        let read = history.server.get(&format!("{CONFIG_MAPS}/b")).await.ok();
        assert_eq!(version(&read), written);
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_has_not_happened_is_waited_for_and_then_refused() {
    let history = history().await;
    let current = newest(&history.server).await;
    let path = format!("{CONFIG_MAPS}/a?resourceVersion=99999999");
    let answer = history.server.get(&path).await;
    assert_eq!(answer.refused(504), too_large(99_999_999, current));
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn a_version_that_happens_while_it_is_waited_for_is_read() {
    let history = history().await;
    let next = newest(&history.server).await + 1;
    let path = format!("{CONFIG_MAPS}/a?resourceVersion={next}");
    let (read, written) = tokio::join!(
        history.server.get(&path),
        change(&history.server, "a", "later")
    );
    assert_eq!(written, next);
    assert_eq!(version(&read.ok()), next);
}
