//! Promises of [`Store::commit`].

use std::sync::Arc;

use tokio::task::JoinSet;

use super::script::{
    delete, follow, newest, put, put_if, put_of, put_together, read_newest, shown, shown_changes,
};
use crate::{
    COMMIT_BYTES_MAX, COMMIT_REQUIREMENTS_MAX, Commit, CommitError, Condition, Entry, Key,
    Operation, Revision, Store, Write,
};

/// Revisions grow from commit to commit, and the newest is the last commit's.
pub async fn every_commit_gets_the_next_revision(store: &impl Store) {
    let mut last = newest(store).await;
    for number in 0..5 {
        let revision = put(store, &format!("{}", number % 2), "x").await;
        assert!(revision > last);
        assert_eq!(newest(store).await, revision);
        last = revision;
    }
}

/// A key can be created once.
pub async fn absent_holds_only_of_a_key_without_a_value(store: &impl Store) {
    let first = put_if(store, "a", Condition::Absent, "1").await;
    let again = put_if(store, "a", Condition::Absent, "2").await;
    assert!(matches!(again, Err(CommitError::Conflict { .. })));
    let first = first.expect("the key was absent");
    let page = read_newest(store).await;
    assert_eq!(shown(&page), [format!("a=1@{first}")]);
    delete(store, "a").await;
    let after_delete = put_if(store, "a", Condition::Absent, "3").await;
    assert!(after_delete.is_ok());
}

/// A value can be replaced or deleted on the condition that nobody did so before.
pub async fn unchanged_holds_only_of_that_revision(store: &impl Store) {
    let first = put(store, "a", "1").await;
    let second = put_if(store, "a", Condition::Unchanged(first), "2").await;
    let second = second.expect("nobody wrote in between");
    let stale = put_if(store, "a", Condition::Unchanged(first), "3").await;
    assert!(matches!(stale, Err(CommitError::Conflict { .. })));
    let stale = Commit::one("a".into(), Condition::Unchanged(first), Write::Delete);
    let stale = store.commit(stale).await;
    assert!(matches!(stale, Err(CommitError::Conflict { .. })));
    let fresh = Commit::one("a".into(), Condition::Unchanged(second), Write::Delete);
    assert!(store.commit(fresh).await.is_ok());
    let gone = put_if(store, "a", Condition::Unchanged(second), "4").await;
    assert!(matches!(gone, Err(CommitError::Conflict { .. })));
}

/// The loser of a race learns what the key holds, so that it need not read again.
pub async fn a_conflict_carries_the_current_entry(store: &impl Store) {
    let revision = put(store, "a", "now").await;
    let conflict = put_if(store, "a", Condition::Absent, "x").await;
    let current = Entry {
        key: "a".into(),
        revision,
        value: "now".into(),
    };
    let expected = CommitError::Conflict {
        key: "a".into(),
        current: Some(current),
    };
    assert_eq!(conflict, Err(expected));
    let conflict = put_if(store, "b", Condition::Unchanged(revision), "x").await;
    let expected = CommitError::Conflict {
        key: "b".into(),
        current: None,
    };
    assert_eq!(conflict, Err(expected));
}

/// A commit of several keys has one revision.
pub async fn all_writes_of_a_commit_share_its_revision(store: &impl Store) {
    let before = put(store, "gone", "x").await;
    let operations = vec![
        write_if("b", Condition::Any, put_of("1")),
        write_if("gone", Condition::Unchanged(before), Write::Delete),
        write_if("a", Condition::Absent, put_of("2")),
    ];
    let revision = store.commit(Commit::together(operations)).await;
    let revision = revision.expect("all conditions hold");
    let page = read_newest(store).await;
    assert_eq!(
        shown(&page),
        [format!("a=2@{revision}"), format!("b=1@{revision}")]
    );
    let changes = follow(store, before, revision).await;
    assert!(changes.iter().all(|change| change.revision == revision));
    assert_eq!(changes.len(), 3);
}

/// Of a commit either everything happens or nothing; the first failed condition is named.
pub async fn one_failed_condition_stops_the_whole_commit(store: &impl Store) {
    let revision = put(store, "b", "old").await;
    let operations = vec![
        write_if("a", Condition::Any, put_of("new")),
        write_if("b", Condition::Absent, put_of("new")),
        write_if("c", Condition::Unchanged(revision), put_of("new")),
    ];
    let refused = store.commit(Commit::together(operations)).await;
    match refused {
        Err(CommitError::Conflict { key, .. }) => assert_eq!(key, Key::from("b")),
        other => panic!("{other:?} is no conflict"),
    }
    let page = read_newest(store).await;
    assert_eq!(shown(&page), [format!("b=old@{revision}")]);
    assert_eq!(page.revision, revision);
}

