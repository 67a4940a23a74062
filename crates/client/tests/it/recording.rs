//! A session with a real server, broken connections included, replayed without the server.

use std::{
    fs::File,
    io::{BufReader, BufWriter},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use listwatch::{
    Decoder, HandlerOptions, KubernetesSource, ListerWatcher, Notification, SharedInformer,
    Subscription,
    source::{
        Recorder, Replay,
        recording::{RecordingState, Speed},
    },
};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    proxy::Proxy,
    real_server::{RealServer, client_of},
};

const PATIENCE: Duration = Duration::from_secs(60);

async fn following(source: Arc<dyn ListerWatcher>) -> Subscription<Value> {
    let informer = SharedInformer::new(source, Decoder::json());
    let subscription = informer.subscribe(&HandlerOptions::default()).unwrap();
    informer.start().unwrap();
    let synced = timeout(PATIENCE, informer.wait_until_synced()).await;
    synced.unwrap().unwrap();
    subscription
}

/// What is told up to the deletion of an object.
async fn told_until_deleted(subscription: &mut Subscription<Value>, key: &str) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let notification = timeout(PATIENCE, subscription.next())
            .await
            .unwrap()
            .unwrap();
        let body = match &notification {
            Notification::Added { object, .. } => Some(&object.body),
            Notification::Updated { new, .. } => Some(&new.body),
            Notification::Deleted(deleted) => deleted.last.as_ref().map(|last| &last.body),
            Notification::Lagged { .. } => None,
        };
        told.push(format!("{notification} {body:?}"));
        if matches!(&notification, Notification::Deleted(deleted) if deleted.key.as_str() == key) {
            return told;
        }
    }
}

async fn life_of(name: &str, client: &Client) {
    let api = Api::<ConfigMap>::namespaced(client.clone(), "default");
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
    let patch = Patch::Merge(json!({"data": {"text": "\u{e4}\n\"</script>"}}));
    let options = PatchParams::default();
    api.patch(name, &options, &patch).await.unwrap();
    api.delete(name, &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_session_with_a_real_server_is_replayed_without_it() {
    let server = RealServer::start().await;
    let proxy = Proxy::start(server.address()).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.recording");
    let client = client_of(proxy.address());
    let source = KubernetesSource::namespaced::<ConfigMap>(client, "default");
    let file = BufWriter::new(File::create(&path).unwrap());
    let recorder = Arc::new(Recorder::new(Arc::new(source), file, 1 << 20));

    let mut live = following(Arc::clone(&recorder) as _).await;
    let mut told = Vec::new();
    for name in ["first", "second", "third"] {
        life_of(name, &server.client()).await;
        life_of("sign", &server.client()).await;
        told.extend(told_until_deleted(&mut live, "default/sign").await);
        proxy.cut();
    }
    drop(live);
    assert!(matches!(recorder.finish(), RecordingState::Complete { .. }));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.matches(r#""failed":{"disconnected""#).count() >= 2,
        "{text}"
    );

    let replay = Replay::read(BufReader::new(File::open(&path).unwrap())).unwrap();
    let mut replayed = following(Arc::new(replay.speed(Speed::Times(10.0)))).await;
    let mut told_again = Vec::new();
    for _ in 0..3 {
        told_again.extend(told_until_deleted(&mut replayed, "default/sign").await);
    }
    assert_eq!(told_again, told);
}
