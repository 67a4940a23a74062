//! Copies that are refused, with nothing written.

use super::{watched_store::Fate, *};

async fn refusal(source: &dyn Store, target: &MemoryStore, plan: &Plan) -> String {
    let before = script::newest(target).await;
    let refused = copy_all(source, target, plan).await.unwrap_err();
    assert_eq!(script::newest(target).await, before);
    refused.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_not_empty() {
    let (source, target) = (filled_source().await, new_target());
    put(&*target, "/registry/pods/default/other", "other").await;
    let said = refusal(&*source, &target, &plan()).await;
    assert!(
        said.contains("1 objects") && said.contains("--merge"),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_target_whose_resource_versions_are_older() {
    let (source, target) = (filled_source().await, MemoryStore::new());
    put(&target, "/registry/pods/default/other", "other").await;
    let merge = Plan {
        existing: Existing::Merged,
        ..plan()
    };
    let said = refusal(&*source, &target, &merge).await;
    assert!(
        said.contains("resourceVersion 1, the source at 58"),
        "{said}"
    );
}

/// The first batch of a copy, and then nothing.
async fn begun(source: &dyn Store) -> Arc<MemoryStore> {
    let (kept, plan) = (new_target(), plan());
    let first = WatchedStore::new(kept.clone()).with_fate(2, Fate::StallsBefore);
    tokio::select! {
        ended = copy_all(source, &first, &plan) => panic!("{ended:?}"),
        () = first.stalled() => kept,
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_of_an_unfinished_copy_of_something_else() {
    let source = filled_source().await;
    let target = begun(&*source).await;
    let other = Plan {
        source_name: "memory:other".to_owned(),
        ..plan()
    };
    let said = refusal(&*source, &target, &other).await;
    assert!(
        said.contains("unfinished copy from memory:source"),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_target_of_an_unfinished_copy_that_cannot_be_read() {
    let (source, target) = (filled_source().await, new_target());
    put(&*target, MARKER_KEY, "{}").await;
    let said = refusal(&*source, &target, &plan()).await;
    assert!(said.contains("another version"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_an_unfinished_copy() {
    let source = filled_source().await;
    let source = begun(&*source).await;
    let said = refusal(&*source, &new_target(), &plan()).await;
    assert!(said.contains("unfinished copy itself"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_has_gone_past_the_beginning_of_the_target() {
    let source = filled_source().await;
    let target = begun(&*source).await;
    for _ in 0..1_000 {
        put(&*source, "/other", "busy").await;
    }
    let said = refusal(&*source, &target, &plan()).await;
    assert!(said.contains("would seem older"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_second_copy_at_the_same_time() {
    let source = filled_source().await;
    let kept = new_target();
    let first = WatchedStore::new(kept.clone()).with_fate(3, Fate::Waits);
    let first_plan = plan();
    let mut copying = std::pin::pin!(copy_all(&*source, &first, &first_plan));
    tokio::select! {
        ended = &mut copying => panic!("{ended:?}"),
        () = first.stalled() => {}
    }
    let second_plan = Plan {
        run: "second".to_owned(),
        ..plan()
    };
    let second = WatchedStore::new(kept.clone()).with_fate(2, Fate::StallsBefore);
    tokio::select! {
        ended = copy_all(&*source, &second, &second_plan) => panic!("{ended:?}"),
        () = second.stalled() => {}
    }
    first.let_go();
    let refused = copying.await.unwrap_err();
    assert!(matches!(refused, CopyError::OtherRun), "{refused}");
    copy_all(&*source, &*kept, &plan()).await.unwrap();
    assert_copied(&*source, &*kept).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_holds_an_unfinished_copy_is_not_served() {
    let source = filled_source().await;
    let target = begun(&*source).await;
    let refused = refuse_unfinished(&*target).await.unwrap_err().to_string();
    assert!(refused.contains("`listwatch copy` again"), "{refused}");
    copy_all(&*source, &*target, &plan()).await.unwrap();
    refuse_unfinished(&*target).await.unwrap();
}
