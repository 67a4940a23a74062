use super::*;
use crate::{
    SourceError,
    source::{ScriptedSource, scripted::RequestKind},
};

/// A source of numbers, and an informer that follows it.
struct Followed {
    source: ScriptedSource,
    informer: SharedInformer<u64>,
}

impl Followed {
    fn started() -> Self {
        let source = ScriptedSource::new();
        let informer = SharedInformer::new(Arc::new(source.clone()), Decoder::json());
        informer.start().unwrap();
        Self { source, informer }
    }

    fn listen(&self) -> Told {
        let told = Told::default();
        self.informer.add_handler(told.handler()).unwrap();
        told
    }
}

/// Long enough for the longest pause of the reflector.
async fn recovered() {
    tokio::time::sleep(Duration::from_secs(90)).await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_follows_its_source() {
    let world = Followed::started();
    let told = world.listen();
    world.source.put("a", "1");
    settled().await;
    assert_eq!(told.take(), "+a2!");
    assert!(world.informer.has_synced() && world.informer.is_watching());
    let written = world.source.put("a", "2");
    world.source.put("b", "3");
    world.source.delete("a");
    let patience = Duration::from_secs(1);
    world.informer.wait_for(&written, patience).await.unwrap();
    settled().await;
    assert_eq!(told.take(), "~a2>3 +b4 -a5");
    assert_eq!(world.informer.lister().get("b").unwrap().body, 3);
    assert!(world.informer.lister().get("a").is_err());
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_watch_did_not_tell_is_found_by_a_list() {
    let world = Followed::started();
    for key in ["a", "b", "c"] {
        world.source.put(key, "1");
    }
    settled().await;
    let told = world.listen();
    settled().await;
    assert_eq!(told.take(), "+a2! +b3! +c4!");
    let kept = Arc::clone(world.informer.cache().snapshot().get("c").unwrap());
    world.source.delete_unseen("a");
    world.source.put_unseen("b", "2");
    world.source.put_unseen("d", "2");
    world.source.expire_history();
    world.source.end_watches();
    recovered().await;
    assert_eq!(told.take(), "-a2? ~b3>6 +d7");
    let snapshot = world.informer.cache().snapshot();
    assert!(Arc::ptr_eq(&kept, snapshot.get("c").unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_is_reported_and_asked_again() {
    let source = ScriptedSource::new();
    source.put("a", "1");
    let denied = SourceError::Denied {
        code: 403,
        message: "no".to_owned(),
    };
    source.refuse(RequestKind::List, denied.clone(), 2);
    source.refuse(RequestKind::StreamingList, denied, 2);
    let errors = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&errors);
    let informer = SharedInformer::builder(Arc::new(source), Decoder::<u64>::json())
        .name("numbers")
        .on_error(move |_| *seen.lock() += 1)
        .build();
    informer.start().unwrap();
    settled().await;
    assert!(!informer.has_synced() && !informer.is_watching());
    recovered().await;
    assert!(informer.has_synced() && informer.is_watching());
    assert!(*errors.lock() >= 2);
    assert_eq!(informer.name(), "numbers");
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_set_aside_and_the_rest_goes_on() {
    let source = ScriptedSource::new();
    source.put("a", "1");
    source.put("bad", "\"text\"");
    let aside = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&aside);
    let informer = SharedInformer::builder(Arc::new(source), Decoder::<u64>::json())
        .on_set_aside(move |object| seen.lock().push(object.key))
        .build();
    informer.start().unwrap();
    informer.wait_until_synced().await.unwrap();
    assert_eq!(informer.cache().snapshot().len(), 1);
    assert_eq!(*aside.lock(), [Some(ObjectKey::from("bad"))]);
}

#[tokio::test(start_paused = true)]
async fn shutting_down_ends_the_watch() {
    let world = Followed::started();
    world.informer.wait_until_synced().await.unwrap();
    settled().await;
    assert_eq!(world.source.open_watches(), 1);
    world.informer.shut_down().await;
    assert_eq!(world.source.open_watches(), 0);
    assert!(!world.informer.is_watching());
}

#[tokio::test(start_paused = true)]
async fn an_informer_runs_until_it_is_told_to_stop() {
    let source = ScriptedSource::new();
    source.put("a", "1");
    let informer = SharedInformer::new(Arc::new(source), Decoder::<u64>::json());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = informer.clone();
    let run = tokio::spawn(async move { running.run(async { drop(stopped.await) }).await });
    informer.wait_until_synced().await.unwrap();
    drop(stop);
    assert_eq!(run.await.unwrap(), Ok(()));
    assert!(informer.add_handler(|_| {}).is_err());
}

#[tokio::test(start_paused = true)]
async fn each_state_is_decoded_once_for_all_handlers_and_relists() {
    let source = ScriptedSource::new();
    source.put("a", "1");
    let count = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&count);
    let decoder = Decoder::new(move |_| {
        *counted.lock() += 1;
        Ok(7_u64)
    });
    let informer = SharedInformer::new(Arc::new(source.clone()), decoder);
    informer.start().unwrap();
    for _ in 0..3 {
        informer.add_handler(|_| {}).unwrap();
    }
    informer.wait_until_synced().await.unwrap();
    source.pass_versions(1);
    source.expire_history();
    source.end_watches();
    recovered().await;
    assert_eq!(*count.lock(), 1);
    assert_eq!(informer.cache().snapshot().get("a").unwrap().body, 7);
}
