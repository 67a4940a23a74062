use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::{
    Deletion, Delta, DeltaQueue, Labels, RawEvent, RawObject, Replacement,
    lister_watcher::{
        BoxFuture, EventStream, ListEnd, ListOptions, ListPart, ListStream, WatchOptions,
        WatchStart,
    },
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Lists from a script; every watch reads from one channel.
#[derive(Default)]
struct Scripted {
    lists: Mutex<Vec<Result<Vec<RawObject>, SourceError>>>,
    events: tokio::sync::Mutex<Option<mpsc::Receiver<Result<RawEvent, SourceError>>>>,
    starts: Mutex<Vec<WatchStart>>,
}

struct Items(Vec<ListPart>);

impl ListStream for Items {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        let part = self.0.remove(0);
        Box::pin(async move { Ok(part) })
    }
}

struct Events(mpsc::Receiver<Result<RawEvent, SourceError>>);

impl EventStream for Events {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        Box::pin(async {
            let event = self.0.recv().await?;
            Some(event.map(|event| vec![event]))
        })
    }
}

impl ListerWatcher for Scripted {
    fn list<'a>(
        &'a self,
        _: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        let answer = self.lists.lock().remove(0);
        Box::pin(async move {
            let end = ListEnd {
                version: Some(10.into()),
                continue_token: None,
            };
            let items = answer?.into_iter().map(Ok).collect();
            let parts = vec![ListPart::Items(items), ListPart::End(end)];
            Ok(Box::new(Items(parts)) as Box<dyn ListStream>)
        })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        self.starts.lock().push(options.start.clone());
        Box::pin(async move {
            match self.events.lock().await.take() {
                Some(events) => Ok(Box::new(Events(events)) as Box<dyn EventStream>),
                None => std::future::pending().await,
            }
        })
    }
}

fn raw(name: &str, body: &Value) -> RawObject {
    RawObject {
        key: name.into(),
        version: 11.into(),
        uid: None,
        labels: Labels::default(),
        body: Bytes::from(body.to_string()),
    }
}

fn phase(name: &str, phase: &str) -> RawObject {
    raw(name, &json!({"status": {"phase": phase}}))
}

fn running() -> Condition<Value> {
    Condition::json("/status/phase", json!("Running"))
}

type Sender = mpsc::Sender<Result<RawEvent, SourceError>>;

fn scripted<const COUNT: usize>(
    lists: [Result<Vec<RawObject>, SourceError>; COUNT],
) -> (Sender, Arc<Scripted>, Watched<Value>) {
    let (sender, events) = mpsc::channel(16);
    let source = Arc::new(Scripted {
        lists: Mutex::new(lists.into()),
        events: tokio::sync::Mutex::new(Some(events)),
        starts: Mutex::default(),
    });
    let watched = Watched::Source {
        source: Arc::clone(&source) as Arc<dyn ListerWatcher>,
        decoder: Decoder::json(),
    };
    (sender, source, watched)
}

async fn until_running(watched: &Watched<Value>, name: &str) -> Result<String, UntilError> {
    let key = ObjectKey::from(name);
    let object = wait_until(watched, &key, &running(), PATIENCE).await?;
    Ok(object.unwrap().body["status"]["phase"].to_string())
}

