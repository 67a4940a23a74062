//! Promises of [`Store::changes`].

use std::sync::Arc;

use tokio::{task::JoinSet, time::timeout};

use super::{
    Terms,
    script::{
        cursor, delete, follow, follow_cursor, newest, put, put_together, read_newest,
        shown_changes,
    },
};
use crate::{Change, Entry, KeyRange, Revision, Store};

/// What is written is what is told: each change once, in the order of revisions.
pub async fn every_change_comes_once_and_in_order(store: &impl Store) {
    let start = newest(store).await;
    let expected = write_some(store).await;
    let last = newest(store).await;
    assert_eq!(
        shown_changes(&follow(store, start, last).await),
        shown_changes(&expected)
    );
}

/// From every revision a cursor goes on with the very next change.
pub async fn a_cursor_resumes_from_any_revision(store: &impl Store) {
    let start = newest(store).await;
    write_some(store).await;
    let last = newest(store).await;
    let all = follow(store, start, last).await;
    for number in start.get()..last.get() {
        let after = Revision::new(number);
        let rest = follow(store, after, last).await;
        let expected = all.iter().filter(|change| change.revision > after);
        assert_eq!(rest, expected.cloned().collect::<Vec<_>>());
    }
}

/// The changes of one commit come in one batch, however many they are.
pub async fn a_commit_is_never_split(store: &impl Store, terms: &Terms) {
    let start = newest(store).await;
    let keys: Vec<String> = (0..terms.commit_operations_max)
        .map(|number| format!("{number:03}"))
        .collect();
    let pairs: Vec<_> = keys.iter().map(|key| (key.as_str(), "x")).collect();
    for _ in 0..10 {
        put_together(store, &pairs).await;
    }
    let last = newest(store).await;
    let mut cursor = cursor(store, KeyRange::all(), start).await;
    let (mut told, mut through) = (0, start);
    while through < last {
        let batch = cursor.next().await.expect("the changes are kept");
        assert_eq!(batch.changes.len() % pairs.len(), 0);
        told += batch.changes.len();
        through = batch.through;
    }
    assert_eq!(told, 10 * pairs.len());
}

/// A change carries the entry that it replaced or removed, also when told much later.
pub async fn a_change_tells_what_it_replaced(store: &impl Store) {
    let start = newest(store).await;
    let first = put(store, "a", "1").await;
    let second = put(store, "a", "2").await;
    put(store, "b", "other").await;
    delete(store, "a").await;
    let last = put(store, "a", "3").await;
    let changes = follow(store, start, last).await;
    let previous = changes.iter().filter(|change| change.key == "a".into());
    let previous: Vec<_> = previous.map(|change| change.previous.clone()).collect();
    let entry = |revision, value: &str| {
        let (key, value) = ("a".into(), value.to_owned().into());
        Some(Entry {
            key,
            revision,
            value,
        })
    };
    assert_eq!(
        previous,
        [None, entry(first, "1"), entry(second, "2"), None]
    );
}

/// Nothing outside the range is told.
pub async fn only_the_range_is_followed(store: &impl Store) {
    let start = newest(store).await;
    let together = put_together(store, &[("/a/1", "x"), ("/b/1", "x"), ("/a/2", "x")]).await;
    put(store, "/b/2", "x").await;
    let deleted = delete(store, "/a/1").await;
    let mut cursor = cursor(store, KeyRange::prefix("/a/"), start).await;
    let changes = follow_cursor(cursor.as_mut(), deleted).await;
    let expected = [
        format!("/a/1=x@{together}"),
        format!("/a/2=x@{together}"),
        format!("/a/1 gone@{deleted}"),
    ];
    assert_eq!(shown_changes(&changes), expected);
}

/// A cursor learns how far it is even when the changes are none of its business.
pub async fn progress_is_told_of_changes_outside_the_range(store: &impl Store, terms: &Terms) {
    let start = newest(store).await;
    let mut cursor = cursor(store, KeyRange::prefix("/a/"), start).await;
    for _ in 0..3 {
        let revision = put(store, "/b/1", "x").await;
        let batch = timeout(terms.patience, cursor.next()).await;
        let batch = batch.expect("progress comes").expect("changes are kept");
        assert_eq!(batch.through, revision);
        assert!(batch.changes.is_empty());
    }
}

/// A cursor that has everything waits.
pub async fn nothing_comes_while_nothing_happens(store: &impl Store, terms: &Terms) {
    let last = put(store, "a", "x").await;
    let mut cursor = cursor(store, KeyRange::all(), last).await;
    let nothing = timeout(terms.quiet, cursor.next()).await;
    assert!(nothing.is_err(), "{nothing:?}");
}

