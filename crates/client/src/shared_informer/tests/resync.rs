use tokio::time::{Instant, advance, sleep};

use super::*;

fn every(seconds: u64) -> HandlerOptions {
    HandlerOptions {
        resync: Some(Duration::from_secs(seconds)),
        ..HandlerOptions::default()
    }
}

#[tokio::test(start_paused = true)]
async fn each_handler_is_told_everything_again_by_its_own_clock() {
    let world = World::started();
    let (_, never) = world.listen();
    let (_, often) = world.listen_with(every(2));
    let (_, seldom) = world.listen_with(every(7));
    world.settle("=1:a1,b1").await;
    for told in [&never, &often, &seldom] {
        assert_eq!(told.take(), "+a1! +b1!");
    }
    sleep(Duration::from_millis(2_300)).await;
    assert_eq!(often.take(), "~a1>1 ~b1>1");
    assert_eq!(seldom.take(), "");
    sleep(Duration::from_millis(5_600)).await;
    let again = often.take();
    assert!(matches!(again.matches("~a1>1").count(), 2 | 3), "{again}");
    assert_eq!(seldom.take(), "~a1>1 ~b1>1");
    assert_eq!(never.take(), "");
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_may_ask_for_the_shortest_period() {
    let world = World::started();
    world.settle("=1:a1").await;
    let (_, seldom) = world.listen_with(every(3600));
    let (_, often) = world.listen_with(every(1));
    sleep(Duration::from_millis(1_150)).await;
    assert_eq!(often.take(), "+a1! ~a1>1");
    assert_eq!(seldom.take(), "+a1!");
}

#[tokio::test(start_paused = true)]
async fn periods_vary_by_a_tenth_and_have_a_floor() {
    let world = World::started();
    world.settle("=1:a1").await;
    for (asked, expected) in [(10_000, 10_000.0), (1, 1_000.0)] {
        let options = HandlerOptions {
            resync: Some(Duration::from_millis(asked)),
            ..HandlerOptions::default()
        };
        let mut subscription = world.informer.subscribe(&options).unwrap();
        subscription.next().await.unwrap();
        let mut waits = Vec::new();
        for _ in 0..8 {
            let begun = Instant::now();
            assert_eq!(line(&subscription.next().await.unwrap()), "~a1>1");
            waits.push(begun.elapsed().as_secs_f64() * 1000.0 / expected);
        }
        assert!(
            waits.iter().all(|wait| (0.89..1.11).contains(wait)),
            "{waits:?}"
        );
        assert!(
            waits
                .windows(2)
                .any(|pair| (pair[0] - pair[1]).abs() > 0.002),
            "{waits:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_period_and_a_period_of_zero_mean_never() {
    let world = World::started();
    let (_, none) = world.listen();
    let (_, zero) = world.listen_with(every(0));
    world.settle("=1:a1").await;
    sleep(Duration::from_secs(100_000)).await;
    assert_eq!((none.take(), zero.take()), ("+a1!".into(), "+a1!".into()));
}

#[tokio::test(start_paused = true)]
async fn a_resync_stands_in_order_with_the_changes_around_it() {
    let world = World::started();
    let mut subscription = world.informer.subscribe(&every(10)).unwrap();
    world.settle("=1:a1").await;
    assert_eq!(line(&subscription.next().await.unwrap()), "+a1!");
    world.settle("~a2 +b3").await;
    for expected in ["~a1>2", "+b3"] {
        assert_eq!(line(&subscription.next().await.unwrap()), expected);
    }
    assert!(timed_out(&mut subscription).await);
    world.settle("~b4").await;
    advance(Duration::from_secs(11)).await;
    for expected in ["~b3>4", "~a2>2", "~b4>4"] {
        assert_eq!(line(&subscription.next().await.unwrap()), expected);
    }
}

/// Lets the subscription see that there is nothing.
async fn timed_out(subscription: &mut Subscription<u64>) -> bool {
    let soon = Duration::from_millis(1);
    tokio::time::timeout(soon, subscription.next())
        .await
        .is_err()
}

#[tokio::test(start_paused = true)]
async fn a_resync_of_the_source_is_told_to_everybody() {
    let world = World::started();
    let (_, told) = world.listen();
    world.settle("=1:a1,b1").await;
    world.queue.push(vec![Delta::Resync]).await.unwrap();
    settled().await;
    assert_eq!(told.take(), "+a1! +b1! ~a1>1 ~b1>1");
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_has_one_resync_to_do_at_most() {
    let world = World::started();
    let mut subscription = world.informer.subscribe(&every(1)).unwrap();
    world.settle("=1:a1").await;
    assert_eq!(line(&subscription.next().await.unwrap()), "+a1!");
    assert!(timed_out(&mut subscription).await);
    advance(Duration::from_secs(100)).await;
    assert_eq!(line(&subscription.next().await.unwrap()), "~a1>1");
    assert!(timed_out(&mut subscription).await);
}
