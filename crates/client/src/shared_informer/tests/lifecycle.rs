use super::*;

#[tokio::test(start_paused = true)]
async fn an_informer_is_started_once() {
    let world = World::started();
    assert_eq!(world.informer.start(), Err(StartError::AlreadyStarted));
    world.informer.shut_down().await;
    assert_eq!(
        world.informer.start(),
        Err(StartError::Stopped(InformerStopped))
    );
}

#[tokio::test(start_paused = true)]
async fn a_stopped_informer_takes_no_handler() {
    let world = World::started();
    world.informer.stop();
    let refused = world.informer.add_handler(|_| {});
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the handler was not added: the informer has stopped"
    );
}

#[tokio::test(start_paused = true)]
async fn shutting_down_joins_everything() {
    let world = World::started();
    let token = Arc::new(());
    let held = Arc::clone(&token);
    let handler = move |_| drop(Arc::clone(&held));
    let registration = world.informer.add_handler(handler).unwrap();
    world.settle("=1:a1").await;
    world.informer.shut_down().await;
    assert_eq!(Arc::strong_count(&token), 1);
    registration.removed().await;
    assert_eq!(world.informer.cache().snapshot().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_stops_the_informer() {
    let World { informer, queue } = World::started();
    let other = informer.clone();
    drop(informer);
    queue.push(vec![delta("=1:a1")]).await.unwrap();
    other.wait_until_synced().await.unwrap();
    drop(other);
    assert!(queue.push(vec![delta("+b2")]).await.is_err());
}
