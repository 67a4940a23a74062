use super::*;
use crate::contract::{self, script};

#[tokio::test(start_paused = true)]
async fn memory_keeps_the_contract() {
    contract::run(contract::Terms::paused(), async || MemoryStore::new()).await;
}

#[tokio::test(start_paused = true)]
async fn memory_that_begins_later_keeps_the_contract() {
    contract::run(contract::Terms::paused(), async || {
        MemoryStore::beginning_after(MemoryHistory::default(), Revision::new(1_000))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn history_beyond_its_bytes_is_forgotten() {
    let store = MemoryStore::with_history(MemoryHistory {
        bytes_max: 1000,
        age_max: Duration::MAX,
    });
    for _ in 0..100 {
        script::put(&store, "a", &"x".repeat(100)).await;
    }
    let kept = store.inner.state.lock().history_bytes;
    assert!(kept <= 1000, "{kept}");
    assert!(script::read_at(&store, Revision::new(99)).await.is_ok());
    assert!(script::read_at(&store, Revision::new(50)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn history_beyond_its_age_is_forgotten() {
    let store = MemoryStore::with_history(MemoryHistory {
        bytes_max: usize::MAX,
        age_max: Duration::from_secs(60),
    });
    let old = script::put(&store, "a", "1").await;
    tokio::time::advance(Duration::from_secs(61)).await;
    let new = script::put(&store, "a", "2").await;
    assert!(
        store
            .changes(Follow::new(KeyRange::all(), Revision::ZERO))
            .await
            .is_err()
    );
    assert_eq!(script::follow(&store, old, new).await.len(), 1);
}
