//! Short words for what the promises do to a store.

use crate::{
    Change, Changes, Commit, CommitError, Condition, Follow, Key, KeyRange, Operation, Page, Read,
    ReadError, Revision, Store, Write,
};

/// Writes a value whatever was there.
pub async fn put(store: &impl Store, key: &str, value: &str) -> Revision {
    let commit = Commit::one(key.into(), Condition::Any, put_of(value));
    store.commit(commit).await.expect("a put holds")
}

/// Deletes a key whatever was there.
pub async fn delete(store: &impl Store, key: &str) -> Revision {
    let commit = Commit::one(key.into(), Condition::Any, Write::Delete);
    store.commit(commit).await.expect("a deletion holds")
}

/// Writes a value under a condition.
pub async fn put_if(
    store: &impl Store,
    key: &str,
    condition: Condition,
    value: &str,
) -> Result<Revision, CommitError> {
    let commit = Commit::one(key.into(), condition, put_of(value));
    store.commit(commit).await
}

/// Puts these values in one commit, whatever was there.
pub async fn put_together(store: &impl Store, pairs: &[(&str, &str)]) -> Revision {
    let operations = pairs.iter().map(|(key, value)| Operation {
        key: Key::from(*key),
        condition: Condition::Any,
        write: put_of(value),
    });
    let operations = operations.collect();
    let committed = store.commit(Commit::together(operations)).await;
    committed.expect("puts without a condition hold")
}

/// A value without a lifetime.
pub fn put_of(value: &str) -> Write {
    Write::put(value.as_bytes().to_vec())
}

/// The newest state of all keys.
pub async fn read_newest(store: &impl Store) -> Page {
    let page = store.read(Read::newest(KeyRange::all())).await;
    page.expect("the newest state can be read")
}

/// All keys at a revision.
pub async fn read_at(store: &impl Store, revision: Revision) -> Result<Page, ReadError> {
    store.read(Read::newest(KeyRange::all()).at(revision)).await
}

/// The newest revision.
pub async fn newest(store: &impl Store) -> Revision {
    let page = store.read(Read::revision_only()).await;
    page.expect("the revision can be read").revision
}

/// The entries of a page as `key=value@revision`, for comparison.
pub fn shown(page: &Page) -> Vec<String> {
    let show = |entry: &crate::Entry| {
        let value = String::from_utf8_lossy(&entry.value);
        let key = String::from_utf8_lossy(entry.key.as_bytes());
        format!("{key}={value}@{}", entry.revision)
    };
    page.entries.iter().map(show).collect()
}

/// A cursor on a range.
pub async fn cursor(store: &impl Store, range: KeyRange, after: Revision) -> Box<dyn Changes> {
    let cursor = store.changes(Follow::new(range, after)).await;
    cursor.expect("the changes are kept")
}

/// All changes after one revision and through another.
pub async fn follow(store: &impl Store, after: Revision, through: Revision) -> Vec<Change> {
    let mut cursor = cursor(store, KeyRange::all(), after).await;
    follow_cursor(cursor.as_mut(), through).await
}

/// All changes that a cursor gives until it is through a revision.
pub async fn follow_cursor(cursor: &mut dyn Changes, through: Revision) -> Vec<Change> {
    let mut changes = Vec::new();
    loop {
        let batch = cursor.next().await.expect("the changes are kept");
        let last = batch.changes.last().map(|change| change.revision);
        assert!(last.is_none_or(|last| last <= batch.through), "{batch:?}");
        changes.extend(batch.changes);
        if batch.through >= through {
            return changes;
        }
    }
}

/// Changes as `key=value@revision` or `key gone@revision`, for comparison.
pub fn shown_changes(changes: &[Change]) -> Vec<String> {
    let show = |change: &Change| {
        let key = String::from_utf8_lossy(change.key.as_bytes());
        match &change.value {
            Some(value) => {
                let value = String::from_utf8_lossy(value);
                format!("{key}={value}@{}", change.revision)
            }
            None => format!("{key} gone@{}", change.revision),
        }
    };
    changes.iter().map(show).collect()
}
