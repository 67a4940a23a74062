use super::*;

/// Panics at every notification about `key`, and passes on the rest.
fn touchy(key: &'static str, told: &Told) -> impl Handler<u64> + use<> {
    let mut inner = told.handler();
    move |notification: Notification<u64>| {
        let about = notification.key().map(ObjectKey::as_str);
        assert_ne!(about, Some(key), "as the test wants it");
        inner.notify(notification);
    }
}

fn panicking(panics: PanicPolicy) -> HandlerOptions {
    HandlerOptions {
        panics,
        ..HandlerOptions::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_skips_one_notification_and_the_handler_still_syncs() {
    let world = World::started();
    let told = Told::default();
    let handler = touchy("b", &told);
    let options = panicking(PanicPolicy::Skip);
    let registration = world.informer.add_handler_with(handler, options).unwrap();
    let (_, other) = world.listen();
    world.settle("=1:a1,b1,c1 ~b2 +d3").await;
    assert_eq!(told.take(), "+a1! +c1! +d3");
    assert_eq!(other.take(), "+a1! +b1! +c1! ~b1>2 +d3");
    assert_eq!(registration.synced().await, Ok(()));
    assert_eq!(registration.status().panics, 2);
    assert_eq!(registration.status().delivered, 5);
}

#[tokio::test(start_paused = true)]
async fn a_panic_at_the_last_initial_object_does_not_keep_the_handler_from_syncing() {
    let world = World::started();
    let handler = touchy("b", &Told::default());
    let registration = world.informer.add_handler(handler).unwrap();
    world.settle("=1:a1,b1").await;
    assert!(registration.has_synced());
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_be_removed_by_its_panic() {
    let world = World::started();
    let told = Told::default();
    let handler = touchy("b", &told);
    let options = panicking(PanicPolicy::Remove);
    let registration = world.informer.add_handler_with(handler, options).unwrap();
    let (_, other) = world.listen();
    world.settle("=1:a1,b1,c1 +d2").await;
    registration.removed().await;
    assert_eq!(registration.synced().await, Err(HandlerRemoved));
    assert_eq!(told.take(), "+a1!");
    assert_eq!(other.take(), "+a1! +b1! +c1! +d2");
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_a_handler_is_dropped_is_its_end_all_the_same() {
    struct Bomb;
    impl Handler<u64> for Bomb {
        fn notify(&mut self, _: Notification<u64>) {}
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "as the test wants it");
        }
    }
    let world = World::started();
    let registration = world.informer.add_handler(Bomb).unwrap();
    registration.shut_down().await;
    world.settle("=1:a1").await;
    assert!(world.informer.has_synced());
    world.informer.shut_down().await;
}
