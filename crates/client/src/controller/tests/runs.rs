//! How a key is reconciled, and when again.

use metrics::set_default_local_recorder;
use tokio::time::Instant;

use super::*;
use crate::{recorded_metrics::RecordedMetrics, work_queue::ItemExponential};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn runs_of_one_key_never_overlap_and_changes_meanwhile_bring_one_more() {
    let world = World::synced("=1:a1").await;
    let running = Arc::new(Mutex::new(HashSet::new()));
    let runs = Runs::default();
    let _ended = runs.with(world.controller().workers(4), move |key| {
        let running = Arc::clone(&running);
        async move {
            assert!(running.lock().insert(key.clone()), "two runs of {key}");
            sleep(SECOND).await;
            running.lock().remove(&key);
            Ok::<_, Infallible>(Next::AwaitChange)
        }
    });
    settled().await;
    world.settle("~a2 ~a3 ~a4").await;
    assert_eq!(runs.take(), "a");
    sleep(10 * SECOND).await;
    assert_eq!(runs.take(), "a");
}

#[tokio::test(start_paused = true)]
async fn as_many_keys_run_at_once_as_there_are_workers() {
    let world = World::synced("=1:a1,b1,c1,d1,e1").await;
    let runs = Runs::default();
    let _ended = runs.with(world.controller().workers(2), |_| async {
        sleep(SECOND).await;
        Ok::<_, Infallible>(Next::AwaitChange)
    });
    settled().await;
    assert_eq!(runs.take(), "a b");
    sleep(SECOND).await;
    assert_eq!(runs.take(), "c d");
}

#[tokio::test(start_paused = true)]
async fn a_failed_run_is_tried_again_later_and_later_until_it_succeeds() {
    let world = World::synced("=1:a1").await;
    let times = Arc::new(Mutex::new(Vec::new()));
    let begun = Instant::now();
    let record = Arc::clone(&times);
    let limiter = ItemExponential::new(SECOND, 100 * SECOND);
    let runs = Runs::default();
    let _ended = runs.with(world.controller().limiter(limiter), move |_| {
        let mut times = record.lock();
        times.push(begun.elapsed().as_secs());
        ready(if times.len() % 4 == 0 {
            Ok(Next::AwaitChange)
        } else {
            Err("not yet")
        })
    });
    sleep(50 * SECOND).await;
    assert_eq!(*times.lock(), [0, 1, 3, 7]);
    world.feed("~a2").await;
    sleep(50 * SECOND).await;
    assert_eq!(*times.lock(), [0, 1, 3, 7, 50, 51, 53, 57]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_costs_only_its_own_attempt() {
    let world = World::synced("=1:a1,b1").await;
    let limiter = ItemExponential::new(SECOND, SECOND);
    let first = Arc::new(Mutex::new(true));
    let runs = Runs::default();
    let ended = runs.with(world.controller().limiter(limiter), move |key| {
        let panics = key.name() == "a" && std::mem::replace(&mut *first.lock(), false);
        assert!(!panics, "the first run of a");
        ready(Ok::<_, Infallible>(Next::AwaitChange))
    });
    settled().await;
    assert_eq!(runs.take(), "a b");
    sleep(SECOND).await;
    assert_eq!(runs.take(), "a");
    assert!(!ended.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_run_says_when_the_next_is_due_and_a_change_may_come_before() {
    let world = World::synced("=1:a1").await;
    let runs = Runs::default();
    let _ended = runs.with(world.controller(), |_| {
        ready(Ok::<_, Infallible>(Next::After(60 * SECOND)))
    });
    settled().await;
    assert_eq!(runs.take(), "a");
    sleep(59 * SECOND).await;
    assert_eq!(runs.take(), "");
    sleep(SECOND).await;
    assert_eq!(runs.take(), "a");
    sleep(30 * SECOND).await;
    world.settle("~a2").await;
    assert_eq!(runs.take(), "a");
    sleep(59 * SECOND).await;
    assert_eq!(runs.take(), "");
    sleep(SECOND).await;
    assert_eq!(runs.take(), "a");
}

#[tokio::test(start_paused = true)]
async fn runs_are_counted_and_timed_by_how_they_end() {
    let metrics = RecordedMetrics::default();
    let _installed = set_default_local_recorder(&metrics);
    let world = World::synced("=1:fails1,panics1,works1").await;
    let limiter = ItemExponential::new(1000 * SECOND, 1000 * SECOND);
    let runs = Runs::default();
    let _ended = runs.with(world.controller().limiter(limiter), |key| async move {
        sleep(SECOND).await;
        assert_ne!(key.name(), "panics");
        match key.name() {
            "works" => Ok(Next::AwaitChange),
            _ => Err("as expected"),
        }
    });
    settled().await;
    let active = "listwatch_controller_active_workers{test}";
    assert_eq!(metrics.value(active), 1.0);
    sleep(10 * SECOND).await;
    assert_eq!(metrics.value(active), 0.0);
    for result in ["success", "error", "panic"] {
        let name = format!("listwatch_controller_reconciles_total{{test,{result}}}");
        assert_eq!(metrics.value(&name), 1.0, "{result}");
    }
    let seconds = metrics.all("listwatch_controller_reconcile_seconds{test}");
    assert_eq!(seconds, [1.0, 1.0, 1.0]);
    assert_eq!(
        metrics.value("listwatch_work_queue_retries_total{test}"),
        2.0
    );
}