#[tokio::test(start_paused = true)]
async fn what_is_so_already_is_not_waited_for() {
    let (_sender, source, watched) = scripted([Ok(vec![phase("a", "Running")])]);
    assert_eq!(until_running(&watched, "a").await.unwrap(), "\"Running\"");
    assert!(source.starts.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_so_yet_is_watched_from_the_lists_version() {
    let (sender, source, watched) = scripted([Ok(vec![phase("a", "Pending")])]);
    for event in [
        RawEvent::Modified(phase("b", "Running")),
        RawEvent::Modified(raw("a", &json!("no object"))),
        RawEvent::Modified(phase("a", "Running")),
    ] {
        sender.send(Ok(event)).await.unwrap();
    }
    assert!(until_running(&watched, "a").await.is_ok());
    assert_eq!(*source.starts.lock(), [WatchStart::After(10.into())]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_there_is_deleted_and_does_not_exist() {
    let (_sender, _, watched) = scripted([Ok(vec![]), Ok(vec![])]);
    let key = ObjectKey::from("a");
    let deleted = wait_until(&watched, &key, &Condition::deleted(), PATIENCE).await;
    assert!(deleted.unwrap().is_none());
    let error = wait_until(&watched, &key, &Condition::exists(), PATIENCE).await;
    let expected = UntilError::TimedOut {
        condition: "existing".to_owned(),
        pending: vec![key],
    };
    assert_eq!(error.unwrap_err(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_seen_even_if_nobody_can_read_the_object() {
    let unreadable = || {
        let mut object = phase("a", "Pending");
        object.body = Bytes::from_static(b"{");
        object
    };
    let (sender, _, watched) = scripted([Ok(vec![unreadable()])]);
    sender
        .send(Ok(RawEvent::Deleted(unreadable())))
        .await
        .unwrap();
    let deleted = wait_until(&watched, &"a".into(), &Condition::deleted(), PATIENCE).await;
    assert!(deleted.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn many_are_waited_for_and_those_that_are_late_are_named() {
    let (sender, _, watched) = scripted([
        Ok(vec![phase("a", "Running"), phase("b", "Pending")]),
        Ok(vec![phase("a", "Running"), phase("b", "Pending")]),
    ]);
    sender
        .send(Ok(RawEvent::Modified(phase("b", "Running"))))
        .await
        .unwrap();
    let keys = || ["a", "b"].map(ObjectKey::from);
    let met = wait_until_all(&watched, keys(), &running(), PATIENCE).await;
    assert_eq!(met.unwrap().into_keys().collect::<Vec<_>>(), keys());
    let late = wait_until_all(&watched, keys(), &running(), PATIENCE).await;
    let expected = UntilError::TimedOut {
        condition: running().to_string(),
        pending: vec!["b".into()],
    };
    assert_eq!(late.unwrap_err(), expected);
    let none = wait_until_all(&watched, [], &running(), PATIENCE).await;
    assert!(none.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_is_listed_again() {
    let (sender, source, watched) = scripted([Ok(vec![]), Ok(vec![phase("a", "Running")])]);
    let expired = SourceError::Expired {
        message: "too old".into(),
    };
    sender.send(Err(expired)).await.unwrap();
    assert!(until_running(&watched, "a").await.is_ok());
    assert!(source.lists.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_is_tried_again_unless_that_cannot_help() {
    let denied = SourceError::Denied {
        code: 403,
        message: "no".into(),
    };
    let broken = SourceError::Disconnected {
        reason: "reset".into(),
    };
    let (_sender, _, watched) = scripted([
        Err(broken),
        Ok(vec![phase("a", "Running")]),
        Err(denied.clone()),
    ]);
    assert!(until_running(&watched, "a").await.is_ok());
    let refused = until_running(&watched, "a").await.unwrap_err();
    assert_eq!(refused, UntilError::Source(denied));
}

fn object(name: &str, version: u64, phase: &str) -> Arc<Object<Value>> {
    Arc::new(Object {
        key: name.into(),
        version: version.into(),
        uid: None,
        labels: Labels::default(),
        body: json!({"status": {"phase": phase}}),
    })
}

fn informer() -> (DeltaQueue<Value>, Watched<Value>) {
    let queue = DeltaQueue::in_order();
    let informer = SharedInformer::from_queue(queue.clone());
    informer.start().unwrap();
    (queue, Watched::Informer(informer))
}

fn filled(objects: Vec<Arc<Object<Value>>>) -> Delta<Value> {
    Delta::Replaced(Replacement {
        objects,
        set_aside: Vec::new(),
        version: Some(10.into()),
    })
}

#[tokio::test(start_paused = true)]
async fn an_informers_cache_is_asked_first_and_then_its_changes() {
    let (queue, watched) = informer();
    let feed = async {
        let filled = filled(vec![object("a", 1, "Running"), object("b", 2, "Pending")]);
        queue.push(vec![filled]).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let running = Delta::Updated(object("b", 11, "Running"));
        queue.push(vec![running]).await.unwrap();
    };
    let keys = ["a", "b"].map(ObjectKey::from);
    let running = running();
    let waiting = wait_until_all(&watched, keys, &running, PATIENCE);
    let (met, ()) = tokio::join!(waiting, feed);
    assert_eq!(met.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_has_not_been_filled_does_not_say_that_an_object_is_deleted() {
    let (queue, watched) = informer();
    let key = ObjectKey::from("a");
    let deleted = || async {
        let condition = Condition::deleted();
        wait_until(&watched, &key, &condition, PATIENCE).await
    };
    assert!(matches!(deleted().await, Err(UntilError::TimedOut { .. })));
    let filled = filled(vec![object("a", 1, "Running")]);
    queue.push(vec![filled]).await.unwrap();
    assert!(matches!(deleted().await, Err(UntilError::TimedOut { .. })));
    let gone = Delta::Deleted(Deletion {
        key: key.clone(),
        version: 11.into(),
        last: None,
    });
    let (ended, pushed) = tokio::join!(deleted(), queue.push(vec![gone]));
    pushed.unwrap();
    assert!(ended.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_stops_ends_the_wait() {
    let (_queue, watched) = informer();
    let Watched::Informer(running_informer) = &watched else {
        unreachable!("made so above");
    };
    running_informer.stop();
    let ended = until_running(&watched, "a").await;
    assert_eq!(ended.unwrap_err(), UntilError::InformerStopped);
}
