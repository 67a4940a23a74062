use tokio::time::{advance, sleep};

use super::*;

const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn a_write_of_ones_own_is_seen_after_waiting_for_its_version() {
    let world = World::started();
    world.settle("=1:a1").await;
    let informer = world.informer.clone();
    let reader = tokio::spawn(async move {
        let snapshot = informer.read_at_least(&version("3"), PATIENCE).await;
        snapshot.map(|snapshot| snapshot.get("a").unwrap().body)
    });
    world.settle("~a2").await;
    assert!(!reader.is_finished());
    world.settle("~a3 ~a4").await;
    assert!(reader.await.unwrap().unwrap() >= 3);
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_is_as_good_as_a_change() {
    let world = World::started();
    world.settle("=1: !7").await;
    assert_eq!(
        world.informer.wait_for(&version("7"), PATIENCE).await,
        Ok(())
    );
    assert_eq!(world.informer.last_version(), Some(version("7")));
}

#[tokio::test(start_paused = true)]
async fn waiting_has_an_end() {
    let world = World::started();
    world.settle("=1:a1").await;
    let late = world.informer.wait_for(&version("9"), PATIENCE).await;
    let expected = WaitError::TimedOut {
        wanted: version("9"),
        reached: Some(version("1")),
    };
    assert_eq!(late, Err(expected));
    let informer = world.informer.clone();
    let waiting = tokio::spawn(async move { informer.wait_for(&version("9"), PATIENCE).await });
    settled().await;
    world.informer.stop();
    assert_eq!(
        waiting.await.unwrap(),
        Err(WaitError::Stopped(InformerStopped))
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_new_enough_before_the_first_list() {
    let world = World::started();
    world.settle("+a5").await;
    let early = world.informer.read_at_least(&version("4"), PATIENCE).await;
    assert!(matches!(early, Err(WaitError::TimedOut { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_text_for_a_version_is_reached_while_it_is_the_last() {
    let world = World::started();
    let text = Version::parse("v1-abc").unwrap();
    world.settle("=1:a1").await;
    let bookmark = vec![Delta::Bookmark(text.clone())];
    world.queue.push(bookmark).await.unwrap();
    assert_eq!(world.informer.wait_for(&text, PATIENCE).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn the_age_is_the_time_since_an_event_or_a_bookmark() {
    let world = World::started();
    assert_eq!(world.informer.age(), None);
    world.settle("=1:a1").await;
    advance(Duration::from_secs(50)).await;
    assert!(world.informer.age().unwrap() >= Duration::from_secs(50));
    world.settle("!2").await;
    assert!(world.informer.age().unwrap() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn readiness_names_what_is_missing() {
    let age_max = Duration::from_secs(90);
    let world = World::unstarted();
    let ready = || world.informer.readiness(age_max);
    assert_eq!(ready(), Err(NotReady::NotStarted));
    world.informer.start().unwrap();
    assert_eq!(ready(), Err(NotReady::NotSynced));
    world.settle("=1:a1").await;
    assert_eq!(ready(), Ok(()));
    sleep(Duration::from_secs(91)).await;
    assert!(matches!(ready(), Err(NotReady::Stale { age }) if age > age_max));
    world.settle("!2").await;
    assert_eq!(ready(), Ok(()));
    world.informer.stop();
    assert_eq!(ready(), Err(NotReady::Stopped(InformerStopped)));
}
