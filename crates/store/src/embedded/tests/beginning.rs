//! Stores that begin after a revision, for they go on where another ended.

use super::*;
use crate::contract::script;

const BEGINNING: Revision = Revision::new(1_000);

async fn begin(disk: &SimulatedDisk, after: Revision) -> Result<EmbeddedStore, OpenError> {
    let disk = Arc::new(disk.clone());
    EmbeddedStore::begin_after(disk, test_clock(), small_options(), after).await
}

#[tokio::test(start_paused = true)]
async fn a_store_that_begins_later_keeps_the_contract() {
    contract::run(contract::Terms::paused(), async || {
        begin(&SimulatedDisk::new(1), BEGINNING).await.unwrap()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_beginning_is_kept_across_restarts() {
    let disk = SimulatedDisk::new(1);
    drop(begin(&disk, BEGINNING).await.unwrap());
    let store = open(&disk).await;
    assert_eq!(script::newest(&store).await, BEGINNING);
    let before = script::read_at(&store, Revision::new(999)).await;
    let (requested, oldest) = (Revision::new(999), BEGINNING);
    assert_eq!(before, Err(ReadError::Compacted { requested, oldest }));
    assert_eq!(script::put(&store, "a", "x").await, BEGINNING.next());
    drop(store);
    let store = open(&disk).await;
    let page = script::read_newest(&store).await;
    assert_eq!(script::shown(&page), ["a=x@1001"]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_never_written_may_begin_again() {
    let disk = SimulatedDisk::new(1);
    drop(open(&disk).await);
    drop(begin(&disk, BEGINNING).await.unwrap());
    let names = disk.names();
    let later = Revision::new(2_000);
    drop(begin(&disk, later).await.unwrap());
    assert_eq!(disk.names().len(), names.len());
    let store = open(&disk).await;
    assert_eq!(script::put(&store, "a", "x").await, later.next());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_written_may_not() {
    let disk = SimulatedDisk::new(1);
    script::put(&open(&disk).await, "a", "x").await;
    let store = open(&disk).await;
    script::delete(&store, "a").await;
    drop(store);
    for compacted in [false, true] {
        if compacted {
            let store = open(&disk).await;
            store.compact(Revision::new(2)).await.unwrap();
        }
        let refused = begin(&disk, BEGINNING).await.err().unwrap();
        assert!(matches!(refused, OpenError::AlreadyWritten { .. }));
        let newest = script::newest(&open(&disk).await).await;
        assert_eq!(newest, Revision::new(2));
    }
}

/// Either the old beginning is found or the new one, and both may be replaced.
#[tokio::test(start_paused = true)]
async fn a_cut_while_a_store_begins_leaves_one_that_opens() {
    let mut cuts = 0;
    for cut in 1.. {
        let disk = SimulatedDisk::new(cut);
        drop(open(&disk).await);
        disk.cut_at(disk.operations() + cut);
        let begun = begin(&disk, BEGINNING).await.is_ok();
        disk.restart();
        let found = script::newest(&open(&disk).await).await;
        assert!(
            found == BEGINNING || found == Revision::ZERO && !begun,
            "{found}"
        );
        let later = Revision::new(2_000);
        let store = begin(&disk, later).await.unwrap();
        assert_eq!(script::put(&store, "a", "x").await, later.next());
        if begun {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 5, "{cuts} cuts are too few to mean anything");
}

#[tokio::test]
async fn a_directory_without_a_store_is_left_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    for path in [place.path().to_owned(), place.path().join("missing")] {
        let options = EmbeddedOptions::default();
        let refused = EmbeddedStore::open_existing_directory(&path, options).await;
        let refused = refused.err().unwrap();
        assert!(matches!(refused, OpenError::NoStore { .. }), "{refused}");
        assert!(refused.to_string().contains(path.to_str().unwrap()));
    }
    assert_eq!(place.path().read_dir().unwrap().count(), 0);
}
