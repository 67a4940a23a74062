use futures_util::StreamExt;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_handler_is_told_every_change_in_order() {
    let world = World::started();
    let (_, told) = world.listen();
    world.settle("=1:a1 +b2 ~a3 -b4 +c5").await;
    assert_eq!(told.take(), "+a1! +b2 ~a1>3 -b4 +c5");
}

#[tokio::test(start_paused = true)]
async fn presence_in_the_cache_decides_between_added_and_updated() {
    let world = World::started();
    let (_, told) = world.listen();
    world.settle("=1: ~a2 +a3").await;
    assert_eq!(told.take(), "+a2 ~a2>3");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_of_an_unknown_object_is_told() {
    let world = World::started();
    let (_, told) = world.listen();
    world.settle("=1: -a2").await;
    assert_eq!(told.take(), "-a2");
}

#[tokio::test(start_paused = true)]
async fn the_same_version_again_is_not_told() {
    let world = World::started();
    let (_, told) = world.listen();
    world.settle("=1:a1 ~a1 +a1 =2:a1").await;
    assert_eq!(told.take(), "+a1!");
}

#[tokio::test(start_paused = true)]
async fn a_relist_is_told_as_what_it_changed_and_deletions_first() {
    let world = World::started();
    let (_, told) = world.listen();
    world.settle("=4:a1,b2,d4 =9:a1,b5,c6").await;
    assert_eq!(told.take(), "+a1! +b2! +d4! -d4? ~b2>5 +c6");
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_begins_with_the_present_and_goes_on_from_there() {
    let world = World::started();
    world.settle("=1:a1,b1 ~a2").await;
    world.feed("+c3 ~b4").await;
    let (_, told) = world.listen();
    world.settle("~a5").await;
    assert_eq!(told.take(), "+a2! +b1! +c3 ~b1>4 ~a2>5");
}

#[tokio::test(start_paused = true)]
async fn the_cache_shows_a_change_before_a_handler_is_told() {
    let world = World::started();
    let cache = world.informer.cache().clone();
    let told = Told::default();
    let mut inner = told.handler();
    let check = move |notification: Notification<u64>| {
        if let Notification::Added { object, .. } = &notification {
            assert!(cache.snapshot().get(object.key.as_str()).is_some());
        }
        inner.notify(notification);
    };
    let registration = world.informer.add_handler(check).unwrap();
    world.settle("=1:a1 +b2").await;
    assert_eq!(registration.status().panics, 0);
    assert_eq!(told.take(), "+a1! +b2");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_was_added_twice_is_told_twice() {
    let world = World::started();
    let told = Told::default();
    let first = world.informer.add_handler(told.handler()).unwrap();
    world.informer.add_handler(told.handler()).unwrap();
    world.settle("=1:a1").await;
    assert_eq!(told.take(), "+a1! +a1!");
    first.remove();
    world.settle("+b2").await;
    assert_eq!(told.take(), "+b2");
}

#[tokio::test(start_paused = true)]
async fn a_removed_handler_is_told_nothing_more() {
    let world = World::started();
    let (removed, told) = world.listen();
    let (_, other) = world.listen();
    world.settle("=1:a1").await;
    removed.remove();
    removed.remove();
    removed.removed().await;
    world.settle("+b2").await;
    removed.shut_down().await;
    assert_eq!(told.take(), "+a1!");
    assert_eq!(other.take(), "+a1! +b2");
    assert_eq!(world.informer.shared.log.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_remove_itself() {
    let world = World::started();
    let slot = Arc::new(Mutex::new(None::<Registration>));
    let told = Told::default();
    let (own, mut inner) = (Arc::clone(&slot), told.handler());
    let handler = move |notification| {
        inner.notify(notification);
        own.lock().as_ref().unwrap().remove();
    };
    *slot.lock() = Some(world.informer.add_handler(handler).unwrap());
    world.settle("=1:a1,b1 +c2").await;
    assert_eq!(told.take(), "+a1!");
    let registration = slot.lock().clone().unwrap();
    registration.removed().await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_asked() {
    let world = World::started();
    let mut subscription = world
        .informer
        .subscribe(&HandlerOptions::default())
        .unwrap();
    world.feed("=1:a1 ~a2").await;
    assert_eq!(line(&subscription.next().await.unwrap()), "+a1!");
    assert!(subscription.registration().has_synced());
    assert_eq!(line(&subscription.next().await.unwrap()), "~a1>2");
    world.informer.stop();
    assert!(subscription.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_a_stream() {
    let world = World::started();
    let subscription = world
        .informer
        .subscribe(&HandlerOptions::default())
        .unwrap();
    world.feed("=1:a1 ~a2").await;
    let first = subscription.into_stream().take(2);
    let lines: Vec<_> = first
        .map(|notification| line(&notification))
        .collect()
        .await;
    assert_eq!(lines, ["+a1!", "~a1>2"]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_subscription_leaves_the_log() {
    let world = World::started();
    let subscription = world
        .informer
        .subscribe(&HandlerOptions::default())
        .unwrap();
    world.settle("=1:a1 ~a2").await;
    assert_eq!(world.informer.shared.log.len(), 2);
    drop(subscription);
    assert_eq!(world.informer.shared.log.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_object_deleted_and_made_again_unseen_is_told_as_one_update() {
    let world = World::started();
    let (_, told) = world.listen();
    let with_uid = |text: &str, uid: &str| {
        let plain = object(text);
        Arc::new(Object {
            key: plain.key.clone(),
            version: plain.version.clone(),
            uid: crate::Uid::parse(uid),
            labels: Labels::default(),
            body: plain.body,
        })
    };
    for (at, state) in [
        ("1", with_uid("a1", "first")),
        ("9", with_uid("a8", "second")),
    ] {
        let replacement = Replacement {
            objects: vec![state],
            set_aside: Vec::new(),
            version: Some(version(at)),
        };
        let deltas = vec![Delta::Replaced(replacement)];
        world.queue.push(deltas).await.unwrap();
        settled().await;
    }
    assert_eq!(told.take(), "+a1! ~a1>8");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_could_not_be_decoded_is_not_taken_for_deleted() {
    let world = World::started();
    let (_, told) = world.listen();
    world.settle("=1:a1,b1").await;
    let replacement = Replacement {
        objects: vec![object("b1")],
        set_aside: vec![ObjectKey::from("a")],
        version: Some(version("5")),
    };
    let deltas = vec![Delta::Replaced(replacement)];
    world.queue.push(deltas).await.unwrap();
    settled().await;
    assert_eq!(told.take(), "+a1! +b1!");
}

#[tokio::test(start_paused = true)]
async fn all_handlers_see_one_order() {
    let world = World::started();
    let handlers: Vec<_> = (0..5).map(|_| world.listen().1).collect();
    world.settle("=1:a1 +b2 ~a3 +c4 -b5 ~c6 ~a7").await;
    for told in handlers {
        assert_eq!(told.take(), "+a1! +b2 ~a1>3 +c4 -b5 ~c4>6 ~a3>7");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_costs_the_others_nothing() {
    let world = World::started();
    let options = HandlerOptions::default();
    let mut slow = world.informer.subscribe(&options).unwrap();
    let (_, told) = world.listen();
    world.settle("=1:a1 ~a2 ~a3").await;
    assert_eq!(told.take(), "+a1! ~a1>2 ~a2>3");
    assert_eq!(line(&slow.next().await.unwrap()), "+a1!");
}

#[tokio::test(start_paused = true)]
async fn removing_a_handler_changes_nothing_for_the_others() {
    let world = World::started();
    let (first, gone) = world.listen();
    let (second, told) = world.listen();
    world.settle("=1:a1").await;
    first.shut_down().await;
    first.shut_down().await;
    assert_eq!(first.synced().await, Ok(()));
    world.settle("+b2").await;
    assert_eq!(gone.take(), "+a1!");
    assert_eq!(told.take(), "+a1! +b2");
    assert!(second.has_synced());
}
