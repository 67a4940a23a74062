//! Promises of [`Store::compact`].

use super::script::{
    cursor, delete, follow, newest, put, put_together, read_at, read_newest, shown, shown_changes,
};
use crate::{ChangesError, Follow, KeyRange, ReadError, Revision, Store};

/// After a compaction nothing older can be read or followed, and the refusal names the floor.
pub async fn states_before_the_floor_are_refused(store: &impl Store) {
    let revisions = write_some(store).await;
    compact(store, revisions[4]).await;
    for requested in &revisions[..4] {
        let oldest = revisions[4];
        let requested = *requested;
        let refused = read_at(store, requested).await;
        let expected = ReadError::Compacted { requested, oldest };
        assert_eq!(refused, Err(expected));
        let refused = store
            .changes(Follow::new(KeyRange::all(), requested))
            .await
            .err();
        let expected = ChangesError::Compacted { requested, oldest };
        assert_eq!(refused, Some(expected));
    }
}

/// The state at the floor and at every later revision is as before.
pub async fn the_state_at_the_floor_stays(store: &impl Store) {
    let revisions = write_some(store).await;
    let mut states = Vec::new();
    for revision in &revisions[4..] {
        states.push(read_at(store, *revision).await);
    }
    compact(store, revisions[4]).await;
    for (revision, state) in revisions[4..].iter().zip(states) {
        assert!(state.is_ok());
        assert_eq!(read_at(store, *revision).await, state);
    }
    put(store, "a", "later").await;
    assert!(read_at(store, revisions[4]).await.is_ok());
}

/// The changes after the floor are as before, with what they replaced.
pub async fn changes_after_the_floor_stay(store: &impl Store) {
    let revisions = write_some(store).await;
    let last = newest(store).await;
    let before = follow(store, revisions[4], last).await;
    assert!(before.iter().any(|change| change.previous.is_some()));
    compact(store, revisions[4]).await;
    assert_eq!(follow(store, revisions[4], last).await, before);
}

/// A cursor that the floor has overtaken never leaves a gap: it has its changes already, or it
/// ends with an error.
pub async fn a_cursor_behind_the_floor_is_told(store: &impl Store) {
    let revisions = write_some(store).await;
    let all = follow(store, revisions[1], newest(store).await).await;
    let mut behind = cursor(store, KeyRange::all(), revisions[1]).await;
    let mut ahead = cursor(store, KeyRange::all(), revisions[5]).await;
    compact(store, revisions[5]).await;
    let expected = ChangesError::Compacted {
        requested: revisions[1],
        oldest: revisions[5],
    };
    match behind.next().await {
        Ok(batch) => assert!(all.starts_with(&batch.changes), "{batch:?}"),
        Err(error) => assert_eq!(error, expected),
    }
    assert!(ahead.next().await.is_ok());
}

/// Compacting less than before changes nothing.
pub async fn the_floor_never_goes_back(store: &impl Store) {
    let revisions = write_some(store).await;
    compact(store, revisions[4]).await;
    compact(store, revisions[2]).await;
    compact(store, revisions[4]).await;
    assert!(read_at(store, revisions[3]).await.is_err());
    assert!(read_at(store, revisions[4]).await.is_ok());
}

/// A revision that no commit has reached stands for the newest.
pub async fn the_future_compacts_up_to_the_newest(store: &impl Store) {
    write_some(store).await;
    let state = read_newest(store).await;
    let last = state.revision;
    compact(store, Revision::new(last.get() + 100)).await;
    assert_eq!(read_newest(store).await, state);
    assert_eq!(read_at(store, last).await, Ok(state));
    let next = put(store, "a", "next").await;
    let changes = follow(store, last, next).await;
    assert_eq!(shown_changes(&changes), [format!("a=next@{next}")]);
}

/// What was deleted before the floor is not found at it, nor after it.
pub async fn deleted_keys_stay_deleted(store: &impl Store) {
    put_together(store, &[("a", "x"), ("b", "x")]).await;
    let floor = delete(store, "a").await;
    let last = put(store, "c", "x").await;
    compact(store, floor).await;
    for revision in [floor, last] {
        let page = read_at(store, revision).await.expect("it is kept");
        assert!(!shown(&page).iter().any(|entry| entry.starts_with("a=")));
    }
    let created = put(store, "a", "again").await;
    let changes = follow(store, last, created).await;
    assert_eq!(changes[0].previous, None);
}

async fn compact(store: &impl Store, before: Revision) {
    let compacted = store.compact(before).await;
    compacted.expect("the store can be compacted");
}

async fn write_some(store: &impl Store) -> Vec<Revision> {
    vec![
        put(store, "a", "1").await,
        put_together(store, &[("a", "2"), ("b", "1")]).await,
        delete(store, "a").await,
        put(store, "c", "1").await,
        put(store, "b", "2").await,
        put_together(store, &[("a", "3"), ("c", "2")]).await,
        delete(store, "b").await,
        put(store, "c", "3").await,
    ]
}
