//! Copies into and out of a real etcd.

use std::sync::atomic::{AtomicUsize, Ordering};

use listwatch_etcd::testing::{Cluster, Program, Release};
use listwatch_etcd_store::{Compaction, EtcdOptions, EtcdStore};

use super::{interrupted::goes_on_at_any_commit, watched_store::Fate, *};
use crate::etcd::keys_under;

fn options(etcd: &Cluster, prefix: &str) -> EtcdOptions {
    EtcdOptions {
        connection: etcd.settings(),
        keys: keys_under(prefix).unwrap(),
        compaction: Compaction::ByOthers,
    }
}

async fn store(etcd: &Cluster, prefix: &str) -> Arc<EtcdStore> {
    Arc::new(EtcdStore::open(options(etcd, prefix)).await.unwrap())
}

/// An empty target that begins far after what is in etcd.
async fn later_store(etcd: &Cluster, prefix: &str) -> Arc<EtcdStore> {
    let beginning = Revision::new(1_000_000);
    let begun = EtcdStore::begin_after(options(etcd, prefix), beginning).await;
    Arc::new(begun.unwrap())
}

#[tokio::test]
async fn a_copy_into_etcd_that_ends_at_any_commit_goes_on_there() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let etcd = Cluster::single(&program).await.unwrap();
    let made = AtomicUsize::new(0);
    goes_on_at_any_commit(async || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        later_store(&etcd, &format!("/target/{number}")).await as Arc<dyn Store>
    })
    .await;
}

#[tokio::test]
async fn what_changes_in_etcd_meanwhile_is_copied_too() {
    for program in Program::all_or_skip() {
        let etcd = Cluster::single(&program).await.unwrap();
        let source = store(&etcd, "/source").await;
        for number in 0..OBJECTS {
            put(
                &*source,
                &format!("/registry/pods/default/{number:03}"),
                "pod",
            )
            .await;
        }
        let kept = later_store(&etcd, "/target").await;
        let target = WatchedStore::new(kept.clone());
        let changing = Arc::clone(&source);
        target.before_commit(2, async move {
            put(&*changing, "/registry/pods/default/000", "changed").await;
            delete(&*changing, "/registry/pods/default/001").await;
            put(&*changing, "/registry/pods/new/a", "new").await;
        });
        let forgetting = Arc::clone(&source);
        target.before_commit(4, async move {
            let read = forgetting.read(Read::revision_only()).await.unwrap();
            forgetting.compact(read.revision).await.unwrap();
        });
        let copied = copy_all(&*source, &target, &plan()).await.unwrap();
        assert_copied(&*source, &*kept).await;
        assert_eq!(copied.objects, OBJECTS);
        assert!(copied.target_began >= Revision::new(1_000_000));
    }
}

#[tokio::test]
async fn events_in_etcd_get_a_new_life() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let etcd = Cluster::single(&program).await.unwrap();
    let (source, target) = (filled_source().await, later_store(&etcd, "/registry").await);
    put(&*source, "/registry/events/default/a", "happened").await;
    let short = Plan {
        event_lifetime: Duration::from_secs(1),
        ..plan()
    };
    let copied = copy_all(&*source, &*target, &short).await.unwrap();
    assert_eq!(copied.objects, OBJECTS + 1);
    let ended = async {
        while registry(&*target).await.len() as u64 > OBJECTS {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended)
        .await
        .unwrap();
    delete(&*source, "/registry/events/default/a").await;
    assert_copied(&*source, &*target).await;
}

#[tokio::test]
async fn an_etcd_that_is_killed_and_comes_back_is_waited_for() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let mut etcd = Cluster::single(&program).await.unwrap();
    let (source, kept) = (filled_source().await, later_store(&etcd, "/registry").await);
    let target = WatchedStore::new(kept.clone()).with_fate(3, Fate::Waits);
    let plan = plan();
    let coming_back = async {
        target.stalled().await;
        etcd.members()[0].kill().unwrap();
        target.let_go();
        etcd.members()[0].restart().await.unwrap();
    };
    let (copied, ()) = tokio::join!(copy_all(&*source, &target, &plan), coming_back);
    assert_eq!(copied.unwrap().objects, OBJECTS);
    assert_copied(&*source, &*kept).await;
}
