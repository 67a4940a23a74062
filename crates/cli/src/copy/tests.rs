mod etcd;
mod interrupted;
mod refused;
mod watched_store;

use std::sync::Arc;

use listwatch_store::{
    Commit, Condition, Entry, KeyRange, MemoryHistory, MemoryStore, Read, Revision, Write,
    contract::script,
};

use self::watched_store::WatchedStore;
use super::{
    error::{CopyError, Difference},
    marker::MARKER_KEY,
    target::CommitBounds,
    *,
};

const OBJECTS: u64 = 57;

fn plan() -> Plan {
    Plan {
        source_name: "memory:source".to_owned(),
        run: "first".to_owned(),
        existing: Existing::Refused,
        event_lifetime: Duration::from_secs(600),
        commits: CommitBounds {
            objects_max: 10,
            bytes_max: 1_000,
        },
        page_entries_max: 7,
    }
}

/// Objects under the registry, and one key that is none.
async fn filled_source() -> Arc<MemoryStore> {
    let source = Arc::new(MemoryStore::new());
    for number in 0..OBJECTS {
        let key = format!("/registry/pods/default/{number:03}");
        script::put(&*source, &key, &format!("pod {number}")).await;
    }
    script::put(&*source, "/other", "x").await;
    source
}

/// An empty store that begins after all that a test does to its source.
fn new_target() -> Arc<MemoryStore> {
    let beginning = Revision::new(1_000);
    let store = MemoryStore::beginning_after(MemoryHistory::default(), beginning);
    Arc::new(store)
}

async fn copy_all(
    source: &dyn Store,
    target: &dyn Store,
    plan: &Plan,
) -> Result<Copied, CopyError> {
    let observed = Observed::default();
    let found = Found::look(source, target, &observed.waiting).await?;
    let transfer = Transfer {
        source,
        target,
        plan,
        observed: &observed,
    };
    transfer.run(found.start(plan)?).await
}

async fn registry(store: &dyn Store) -> Vec<Entry> {
    let read = Read::newest(KeyRange::prefix("/registry/"));
    store.read(read).await.unwrap().entries
}

async fn delete(store: &dyn Store, key: &str) {
    let commit = Commit::one(key.into(), Condition::Any, Write::Delete);
    store.commit(commit).await.unwrap();
}

async fn put(store: &dyn Store, key: &str, value: &str) {
    let commit = Commit::one(key.into(), Condition::Any, script::put_of(value));
    store.commit(commit).await.unwrap();
}

/// The target has the source's objects, all of them newer than anything in the source.
async fn assert_copied(source: &dyn Store, target: &dyn Store) {
    let (copies, originals) = (registry(target).await, registry(source).await);
    let shown = |entries: &[Entry]| {
        let entries = entries.iter();
        let entries = entries.map(|entry| (entry.key.clone(), entry.value.clone()));
        entries.collect::<Vec<_>>()
    };
    assert_eq!(shown(&copies), shown(&originals));
    let newest = source.read(Read::revision_only()).await.unwrap().revision;
    assert!(copies.iter().all(|entry| entry.revision > newest));
}

