//! What is reconciled when something changes.

use futures_util::stream;

use super::*;
use crate::{HandlerOptions, work_queue::ItemExponential};

#[tokio::test(start_paused = true)]
async fn each_change_of_an_object_reconciles_it() {
    let world = World::synced("=1:a1").await;
    let (runs, _ended) = Runs::of(world.controller());
    settled().await;
    assert_eq!(runs.take(), "a");
    world.settle("+b2").await;
    assert_eq!(runs.take(), "b");
    world.settle("~a3").await;
    assert_eq!(runs.take(), "a");
    world.settle("-b4").await;
    assert_eq!(runs.take(), "b");
    world.settle("=6:b5").await;
    assert_eq!(runs.take(), "a b");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_child_reconciles_its_owner_before_and_now() {
    let world = World::synced("=1:").await;
    let children = World::synced("=1:x1@a").await;
    let controller = world.controller().owns_through(&children.informer, owner);
    let (runs, _ended) = Runs::of(controller);
    settled().await;
    assert_eq!(runs.take(), "a");
    children.settle("+y2@b +z3").await;
    assert_eq!(runs.take(), "b");
    children.settle("~y4@c").await;
    assert_eq!(runs.take(), "b c");
    children.settle("-y5@c").await;
    assert_eq!(runs.take(), "c");
    children.settle("=7:").await;
    assert_eq!(runs.take(), "a");
}

#[tokio::test(start_paused = true)]
async fn a_watched_object_reconciles_whom_it_concerns() {
    let world = World::synced("=1:a1,b1").await;
    let zones = World::synced("=1:").await;
    let cache = world.informer.cache().clone();
    let controller = world.controller().watches(&zones.informer, move |_| {
        let all = cache.snapshot();
        all.iter()
            .map(|object| object.key.clone())
            .collect::<Vec<_>>()
    });
    let (runs, _ended) = Runs::of(controller);
    settled().await;
    assert_eq!(runs.take(), "a b");
    zones.settle("+zone1").await;
    assert_eq!(runs.take(), "a b");
}

#[tokio::test(start_paused = true)]
async fn an_update_counts_if_one_predicate_says_so() {
    let world = World::synced("=1:a1@x").await;
    let controller = world
        .controller()
        .predicate(labels_changed)
        .predicate(|old, new| old.body != new.body);
    let (runs, _ended) = Runs::of(controller);
    settled().await;
    assert_eq!(runs.take(), "a");
    world.settle("~a2@x").await;
    assert_eq!(runs.take(), "");
    world.settle("~a3@y").await;
    assert_eq!(runs.take(), "a");
    world.settle("-a4@y").await;
    assert_eq!(runs.take(), "a");
}

#[tokio::test(start_paused = true)]
async fn streams_name_what_is_to_be_reconciled() {
    let world = World::synced("=1:a1,b1").await;
    let minutes = |count| {
        let times = stream::iter(0..count);
        times.then(|_| sleep(Duration::from_secs(60)))
    };
    let keys = minutes(1).map(|()| ObjectKey::from("c"));
    let controller = world.controller();
    let controller = controller
        .reconcile_on(keys)
        .reconcile_all_on(minutes(2).skip(1));
    let (runs, _ended) = Runs::of(controller);
    settled().await;
    assert_eq!(runs.take(), "a b");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(runs.take(), "c");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(runs.take(), "a b");
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_before_every_informer_has_synced() {
    let world = World::synced("=1:a1").await;
    let children = World::new();
    let controller = world.controller().owns_through(&children.informer, owner);
    let (runs, _ended) = Runs::of(controller);
    world.settle("~a2").await;
    assert_eq!(runs.take(), "");
    children.settle("=1:x1@b").await;
    assert_eq!(runs.take(), "a b");
}

#[tokio::test(start_paused = true)]
async fn what_changes_goes_before_what_was_there_at_the_start() {
    let world = World::synced("=1:a1,b1,c1,d1").await;
    let runs = Runs::default();
    let _ended = runs.with(world.controller(), |_| async {
        sleep(Duration::from_secs(1)).await;
        Ok::<_, Infallible>(Next::AwaitChange)
    });
    settled().await;
    world.settle("~d2 +e3").await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(runs.take(), "a d e b c");
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_stays_behind_what_changes() {
    let world = World::synced("=1:a1").await;
    let runs = Runs::default();
    let limiter = ItemExponential::new(Duration::from_secs(2), Duration::from_secs(2));
    let _ended = runs.with(world.controller().limiter(limiter), |key| async move {
        sleep(Duration::from_secs(1)).await;
        match key.name() {
            "a" => Err("never"),
            _ => Ok(Next::AwaitChange),
        }
    });
    sleep(Duration::from_millis(2500)).await;
    world.feed("+b2").await;
    sleep(Duration::from_millis(700)).await;
    world.feed("+c3").await;
    sleep(Duration::from_millis(1500)).await;
    assert_eq!(runs.take(), "a b c a");
}

#[tokio::test(start_paused = true)]
async fn a_resync_reconciles_everything_whatever_the_predicates_say() {
    let world = World::synced("=1:a1,b1").await;
    let period = Duration::from_secs(60);
    let controller = world.controller().predicate(|_, _| false).resync(period);
    let (runs, _ended) = Runs::of(controller);
    settled().await;
    assert_eq!(runs.take(), "a b");
    world.settle("~a2").await;
    assert_eq!(runs.take(), "");
    sleep(period * 3 / 2).await;
    assert_eq!(runs.take(), "a b");
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_others_use_serves_the_controller_too() {
    let world = World::synced("=1:a1").await;
    world.informer.start().unwrap();
    let seen = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&seen);
    let other = move |_| *counter.lock() += 1;
    let options = HandlerOptions::default();
    world.informer.add_handler_with(other, options).unwrap();
    settled().await;
    let (runs, _ended) = Runs::of(world.controller());
    settled().await;
    world.settle("+b2").await;
    assert_eq!(*seen.lock(), 2);
    assert_eq!(runs.take(), "a b");
}
