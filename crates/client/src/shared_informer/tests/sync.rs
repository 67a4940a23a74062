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
