use super::*;

fn bounded(bound: Bound) -> HandlerOptions {
    HandlerOptions {
        bound,
        ..HandlerOptions::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_blocking_handler_holds_up_the_cache_at_its_bound() {
    let world = World::started();
    let mut slow = world.informer.subscribe(&bounded(Bound::Block(2))).unwrap();
    for fed in ["=1:", "+a2", "+b3", "+c4"] {
        world.settle(fed).await;
    }
    assert_eq!(world.informer.last_version(), Some(version("2")));
    assert_eq!(line(&slow.next().await.unwrap()), "+a2");
    assert_eq!(line(&slow.next().await.unwrap()), "+b3");
    assert_eq!(line(&slow.next().await.unwrap()), "+c4");
    assert_eq!(world.informer.last_version(), Some(version("4")));
}

#[tokio::test(start_paused = true)]
async fn a_removed_blocking_handler_lets_the_cache_go_on() {
    let world = World::started();
    let slow = world.informer.subscribe(&bounded(Bound::Block(1))).unwrap();
    for fed in ["=1:", "+a2", "+b3"] {
        world.settle(fed).await;
    }
    assert_eq!(world.informer.last_version(), Some(version("1")));
    slow.registration().remove();
    settled().await;
    assert_eq!(world.informer.last_version(), Some(version("3")));
}

#[tokio::test(start_paused = true)]
async fn a_dropping_handler_is_told_and_then_brought_to_the_present() {
    let world = World::started();
    let mut slow = world.informer.subscribe(&bounded(Bound::Drop(3))).unwrap();
    world.settle("=1:a1,b1,d1").await;
    for expected in ["+a1!", "+b1!", "+d1!"] {
        assert_eq!(line(&slow.next().await.unwrap()), expected);
    }
    world.settle("~a2 ~a3 -b4 +c5 +e6 -e7").await;
    for expected in ["lag(6)", "-b1?", "~a1>3", "+c5"] {
        assert_eq!(line(&slow.next().await.unwrap()), expected);
    }
    assert_eq!(slow.registration().status().missed, 6);
    world.settle("~d8").await;
    assert_eq!(line(&slow.next().await.unwrap()), "~d1>8");
}

#[tokio::test(start_paused = true)]
async fn a_coalescing_handler_gets_the_latest_state_of_each_object() {
    let world = World::started();
    let mut slow = world.informer.subscribe(&bounded(Bound::Coalesce)).unwrap();
    world.settle("=1:a1,b1").await;
    for expected in ["+a1!", "+b1!"] {
        assert_eq!(line(&slow.next().await.unwrap()), expected);
    }
    for number in 2..=2 * COALESCE_CHANGES_MAX {
        world.feed(&format!("~a{number}")).await;
    }
    world.settle("+c9001 -c9002 -b9003").await;
    assert_eq!(world.informer.shared.log.len(), 0);
    assert_eq!(line(&slow.next().await.unwrap()), "-b1?");
    let latest = format!("~a1>{}", 2 * COALESCE_CHANGES_MAX);
    assert_eq!(line(&slow.next().await.unwrap()), latest);
    world.settle("+d9004").await;
    assert_eq!(line(&slow.next().await.unwrap()), "+d9004");
}

#[tokio::test(start_paused = true)]
async fn what_a_blocking_handler_works_on_counts_until_it_asks_for_more() {
    let world = World::started();
    let mut slow = world.informer.subscribe(&bounded(Bound::Block(1))).unwrap();
    world.feed("=1:").await;
    world.feed("+a2").await;
    assert_eq!(line(&slow.next().await.unwrap()), "+a2");
    world.settle("+b3").await;
    assert_eq!(slow.registration().status().pending, 1);
    assert_eq!(world.informer.last_version(), Some(version("2")));
    assert_eq!(line(&slow.next().await.unwrap()), "+b3");
}

#[tokio::test(start_paused = true)]
async fn few_relists_wait_for_a_handler_whatever_its_bound() {
    let world = World::started();
    let mut blocking = world
        .informer
        .subscribe(&bounded(Bound::Block(1000)))
        .unwrap();
    for relist in 1..=9 {
        world.settle(&format!("={relist}:a{relist}")).await;
    }
    assert_eq!(world.informer.last_version(), Some(version("4")));
    assert_eq!(line(&blocking.next().await.unwrap()), "+a1!");
    drop(blocking);
    let mut coalescing = world.informer.subscribe(&bounded(Bound::Coalesce)).unwrap();
    settled().await;
    for relist in 10..=15 {
        world.settle(&format!("={relist}:a{relist}")).await;
    }
    assert_eq!(world.informer.shared.log.len(), 0);
    assert_eq!(line(&coalescing.next().await.unwrap()), "+a4!");
    assert_eq!(line(&coalescing.next().await.unwrap()), "~a4>15");
}