/// A commit may depend on keys that it does not write, which stay as they are.
pub async fn a_requirement_that_holds_lets_the_commit_happen(store: &impl Store) {
    let seen = put(store, "home", "x").await;
    let commit = put_requiring("a", "1", "home", Condition::Unchanged(seen));
    let revision = store.commit(commit).await.expect("nobody touched it");
    let commit = put_requiring("b", "2", "nobody", Condition::Absent);
    let last = store.commit(commit).await.expect("nobody is there");
    let changes = follow(store, seen, last).await;
    let expected = [format!("a=1@{revision}"), format!("b=2@{last}")];
    assert_eq!(shown_changes(&changes), expected);
}

/// What is required is judged together with the commit: one that is overtaken writes nothing.
pub async fn a_requirement_that_fails_stops_the_commit(store: &impl Store) {
    let seen = put(store, "home", "old").await;
    let revision = put(store, "home", "new").await;
    let stale = put_requiring("a", "1", "home", Condition::Unchanged(seen));
    let taken = put_requiring("a", "1", "home", Condition::Absent);
    let current = Entry {
        key: "home".into(),
        revision,
        value: "new".into(),
    };
    let expected = CommitError::Conflict {
        key: "home".into(),
        current: Some(current),
    };
    for refused in [stale, taken] {
        assert_eq!(store.commit(refused).await, Err(expected.clone()));
    }
    delete(store, "home").await;
    let gone = put_requiring("a", "1", "home", Condition::Unchanged(revision));
    let expected = CommitError::Conflict {
        key: "home".into(),
        current: None,
    };
    assert_eq!(store.commit(gone).await, Err(expected));
    assert!(read_newest(store).await.entries.is_empty());
}

/// Where both fail, the conflict is about what was required and not about what was to be written.
pub async fn requirements_are_judged_first(store: &impl Store) {
    let revision = put(store, "a", "old").await;
    let write = write_if("a", Condition::Absent, put_of("new"));
    let commit = || Commit::together(vec![write.clone()]);
    let unmet = commit().requiring("home".into(), Condition::Unchanged(revision));
    let met = commit().requiring("home".into(), Condition::Absent);
    let unmet_second = commit()
        .requiring("elsewhere".into(), Condition::Absent)
        .requiring("home".into(), Condition::Unchanged(revision));
    for (commit, blamed) in [(unmet, "home"), (met, "a"), (unmet_second, "home")] {
        match store.commit(commit).await {
            Err(CommitError::Conflict { key, .. }) => assert_eq!(key, Key::from(blamed)),
            other => panic!("{other:?} is no conflict"),
        }
    }
    let page = read_newest(store).await;
    assert_eq!(shown(&page), [format!("a=old@{revision}")]);
}

/// Many commits may require the same at the same time, and none hinders another.
pub async fn those_who_require_the_same_do_not_hinder_each_other<S: Store>(store: &Arc<S>) {
    let seen = put(&**store, "home", "x").await;
    let mut commits = JoinSet::new();
    for number in 0..32 {
        let store = Arc::clone(store);
        let condition = Condition::Unchanged(seen);
        let commit = put_requiring(&number.to_string(), "x", "home", condition);
        commits.spawn(async move { store.commit(commit).await });
    }
    for committed in commits.join_all().await {
        assert!(committed.is_ok(), "{committed:?}");
    }
}

