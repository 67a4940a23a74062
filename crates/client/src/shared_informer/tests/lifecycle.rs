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

#[tokio::test(start_paused = true)]
async fn a_subscription_keeps_its_informer_going() {
    let World { informer, queue } = World::started();
    let options = HandlerOptions::default();
    let mut subscription = informer.subscribe(&options).unwrap();
    drop(informer);
    queue.push(vec![delta("=1:a1")]).await.unwrap();
    assert_eq!(line(&subscription.next().await.unwrap()), "+a1!");
    drop(subscription);
    assert!(queue.push(vec![delta("+b2")]).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stop_at_the_moment_of_the_start_wins() {
    for _ in 0..200 {
        let world = World::unstarted();
        let informer = world.informer.clone();
        let starting = tokio::spawn(async move { informer.start() });
        world.informer.shut_down().await;
        let started = starting.await.unwrap();
        assert!(matches!(started, Ok(()) | Err(StartError::Stopped(_))));
        world.informer.shut_down().await;
        let readiness = world.informer.readiness(Duration::MAX);
        assert_eq!(readiness, Err(NotReady::Stopped(InformerStopped)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_be_added_and_removed_before_the_start() {
    let world = World::unstarted();
    let (gone, untold) = world.listen();
    let (_, told) = world.listen();
    gone.shut_down().await;
    world.informer.start().unwrap();
    world.settle("=1:a1").await;
    assert_eq!(told.take(), "+a1!");
    assert_eq!(untold.take(), "");
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_never_started_stops_too() {
    let world = World::unstarted();
    let (registration, _) = world.listen();
    world.informer.shut_down().await;
    registration.removed().await;
    assert_eq!(
        world.informer.start(),
        Err(StartError::Stopped(InformerStopped))
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_be_removed_after_the_informer_has_stopped() {
    let world = World::started();
    let (registration, _) = world.listen();
    world.informer.shut_down().await;
    registration.remove();
    registration.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn what_waits_at_the_stop_is_not_told() {
    let world = World::started();
    let options = HandlerOptions::default();
    let mut subscription = world.informer.subscribe(&options).unwrap();
    world.settle("=1:a1,b1").await;
    assert_eq!(line(&subscription.next().await.unwrap()), "+a1!");
    world.informer.stop();
    assert!(subscription.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_informer_stops_when_its_queue_is_closed() {
    let world = World::started();
    world.settle("=1:a1").await;
    world.queue.close();
    settled().await;
    assert!(world.informer.add_handler(|_| {}).is_err());
}

#[tokio::test(start_paused = true)]
async fn running_ends_when_somebody_else_stops_the_informer() {
    let world = World::unstarted();
    let informer = world.informer.clone();
    let run = tokio::spawn(async move { informer.run(std::future::pending()).await });
    world.settle("=1:a1").await;
    assert!(!run.is_finished());
    world.informer.stop();
    assert_eq!(run.await.unwrap(), Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removal_waits_for_the_call_under_way() {
    let World { informer, queue } = World::started();
    let (entered, wait_entered) = std::sync::mpsc::sync_channel(1);
    let (release, wait_release) = std::sync::mpsc::sync_channel::<()>(1);
    let done = Arc::new(Mutex::new(0));
    let calls = Arc::clone(&done);
    let handler = move |_| {
        entered.send(()).unwrap();
        wait_release.recv().unwrap();
        *calls.lock() += 1;
    };
    let registration = informer.add_handler(handler).unwrap();
    queue.push(vec![delta("=1:a1,b1")]).await.unwrap();
    tokio::task::spawn_blocking(move || wait_entered.recv().unwrap())
        .await
        .unwrap();
    registration.remove();
    let removed = registration.clone();
    let removal = tokio::spawn(async move { removed.removed().await });
    tokio::task::yield_now().await;
    assert!(!removal.is_finished());
    release.send(()).unwrap();
    removal.await.unwrap();
    assert_eq!(*done.lock(), 1);
}

#[test]
fn without_a_runtime_nothing_is_started_or_added() {
    let world = World::unstarted();
    assert_eq!(world.informer.start(), Err(StartError::NoRuntime));
    let refused = world.informer.add_handler(|_| {}).unwrap_err();
    assert_eq!(refused, AddHandlerError::NoRuntime);
}

#[test]
fn a_started_informer_takes_handlers_from_any_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(1).enable_time().build().unwrap();
    let world = World::unstarted();
    runtime.block_on(async { world.informer.start().unwrap() });
    let (registration, _) = world.listen();
    runtime.block_on(async {
        world.feed("=1:a1").await;
        registration.synced().await.unwrap();
    });
}

#[test]
fn a_runtime_that_is_going_stops_an_informer_that_is_just_being_started() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let (entered, has_entered) = std::sync::mpsc::channel();
    let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
    let (started, was_started) = std::sync::mpsc::channel();
    runtime.spawn(async move {
        entered.send(()).unwrap();
        may_go_on.recv().unwrap();
        let world = World::unstarted();
        started.send(world.informer.start()).unwrap();
    });
    has_entered.recv().unwrap();
    let handle = runtime.handle().clone();
    runtime.shutdown_background();
    // A runtime that takes no more tasks ends each of them at once.
    while !handle.spawn(std::future::pending::<()>()).is_finished() {
        std::thread::yield_now();
    }
    go_on.send(()).unwrap();
    let outcome = was_started.recv_timeout(Duration::from_secs(30));
    assert_eq!(outcome, Ok(Ok(())));
}
