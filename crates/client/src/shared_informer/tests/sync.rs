use super::*;

#[tokio::test(start_paused = true)]
async fn an_informer_has_synced_once_the_first_list_is_applied() {
    let world = World::started();
    assert!(!world.informer.has_synced());
    world.feed("=3:a1").await;
    world.informer.wait_until_synced().await.unwrap();
    assert!(world.informer.has_synced());
    assert_eq!(world.informer.cache().snapshot().len(), 1);
    assert_eq!(world.informer.last_version(), Some(version("3")));
}

#[tokio::test(start_paused = true)]
async fn an_empty_first_list_syncs_informer_and_handlers() {
    let world = World::started();
    let (registration, told) = world.listen();
    world.settle("=1:").await;
    assert!(world.informer.has_synced() && registration.has_synced());
    assert_eq!(told.take(), "");
}

#[tokio::test(start_paused = true)]
async fn changes_before_the_first_list_do_not_sync() {
    let world = World::started();
    let (registration, told) = world.listen();
    world.settle("+a1").await;
    assert!(!world.informer.has_synced() && !registration.has_synced());
    world.settle("=2:a1,b2").await;
    assert!(world.informer.has_synced() && registration.has_synced());
    assert_eq!(told.take(), "+a1 +b2!");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_sync_ends_with_the_informer() {
    let world = World::started();
    let (registration, _) = world.listen();
    world.informer.stop();
    assert_eq!(
        world.informer.wait_until_synced().await,
        Err(InformerStopped)
    );
    assert_eq!(registration.synced().await, Err(HandlerRemoved));
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_has_synced_once_it_took_in_the_present() {
    let world = World::started();
    world.settle("=1:a1,b1").await;
    let options = HandlerOptions::default();
    let mut late = world.informer.subscribe(&options).unwrap();
    let registration = late.registration().clone();
    world.settle("+c2").await;
    for (expected, synced) in [("+a1!", false), ("+b1!", true), ("+c2", true)] {
        assert_eq!(line(&late.next().await.unwrap()), expected);
        assert_eq!(registration.has_synced(), synced, "after {expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_has_synced_only_after_its_call_for_the_last_initial_object() {
    let world = World::started();
    let slot = Arc::new(Mutex::new(None::<Registration>));
    let own = Arc::clone(&slot);
    let early = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&early);
    let handler = move |_| {
        let registration = own.lock().clone().unwrap();
        seen.lock().push(registration.has_synced());
    };
    *slot.lock() = Some(world.informer.add_handler(handler).unwrap());
    world.settle("=1:a1,b1 +c2").await;
    assert_eq!(*early.lock(), [false, false, true]);
}

#[tokio::test(start_paused = true)]
async fn only_what_was_there_at_the_beginning_is_initial() {
    let world = World::started();
    let (_, told) = world.listen();
    world.settle("=1:a1 +b2 =5:a1,b2,c4").await;
    assert_eq!(told.take(), "+a1! +b2 +c4");
}

#[tokio::test(start_paused = true)]
async fn a_handler_too_slow_for_the_first_list_still_syncs() {
    let world = World::started();
    let options = HandlerOptions {
        bound: Bound::Drop(1),
        ..HandlerOptions::default()
    };
    let mut slow = world.informer.subscribe(&options).unwrap();
    world.settle("=1:a1 +b2 +c3").await;
    for expected in ["lag(3)", "+a1!", "+b2!", "+c3!"] {
        assert!(!slow.registration().has_synced());
        assert_eq!(line(&slow.next().await.unwrap()), expected);
    }
    assert!(slow.registration().has_synced());
}