/// Of a commit that requires a key and one that deletes it, the second comes later or stops the
/// first: whoever saw the deletion sees everything that will ever rely on the key.
pub async fn nothing_that_requires_a_key_follows_its_end<S: Store>(store: &Arc<S>) {
    for round in 0..10 {
        let (home, guest) = (format!("home {round}"), format!("guest {round}"));
        let seen = put(&**store, &home, "x").await;
        let commit = put_requiring(&guest, "x", &home, Condition::Unchanged(seen));
        let (arriving, ending) = (Arc::clone(store), Arc::clone(store));
        let (arrived, ended) = tokio::join!(
            tokio::spawn(async move { arriving.commit(commit).await }),
            tokio::spawn(async move { delete(&*ending, &home).await }),
        );
        let ended = ended.expect("the deletion did not panic");
        match arrived.expect("the commit did not panic") {
            Ok(arrived) => assert!(arrived < ended),
            Err(CommitError::Conflict { current: None, .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// Requirements are of distinct keys that are not written, and few.
pub async fn requirements_out_of_bounds_are_invalid(store: &impl Store) {
    let before = newest(store).await;
    let any = Condition::Any;
    let written = put_requiring("a", "1", "a", any);
    let twice = put_requiring("a", "1", "b", any).requiring("b".into(), any);
    let all: Vec<_> = (0..=COMMIT_REQUIREMENTS_MAX)
        .map(|number| Key::from(number.to_string().as_str()))
        .collect();
    let requiring = |keys: &[Key]| {
        let commit = Commit::one("a".into(), any, put_of("1"));
        let keys = keys.iter().cloned();
        keys.fold(commit, |commit, key| {
            commit.requiring(key, Condition::Absent)
        })
    };
    let alone = Commit {
        operations: Vec::new(),
        ..written.clone()
    };
    for invalid in [written, twice, alone, requiring(&all)] {
        let refused = store.commit(invalid).await;
        assert!(
            matches!(refused, Err(CommitError::Invalid { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(newest(store).await, before);
    let most = requiring(&all[1..]);
    assert!(store.commit(most).await.is_ok());
}

fn put_requiring(key: &str, value: &str, required: &str, condition: Condition) -> Commit {
    let commit = Commit::one(key.into(), Condition::Any, put_of(value));
    commit.requiring(required.into(), condition)
}

/// A commit without a write is a mistake.
pub async fn an_empty_commit_is_invalid(store: &impl Store) {
    let refused = store.commit(Commit::default()).await;
    assert!(matches!(refused, Err(CommitError::Invalid { .. })));
}

/// Two writes of one key in one commit are a mistake, whatever they are.
pub async fn a_key_twice_is_invalid(store: &impl Store) {
    let before = newest(store).await;
    let operations = vec![
        write_if("a", Condition::Any, put_of("1")),
        write_if("b", Condition::Any, put_of("1")),
        write_if("a", Condition::Any, Write::Delete),
    ];
    let refused = store.commit(Commit::together(operations)).await;
    assert!(matches!(refused, Err(CommitError::Invalid { .. })));
    assert_eq!(newest(store).await, before);
}

/// More than [`COMMIT_BYTES_MAX`] is refused, and the store goes on.
pub async fn a_commit_that_is_too_large_is_invalid(store: &impl Store) {
    let write = Write::put(vec![b'x'; COMMIT_BYTES_MAX]);
    let refused = Commit::one("a".into(), Condition::Any, write);
    let refused = store.commit(refused).await;
    assert!(matches!(refused, Err(CommitError::Invalid { .. })));
    put(store, "a", "small").await;
}

/// Deleting what is not there takes no revision and is no change; the newest revision comes back.
pub async fn deleting_an_absent_key_writes_nothing(store: &impl Store) {
    let before = put(store, "a", "x").await;
    assert_eq!(delete(store, "b").await, before);
    let absent = Commit::one("b".into(), Condition::Absent, Write::Delete);
    assert_eq!(store.commit(absent).await, Ok(before));
    assert_eq!(newest(store).await, before);

    let operations = vec![
        write_if("b", Condition::Any, Write::Delete),
        write_if("c", Condition::Any, put_of("x")),
    ];
    let revision = store.commit(Commit::together(operations)).await;
    let revision = revision.expect("there are no conditions");
    let changes = follow(store, before, revision).await;
    assert_eq!(shown_changes(&changes), [format!("c=x@{revision}")]);
}

/// A new value after a deletion has nothing of the old one.
pub async fn a_deleted_key_can_be_created_again(store: &impl Store) {
    let first = put(store, "a", "1").await;
    let gone = delete(store, "a").await;
    assert!(gone > first);
    assert!(read_newest(store).await.entries.is_empty());
    let second = put_if(store, "a", Condition::Absent, "2").await;
    let second = second.expect("the key is absent");
    let page = read_newest(store).await;
    assert_eq!(shown(&page), [format!("a=2@{second}")]);
    let changes = follow(store, gone, second).await;
    assert_eq!(changes[0].previous, None);
}

/// Of many commits on one condition exactly one happens.
pub async fn of_rivals_exactly_one_wins<S: Store>(store: &Arc<S>) {
    let mut revision = put(&**store, "a", "0").await;
    for _ in 0..5 {
        let condition = Condition::Unchanged(revision);
        let results = rivals(store, condition).await;
        let winners: Vec<_> = results.iter().filter_map(|one| one.as_ref().ok()).collect();
        assert_eq!(winners.len(), 1, "{results:?}");
        revision = *winners[0];
    }
}

async fn rivals<S: Store>(
    store: &Arc<S>,
    condition: Condition,
) -> Vec<Result<Revision, CommitError>> {
    let mut rivals = JoinSet::new();
    for number in 0..16 {
        let store = Arc::clone(store);
        rivals.spawn(async move { put_if(&*store, "a", condition, &number.to_string()).await });
    }
    rivals.join_all().await
}

/// Commits that arrive together stay apart: a revision each, and each value where it belongs.
pub async fn concurrent_commits_each_get_their_own_revision<S: Store>(store: &Arc<S>) {
    let before = newest(&**store).await;
    let mut commits = JoinSet::new();
    for number in 0..100 {
        let store = Arc::clone(store);
        let key = format!("{number}");
        commits.spawn(async move { (put(&*store, &key, &key).await, key) });
    }
    let mut expected = commits.join_all().await;
    expected.sort();
    let last = expected.last().expect("there are 100").0;
    let changes = follow(&**store, before, last).await;
    let shown = shown_changes(&changes);
    let expected = expected
        .into_iter()
        .map(|(revision, key)| format!("{key}={key}@{revision}"));
    assert_eq!(shown, expected.collect::<Vec<_>>());
    let together = put_together(&**store, &[("0", "x"), ("1", "x")]).await;
    assert!(together > last);
}

fn write_if(key: &str, condition: Condition, write: Write) -> Operation {
    Operation {
        key: key.into(),
        condition,
        write,
    }
}
