//! Promises of [`Put::lifetime`].

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{
    Terms,
    script::{cursor, delete, follow_cursor, newest, put, read_newest, shown_changes},
};
use crate::{
    Change, Changes, Commit, CommitError, Condition, KeyRange, Put, Revision, Store, Write,
};

/// Never early, and late by seconds at the most.
pub async fn a_value_ends_after_its_lifetime(store: &impl Store, terms: &Terms) {
    let written = put_for(store, "a", terms.lifetime).await;
    let begun = Instant::now();
    let mut cursor = cursor(store, KeyRange::all(), written).await;
    sleep(terms.lifetime / 2).await;
    assert_eq!(read_newest(store).await.entries.len(), 1);
    next_change(cursor.as_mut()).await;
    let age = begun.elapsed();
    assert!(
        age >= terms.lifetime && age <= terms.lifetime + terms.late_max,
        "{age:?}"
    );
    assert!(read_newest(store).await.entries.is_empty());
}

/// The end of a value has a revision of its own and tells what it removed.
pub async fn an_end_is_an_ordinary_change(store: &impl Store, terms: &Terms) {
    let written = put_for(store, "a", terms.lifetime).await;
    let last = put(store, "b", "stays").await;
    let mut cursor = cursor(store, KeyRange::all(), last).await;
    let change = next_change(cursor.as_mut()).await;
    assert_eq!(change.revision, last.next());
    assert_eq!(change.value, None);
    let previous = change.previous.expect("there was a value");
    assert_eq!(previous.revision, written);
    assert_eq!(newest(store).await, change.revision);
}

/// A value written again ends its own lifetime after the second write.
pub async fn another_write_begins_a_new_lifetime(store: &impl Store, terms: &Terms) {
    put_for(store, "a", terms.lifetime).await;
    sleep(terms.lifetime / 2).await;
    let rewritten = put_for(store, "a", terms.lifetime).await;
    let begun = Instant::now();
    let mut cursor = cursor(store, KeyRange::all(), rewritten).await;
    let change = next_change(cursor.as_mut()).await;
    assert!(begun.elapsed() >= terms.lifetime, "{:?}", begun.elapsed());
    let previous = change.previous.expect("there was a value");
    assert_eq!(previous.revision, rewritten);
}

/// A lifetime is the value's, not the key's.
pub async fn a_write_without_a_lifetime_stays(store: &impl Store, terms: &Terms) {
    put_for(store, "a", terms.lifetime).await;
    put_for(store, "b", terms.lifetime).await;
    put(store, "a", "stays").await;
    delete(store, "b").await;
    let last = put(store, "b", "stays").await;
    let mut cursor = cursor(store, KeyRange::all(), last).await;
    let nothing = timeout(terms.lifetime + terms.late_max, cursor.next()).await;
    assert!(nothing.is_err(), "{nothing:?}");
}

/// Whatever the order of the writes, the shortest lifetime ends first.
pub async fn values_end_in_the_order_of_their_ends(store: &impl Store, terms: &Terms) {
    put_for(store, "late", terms.lifetime * 3).await;
    put_for(store, "early", terms.lifetime).await;
    let last = put_for(store, "middle", terms.lifetime * 2).await;
    let mut cursor = cursor(store, KeyRange::all(), last).await;
    for (number, key) in ["early", "middle", "late"].iter().enumerate() {
        let change = next_change(cursor.as_mut()).await;
        let revision = last.get() + 1 + number as u64;
        assert_eq!(shown_changes(&[change]), [format!("{key} gone@{revision}")]);
    }
}

/// What is required of a value holds as long as the value lives, and no longer.
pub async fn a_requirement_ends_with_its_value(store: &impl Store, terms: &Terms) {
    let written = put_for(store, "home", terms.lifetime).await;
    let commit = || {
        let commit = Commit::one("a".into(), Condition::Any, Write::put("x"));
        commit.requiring("home".into(), Condition::Unchanged(written))
    };
    let last = store.commit(commit()).await.expect("it lives");
    let mut cursor = cursor(store, KeyRange::all(), last).await;
    next_change(cursor.as_mut()).await;
    let expected = CommitError::Conflict {
        key: "home".into(),
        current: None,
    };
    assert_eq!(store.commit(commit()).await, Err(expected));
}

/// Each of many has its own revision, so that a follower may resume between any two.
pub async fn many_values_may_end_together(store: &impl Store, terms: &Terms) {
    const VALUES: u64 = 300;
    let start = newest(store).await;
    for number in 0..VALUES {
        put_for(store, &format!("{number:03}"), terms.lifetime).await;
    }
    let last = Revision::new(start.get() + 2 * VALUES);
    let written = Revision::new(start.get() + VALUES);
    let mut cursor = cursor(store, KeyRange::all(), written).await;
    let changes = follow_cursor(cursor.as_mut(), last).await;
    let revisions: Vec<_> = changes.iter().map(|change| change.revision.get()).collect();
    let expected: Vec<_> = (written.get() + 1..=last.get()).collect();
    assert_eq!(revisions, expected);
    assert!(read_newest(store).await.entries.is_empty());
}

async fn put_for(store: &impl Store, key: &str, lifetime: Duration) -> Revision {
    let write = Write::Put(Put {
        value: "x".into(),
        lifetime: Some(lifetime),
    });
    let commit = Commit::one(key.into(), Condition::Any, write);
    store.commit(commit).await.expect("a put holds")
}

async fn next_change(cursor: &mut dyn Changes) -> Change {
    loop {
        let mut batch = cursor.next().await.expect("the changes are kept");
        assert!(batch.changes.len() <= 1, "{batch:?}");
        if let Some(change) = batch.changes.pop() {
            return change;
        }
    }
}