/// A commit ends the wait of a cursor.
pub async fn a_waiting_cursor_is_woken<S: Store>(store: &Arc<S>, terms: &Terms) {
    let start = newest(&**store).await;
    let mut cursor = cursor(&**store, KeyRange::all(), start).await;
    let waiting = tokio::spawn(async move { cursor.next().await });
    tokio::task::yield_now().await;
    let revision = put(&**store, "a", "x").await;
    let batch = timeout(terms.patience, waiting)
        .await
        .expect("the cursor wakes");
    let batch = batch.expect("it does not panic").expect("it is kept");
    assert_eq!(batch.through, revision);
    assert_eq!(shown_changes(&batch.changes), [format!("a=x@{revision}")]);
}

/// A cursor from a later revision tells nothing up to it, and everything after.
pub async fn a_cursor_in_the_future_begins_after_it(store: &impl Store, terms: &Terms) {
    let future = Revision::new(newest(store).await.get() + 3);
    let mut cursor = cursor(store, KeyRange::all(), future).await;
    for _ in 0..3 {
        put(store, "a", "early").await;
        let nothing = timeout(terms.quiet, cursor.next()).await;
        assert!(nothing.is_err(), "{nothing:?}");
    }
    let revision = put(store, "a", "late").await;
    let changes = follow_cursor(cursor.as_mut(), revision).await;
    assert_eq!(shown_changes(&changes), [format!("a=late@{revision}")]);
}

/// A caller that stops waiting, at whatever moment, finds everything at its next wait.
pub async fn a_dropped_wait_loses_nothing(store: &impl Store) {
    let start = newest(store).await;
    let mut cursor = cursor(store, KeyRange::all(), start).await;
    let mut told = Vec::new();
    for number in 0..20 {
        drop_wait(cursor.next(), number % 4, &mut told).await;
        put(store, "a", &number.to_string()).await;
        drop_wait(cursor.next(), number % 3, &mut told).await;
    }
    let last = put(store, "a", "last").await;
    told.extend(follow_cursor(cursor.as_mut(), last).await);
    let expected = follow(store, start, last).await;
    assert_eq!(told, expected);
}

/// Polls a wait a few times, then drops it; what it gave all the same is kept.
async fn drop_wait(
    wait: crate::StoreFuture<'_, Result<crate::ChangeBatch, crate::ChangesError>>,
    polls: usize,
    told: &mut Vec<Change>,
) {
    let several_yields = async {
        for _ in 0..polls {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        batch = wait => told.extend(batch.expect("the changes are kept").changes),
        () = several_yields => {}
    }
}

/// However many follow, and wherever they begin, they see one order.
pub async fn many_followers_see_the_same_order<S: Store>(store: &Arc<S>) {
    let start = newest(&**store).await;
    let last = Revision::new(start.get() + 60);
    let mut followers = JoinSet::new();
    for number in 0..20 {
        let store = Arc::clone(store);
        let after = Revision::new(start.get() + number);
        followers.spawn(async move { (after, follow(&*store, after, last).await) });
    }
    for number in 0..60 {
        put(&**store, &format!("{}", number % 7), "x").await;
    }
    let expected = follow(&**store, start, last).await;
    assert_eq!(expected.len(), 60);
    for (after, changes) in followers.join_all().await {
        let expected = expected.iter().filter(|change| change.revision > after);
        assert_eq!(changes, expected.cloned().collect::<Vec<_>>());
    }
}

/// What was acknowledged is at once in the newest state and on its way to every cursor.
pub async fn an_acknowledged_commit_is_seen_by_reads_and_cursors(store: &impl Store) {
    let start = newest(store).await;
    let mut cursor = cursor(store, KeyRange::all(), start).await;
    for number in 0..10 {
        let revision = put(store, "a", &number.to_string()).await;
        let page = read_newest(store).await;
        assert_eq!(page.entries[0].revision, revision);
        let changes = follow_cursor(cursor.as_mut(), revision).await;
        assert_eq!(changes.last().map(|change| change.revision), Some(revision));
    }
}

/// Writes a few commits and returns the changes they should make, without what they replaced.
async fn write_some(store: &impl Store) -> Vec<Change> {
    let change = |revision, key: &str, value: Option<&str>| Change {
        revision,
        key: key.into(),
        value: value.map(|value| value.to_owned().into()),
        previous: None,
    };
    let mut changes = Vec::new();
    for round in ["1", "2", "3"] {
        let revision = put(store, "a", round).await;
        changes.push(change(revision, "a", Some(round)));
        let revision = put_together(store, &[("c", round), ("b", round)]).await;
        changes.push(change(revision, "c", Some(round)));
        changes.push(change(revision, "b", Some(round)));
        delete(store, "absent").await;
        let revision = delete(store, "a").await;
        changes.push(change(revision, "a", None));
    }
    changes
}
