//! How a controller ends.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn stopped_by(controller: Controller<String>) -> (oneshot::Sender<()>, Controller<String>) {
    let (stop, stopped) = oneshot::channel();
    let controller = controller.stop_on(async move {
        let _ = stopped.await;
    });
    (stop, controller)
}

/// Takes a second for each run, and records its end too.
fn slowly(runs: &Runs, controller: Controller<String>) -> Ended {
    let finished = runs.clone();
    runs.with(controller, move |key| {
        let finished = finished.clone();
        async move {
            sleep(SECOND).await;
            finished.add(&format!("{key}.").into());
            Ok::<_, Infallible>(Next::After(SECOND))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_stopped_finishes_what_is_queued_and_takes_nothing_new() {
    let world = World::synced("=1:a1,b1").await;
    let runs = Runs::default();
    let (stop, controller) = stopped_by(world.controller());
    let ended = slowly(&runs, controller);
    settled().await;
    drop(stop);
    world.settle("~a2 +c3").await;
    ended.await.unwrap().unwrap();
    assert_eq!(runs.take(), "a a. b b.");
    sleep(60 * SECOND).await;
    assert_eq!(runs.take(), "");
}

#[tokio::test(start_paused = true)]
async fn the_last_runs_still_see_what_changes() {
    let world = World::synced("=1:a1").await;
    let World { informer, queue } = World::synced("=1:x1").await;
    let children = informer.cache().clone();
    let controller = world.controller().owns_through(&informer, owner);
    let (stop, controller) = stopped_by(controller);
    let runs = Runs::default();
    let seen = runs.clone();
    let ended = runs.with(controller, move |_| {
        let (children, seen) = (children.clone(), seen.clone());
        async move {
            sleep(SECOND).await;
            for child in children.snapshot().iter() {
                seen.add(&child.key);
            }
            Ok::<_, Infallible>(Next::AwaitChange)
        }
    });
    drop(informer);
    settled().await;
    drop(stop);
    settled().await;
    queue.push(vec![delta("+y2")]).await.unwrap();
    ended.await.unwrap().unwrap();
    assert_eq!(runs.take(), "a x y");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_outlasts_the_end_is_dropped() {
    let world = World::synced("=1:a1,b1").await;
    let runs = Runs::default();
    let (stop, controller) = stopped_by(world.controller());
    let ended = slowly(&runs, controller.drain_max(SECOND / 2));
    settled().await;
    drop(stop);
    ended.await.unwrap().unwrap();
    sleep(60 * SECOND).await;
    assert_eq!(runs.take(), "a");
}

#[tokio::test(start_paused = true)]
async fn a_controller_can_be_stopped_before_its_informers_have_synced() {
    let world = World::new();
    let (stop, controller) = stopped_by(world.controller());
    let (runs, ended) = Runs::of(controller);
    settled().await;
    drop(stop);
    ended.await.unwrap().unwrap();
    world.settle("=1:a1").await;
    assert_eq!(runs.take(), "");
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_stops_ends_the_controller() {
    let stopped = ControllerError::InformerStopped {
        informer: "String".to_owned(),
    };
    for script in ["=1:a1", ""] {
        let world = World::synced(script).await;
        let (_runs, ended) = Runs::of(world.controller());
        settled().await;
        world.informer.stop();
        assert_eq!(ended.await.unwrap(), Err(stopped.clone()));
        let (_runs, ended) = Runs::of(world.controller());
        assert_eq!(ended.await.unwrap(), Err(stopped.clone()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_controller_keeps_the_informers_that_nobody_else_has() {
    let world = World::synced("=1:a1").await;
    let World { informer, queue } = World::synced("=1:").await;
    let controller = world.controller().owns_through(&informer, owner);
    drop(informer);
    let (runs, ended) = Runs::of(controller);
    settled().await;
    queue.push(vec![delta("+x2@b")]).await.unwrap();
    settled().await;
    assert_eq!(runs.take(), "a b");
    ended.abort();
    assert!(ended.await.unwrap_err().is_cancelled());
    settled().await;
    assert!(queue.push(Vec::new()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_dropped_leaves_nothing_behind() {
    let world = World::synced("=1:a1,b1").await;
    let runs = Runs::default();
    let ended = slowly(&runs, world.controller());
    settled().await;
    ended.abort();
    assert!(ended.await.unwrap_err().is_cancelled());
    world.feed("~a2").await;
    sleep(60 * SECOND).await;
    assert_eq!(runs.take(), "a");
    assert_eq!(Arc::strong_count(&runs.0), 1);
}