#[tokio::test(start_paused = true)]
async fn all_objects_arrive_with_newer_revisions() {
    let (source, target) = (filled_source().await, new_target());
    put(&*source, "/registry/example.com/gadgets/a/b", "").await;
    let copied = copy_all(&*source, &*target, &plan()).await.unwrap();
    assert_copied(&*source, &*target).await;
    assert_eq!(copied.objects, OBJECTS + 1);
    let kinds = [("gadgets.example.com", 1), ("pods", OBJECTS)];
    assert_eq!(
        copied.kinds,
        kinds.map(|(kind, count)| (kind.to_owned(), count)).into()
    );
    assert_eq!(copied.target_revision, script::newest(&*target).await);
    let other = script::read_newest(&*target).await.entries.into_iter();
    assert!(
        other
            .into_iter()
            .all(|entry| entry.key.as_bytes().starts_with(b"/registry/pods")
                || entry.key.as_bytes().starts_with(b"/registry/example.com"))
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_a_copy_of_nothing() {
    let (source, target) = (MemoryStore::new(), new_target());
    let copied = copy_all(&source, &*target, &plan()).await.unwrap();
    assert_eq!((copied.objects, copied.kept, copied.followed), (0, 0, 0));
    assert!(registry(&*target).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn commits_stay_within_their_bounds_and_a_large_object_goes_alone() {
    let source = filled_source().await;
    put(&*source, "/registry/pods/default/020a", &"x".repeat(5_000)).await;
    put(&*source, "/registry/pods/default/030a", &"x".repeat(900)).await;
    let target = WatchedStore::new(new_target());
    copy_all(&*source, &target, &plan()).await.unwrap();
    assert_copied(&*source, &target).await;
    for commit in target.commits() {
        let objects = commit.operations.iter();
        let objects = objects.filter(|one| one.key.as_bytes() != MARKER_KEY.as_bytes());
        let sizes: Vec<_> = objects
            .map(|one| match &one.write {
                Write::Put(put) => one.key.as_bytes().len() + put.value.len(),
                Write::Delete => one.key.as_bytes().len(),
            })
            .collect();
        let bytes: usize = sizes.iter().sum();
        assert!(
            sizes.len() <= 10 && (bytes <= 1_000 || sizes.len() == 1),
            "{sizes:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn events_get_a_new_life_and_others_stay() {
    let (source, target) = (filled_source().await, new_target());
    put(&*source, "/registry/events/default/a", "happened").await;
    copy_all(&*source, &*target, &plan()).await.unwrap();
    assert_copied(&*source, &*target).await;
    tokio::time::sleep(Duration::from_secs(605)).await;
    let left = registry(&*target).await;
    assert_eq!(left.len() as u64, OBJECTS);
    assert!(
        left.iter()
            .all(|entry| entry.key.as_bytes().starts_with(b"/registry/pods/"))
    );
}

#[tokio::test(start_paused = true)]
async fn what_changes_meanwhile_is_copied_too() {
    let source = filled_source().await;
    let target = WatchedStore::new(new_target());
    let changing = Arc::clone(&source);
    target.before_commit(2, async move {
        for number in 0..30 {
            put(&*changing, &format!("/registry/pods/new/{number}"), "new").await;
        }
        put(&*changing, "/registry/pods/default/000", "changed").await;
        put(&*changing, "/registry/pods/default/000", "changed again").await;
        delete(&*changing, "/registry/pods/default/001").await;
        put(&*changing, "/other", "changed").await;
    });
    let copied = copy_all(&*source, &target, &plan()).await.unwrap();
    assert_copied(&*source, &target).await;
    assert_eq!((copied.followed, copied.objects), (33, OBJECTS + 29));
    assert_eq!(copied.source_revision, script::newest(&*source).await);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_always_written_is_copied_as_it_was_at_one_revision() {
    let source = filled_source().await;
    let busy = WatchedStore::new(source.clone());
    let changing = Arc::clone(&source);
    busy.before_every_read(move || {
        let changing = Arc::clone(&changing);
        async move { put(&*changing, "/registry/pods/a", "busy").await }
    });
    let target = new_target();
    let copied = copy_all(&busy, &*target, &plan()).await.unwrap();
    let read = Read::newest(KeyRange::prefix("/registry/")).at(copied.source_revision);
    let originals = source.read(read).await.unwrap().entries;
    let copies = registry(&*target).await;
    let keys = |entries: &[Entry]| {
        entries
            .iter()
            .map(|one| one.key.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&copies), keys(&originals));
    assert!(copied.followed > 0 && copied.source_revision < script::newest(&*source).await);
}

#[tokio::test(start_paused = true)]
async fn a_merge_replaces_equal_keys_and_keeps_the_others() {
    let (source, target) = (filled_source().await, new_target());
    let equal = "/registry/pods/default/003";
    for (key, value) in [("/registry/pods/default/000", "mine"), (equal, "pod 3")] {
        put(&*target, key, value).await;
    }
    put(&*target, "/registry/pods/mine/a", "mine").await;
    let merge = Plan {
        existing: Existing::Merged,
        ..plan()
    };
    let copied = copy_all(&*source, &*target, &merge).await.unwrap();
    assert_eq!((copied.objects, copied.kept), (OBJECTS, 1));
    delete(&*target, "/registry/pods/mine/a").await;
    assert_copied(&*source, &*target).await;
    let rewritten = script::read_newest(&*target).await.entries.into_iter();
    let rewritten = rewritten.filter(|entry| entry.revision > copied.target_began);
    assert_eq!(rewritten.count() as u64, OBJECTS);
}
