use super::*;

/// Told of objects whose body is even.
fn even(told: &Told) -> impl Handler<u64> + use<> {
    Filtered::new(
        |object: &Object<u64>| object.body.is_multiple_of(2),
        told.handler(),
    )
}

#[tokio::test(start_paused = true)]
async fn an_update_across_the_filter_comes_or_goes() {
    let world = World::started();
    let told = Told::default();
    world.informer.add_handler(even(&told)).unwrap();
    for (fed, expected) in [
        ("=2:a1,b2", "+b2!"),
        ("~a3", ""),
        ("~a4", "+a4"),
        ("~a6", "~a4>6"),
        ("~a7", "-a6"),
        ("-a9", ""),
        ("-b10", "-b10"),
    ] {
        world.settle(fed).await;
        assert_eq!(told.take(), expected, "after {fed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_without_a_known_state_passes_every_filter() {
    let world = World::started();
    let told = Told::default();
    world.informer.add_handler(even(&told)).unwrap();
    let deletion = Deletion {
        key: ObjectKey::from("a"),
        version: version("3"),
        last: None,
    };
    let deltas = vec![delta("=1:"), Delta::Deleted(deletion)];
    world.queue.push(deltas).await.unwrap();
    settled().await;
    assert_eq!(told.take(), "-a_?");
}
