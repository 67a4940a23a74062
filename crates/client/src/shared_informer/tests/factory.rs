use tokio::time::sleep;

use super::*;

fn key(resource: &str) -> InformerKey {
    InformerKey {
        source: "here".to_owned(),
        resource: resource.to_owned(),
        namespace: None,
        selector: None,
    }
}

/// A share in an informer, which is made with a queue of its own.
fn share(factory: &InformerFactory, key: InformerKey) -> InformerShare<u64> {
    let make = || SharedInformer::from_queue(DeltaQueue::in_order());
    factory.informer(key, make).unwrap()
}

fn same(ours: &InformerShare<u64>, theirs: &InformerShare<u64>) -> bool {
    Arc::ptr_eq(&ours.shared, &theirs.shared)
}

fn has_stopped(informer: &SharedInformer<u64>) -> bool {
    informer.subscribe(&HandlerOptions::default()).is_err()
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_the_same_gets_the_same() {
    let factory = InformerFactory::new(Duration::ZERO);
    let pods = share(&factory, key("pods"));
    assert!(same(&pods, &share(&factory, key("pods"))));
    let mut others = [key("pods"), key("pods"), key("pods"), key("nodes")];
    others[0].namespace = Some("default".to_owned());
    others[1].selector = Some("app=web".to_owned());
    others[2].source = "there".to_owned();
    for other in others {
        assert!(!same(&pods, &share(&factory, other)));
    }
    let make = || SharedInformer::from_queue(DeltaQueue::in_order());
    let another_type: InformerShare<String> = factory.informer(key("pods"), make).unwrap();
    assert_eq!(factory.keys(), [key("pods"), key("pods")]);
    drop(another_type);
    assert_eq!(factory.keys(), [key("pods")]);
}

#[tokio::test(start_paused = true)]
async fn an_informer_stops_when_its_last_user_goes() {
    let factory = InformerFactory::new(Duration::ZERO);
    factory.start().unwrap();
    let first = share(&factory, key("pods"));
    let second = first.clone();
    let third = share(&factory, key("pods"));
    let informer = SharedInformer::clone(&first);
    drop(first);
    drop(third);
    assert!(!has_stopped(&informer));
    drop(second);
    assert!(has_stopped(&informer));
    assert!(factory.keys().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_idle_informer_lingers_for_the_next_user() {
    let factory = InformerFactory::new(Duration::from_secs(60));
    let first = share(&factory, key("pods"));
    let informer = SharedInformer::clone(&first);
    drop(first);
    sleep(Duration::from_secs(40)).await;
    let second = share(&factory, key("pods"));
    sleep(Duration::from_secs(40)).await;
    assert!(Arc::ptr_eq(&second.shared, &informer.shared));
    assert!(!has_stopped(&informer));
    drop(second);
    sleep(Duration::from_secs(59)).await;
    assert!(!has_stopped(&informer));
    sleep(Duration::from_secs(2)).await;
    assert!(has_stopped(&informer));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_informer_is_made_anew() {
    let factory = InformerFactory::new(Duration::ZERO);
    let first = share(&factory, key("pods"));
    first.stop();
    let second = share(&factory, key("pods"));
    assert!(!same(&first, &second));
    drop(first);
    assert!(!has_stopped(&second));
}

#[tokio::test(start_paused = true)]
async fn starting_is_for_those_there_and_those_to_come() {
    let factory = InformerFactory::new(Duration::ZERO);
    let before = share(&factory, key("pods"));
    factory.start().unwrap();
    factory.start().unwrap();
    let after = share(&factory, key("nodes"));
    for informer in [before, after] {
        assert_eq!(informer.start(), Err(StartError::AlreadyStarted));
    }
}

#[tokio::test(start_paused = true)]
async fn those_that_have_not_synced_in_time_are_named() {
    let factory = InformerFactory::new(Duration::ZERO);
    let queue = DeltaQueue::in_order();
    let make = || SharedInformer::from_queue(queue.clone());
    let _pods = factory.informer(key("pods"), make).unwrap();
    let nodes = share(&factory, key("nodes"));
    factory.start().unwrap();
    queue.push(vec![delta("=1:a1")]).await.unwrap();
    let patience = Duration::from_secs(3);
    let late = factory.wait_for_all_synced(patience).await.unwrap_err();
    assert_eq!(late.to_string(), "not synced: nodes of here");
    drop(nodes);
    assert_eq!(factory.wait_for_all_synced(patience).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_factory_that_was_shut_down_gives_nothing_more() {
    let factory = InformerFactory::new(Duration::from_secs(60));
    factory.start().unwrap();
    let pods = share(&factory, key("pods"));
    let registration = pods.add_handler(|_| {}).unwrap();
    factory.shut_down().await;
    registration.removed().await;
    assert!(has_stopped(&pods));
    let make = || SharedInformer::<u64>::from_queue(DeltaQueue::in_order());
    let refused = factory.informer(key("pods"), make).unwrap_err();
    assert_eq!(refused, FactoryError::ShutDown);
    assert_eq!(factory.start(), Err(FactoryError::ShutDown));
}
