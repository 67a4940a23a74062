use super::*;
use crate::recorded_metrics::RecordedMetrics;

#[tokio::test(start_paused = true)]
async fn each_handler_is_measured() {
    let metrics = RecordedMetrics::default();
    let _recording = metrics::set_default_local_recorder(&metrics);
    let world = World::started();
    let options = |name: &str, bound| HandlerOptions {
        name: Some(name.to_owned()),
        bound,
        ..HandlerOptions::default()
    };
    world
        .informer
        .add_handler_with(
            |_| panic!("as the test wants it"),
            options("bad", Bound::Coalesce),
        )
        .unwrap();
    let mut slow = world
        .informer
        .subscribe(&options("slow", Bound::Drop(2)))
        .unwrap();
    world.settle("=1:a1 +b2 +c3").await;
    let value = |name: &str, handler: &str| {
        metrics.value(&format!("listwatch_handler_{name}{{u64,{handler}}}"))
    };
    assert_eq!(value("panics_total", "bad"), 3.0);
    assert_eq!(metrics.all("listwatch_handler_seconds{u64,bad}").len(), 3);
    assert_eq!(value("pending_changes", "bad"), 0.0);
    assert_eq!(value("pending_changes", "slow"), 3.0);
    slow.next().await.unwrap();
    assert_eq!(value("missed_changes_total", "slow"), 3.0);
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_measured() {
    let metrics = RecordedMetrics::default();
    let _recording = metrics::set_default_local_recorder(&metrics);
    let world = World::started();
    world.settle("=1:a1 +b2 +c3 !9").await;
    let value = |name: &str| metrics.value(&format!("listwatch_informer_{name}{{u64}}"));
    assert_eq!(value("version"), 9.0);
    assert_eq!(value("deltas_total"), 4.0);
    assert!(value("batches_total") >= 1.0);
}
