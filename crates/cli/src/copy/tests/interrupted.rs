//! Copies that end in the middle, and go on.

use super::{watched_store::Fate, *};
use crate::copy::start::Begun;

/// Copies until a commit stalls; `None` when none did.
async fn copy_until_stalled(
    source: &dyn Store,
    target: &WatchedStore,
    plan: &Plan,
) -> Option<Result<Copied, CopyError>> {
    tokio::select! {
        copied = copy_all(source, target, plan) => Some(copied),
        () = target.stalled() => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_ends_at_any_commit_goes_on_there() {
    goes_on_at_any_commit(async || new_target() as Arc<dyn Store>).await;
}

/// Ends a copy at each commit, before and after it happens, and goes on with it.
pub(super) async fn goes_on_at_any_commit(make_target: impl AsyncFn() -> Arc<dyn Store>) {
    let source = filled_source().await;
    for fate in [Fate::StallsBefore, Fate::StallsAfter] {
        for number in 1.. {
            let kept = make_target().await;
            let first = WatchedStore::new(Arc::clone(&kept)).with_fate(number, fate);
            if copy_until_stalled(&*source, &first, &plan())
                .await
                .is_some()
            {
                assert!(number > 6, "{number} commits are too few to mean anything");
                break;
            }
            let again = WatchedStore::new(Arc::clone(&kept));
            let ended = copy_all(&*source, &again, &plan()).await;
            // The last commit removes the marker: after it there is nothing to go on with.
            if registry(&*kept).await.len() as u64 == OBJECTS && again.commits().is_empty() {
                assert!(
                    matches!(ended, Err(CopyError::NotEmpty { .. })),
                    "{ended:?}"
                );
            } else {
                assert_eq!(ended.unwrap().objects, OBJECTS);
            }
            assert_copied(&*source, &*kept).await;
            let puts = [first, again].map(|store| puts_of(&store.commits()));
            assert_eq!(puts[0] + puts[1], OBJECTS, "an object was written twice");
        }
    }
}

fn puts_of(commits: &[Commit]) -> u64 {
    let operations = commits.iter().flat_map(|commit| &commit.operations);
    let puts = operations.filter(|one| one.key.as_bytes() != MARKER_KEY.as_bytes());
    puts.count() as u64
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_changes_nothing() {
    let source = filled_source().await;
    for fate in [Fate::LostBefore, Fate::LostAfter] {
        for number in 1..=8 {
            let target = WatchedStore::new(new_target()).with_fate(number, fate);
            let copied = copy_all(&*source, &target, &plan()).await.unwrap();
            assert_copied(&*source, &target).await;
            assert_eq!(
                copied.target_revision,
                copied.target_began_plus(target.commits().len())
            );
            assert_eq!(puts_of(&target.commits()), OBJECTS);
        }
    }
}

impl Copied {
    fn target_began_plus(&self, commits: usize) -> Revision {
        Revision::new(self.target_began.get() + commits as u64)
    }
}

/// A copy of which the first three batches are there.
async fn begun_copy(source: &MemoryStore, plan: &Plan) -> Arc<MemoryStore> {
    let kept = new_target();
    let first = WatchedStore::new(kept.clone()).with_fate(4, Fate::StallsBefore);
    assert!(copy_until_stalled(source, &first, plan).await.is_none());
    assert_eq!(registry(&*kept).await.len(), 31);
    kept
}

#[tokio::test(start_paused = true)]
async fn what_changed_between_two_runs_is_copied_too() {
    let source = filled_source().await;
    let kept = begun_copy(&source, &plan()).await;
    put(&*source, "/registry/pods/default/000", "changed").await;
    delete(&*source, "/registry/pods/default/001").await;
    delete(&*source, "/registry/pods/default/050").await;
    let copied = copy_all(&*source, &*kept, &plan()).await.unwrap();
    assert_copied(&*source, &*kept).await;
    assert_eq!((copied.followed, copied.begun), (3, Begun::Before));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_forgot_the_revision_is_looked_at_again() {
    let source = filled_source().await;
    let kept = begun_copy(&source, &plan()).await;
    put(&*source, "/registry/pods/default/000", "changed").await;
    delete(&*source, "/registry/pods/default/001").await;
    let newest = script::newest(&*source).await;
    source.compact(newest).await.unwrap();
    let again = WatchedStore::new(kept.clone());
    let copied = copy_all(&*source, &again, &plan()).await.unwrap();
    assert_copied(&*source, &*kept).await;
    assert_eq!((copied.objects, copied.followed), (OBJECTS - 1, 0));
    let expected = OBJECTS - 30 + 2;
    assert_eq!(
        puts_of(&again.commits()),
        expected,
        "only what differs is written"
    );
}

#[tokio::test(start_paused = true)]
async fn a_source_that_forgets_while_it_is_copied_is_looked_at_again() {
    let source = filled_source().await;
    for number in 1..=6 {
        let target = WatchedStore::new(new_target());
        let changing = Arc::clone(&source);
        target.before_commit(number, async move {
            put(
                &*changing,
                "/registry/pods/default/000",
                &format!("{number}"),
            )
            .await;
            let newest = script::newest(&*changing).await;
            changing.compact(newest).await.unwrap();
        });
        copy_all(&*source, &target, &plan()).await.unwrap();
        assert_copied(&*source, &target).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_merge_that_starts_over_keeps_what_was_there_before() {
    let source = filled_source().await;
    let kept = new_target();
    put(&*kept, "/registry/pods/a/mine", "mine").await;
    let merge = Plan {
        existing: Existing::Merged,
        ..plan()
    };
    let first = WatchedStore::new(kept.clone()).with_fate(4, Fate::StallsBefore);
    assert!(copy_until_stalled(&*source, &first, &merge).await.is_none());
    delete(&*source, "/registry/pods/default/001").await;
    source
        .compact(script::newest(&*source).await)
        .await
        .unwrap();
    // What the first run was told holds for the second.
    let copied = copy_all(&*source, &*kept, &plan()).await.unwrap();
    assert_eq!((copied.objects, copied.kept), (OBJECTS - 1, 1));
    delete(&*kept, "/registry/pods/a/mine").await;
    assert_copied(&*source, &*kept).await;
}

#[tokio::test(start_paused = true)]
async fn a_difference_is_found_and_put_right_by_the_next_run() {
    let source = filled_source().await;
    let kept = new_target();
    let tampered = [
        (
            "/registry/pods/default/003",
            Some("other"),
            Difference::Value,
        ),
        ("/registry/pods/default/003", None, Difference::Missing),
        (
            "/registry/pods/default/003a",
            Some("new"),
            Difference::Extra,
        ),
    ];
    for (key, value, expected) in tampered {
        let target = WatchedStore::new(kept.clone());
        let tampering = Arc::clone(&kept);
        target.before_commit(3, async move {
            match value {
                Some(value) => put(&*tampering, key, value).await,
                None => delete(&*tampering, key).await,
            }
        });
        let found = copy_all(&*source, &target, &plan()).await;
        match found {
            Err(CopyError::Differs {
                key: differing,
                how,
            }) => {
                assert_eq!((differing, how), (key.into(), expected));
            }
            other => panic!("{other:?}"),
        }
        assert!(marker::is_unfinished(&*kept).await.unwrap());
        let put_right = WatchedStore::new(kept.clone());
        copy_all(&*source, &put_right, &plan()).await.unwrap();
        assert_copied(&*source, &*kept).await;
        assert_eq!(puts_of(&put_right.commits()), 1);
        for entry in registry(&*kept).await {
            let key = String::from_utf8_lossy(entry.key.as_bytes()).into_owned();
            delete(&*kept, &key).await;
        }
    }
}
