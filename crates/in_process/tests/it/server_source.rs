//! A server's cache as a source.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use listwatch::{
    ListerWatcher, SourceError, Version,
    lister_watcher::{Freshness, WatchOptions, WatchStart},
};
use listwatch_in_process::ServerSource;
use listwatch_server::{RunningServer, Settings};
use listwatch_store::MemoryStore;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{list_all, read, watch};

async fn start() -> (RunningServer, Api<ConfigMap>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let store = Arc::new(MemoryStore::new());
    let server = RunningServer::start(listener, store, Settings::default());
    let server = server.await.unwrap();
    let url = format!("http://{}", server.address()).parse().unwrap();
    let client = Client::try_from(Config::new(url)).unwrap();
    (server, Api::namespaced(client, "default"))
}

async fn create(configmaps: &Api<ConfigMap>, name: &str) {
    let created = configmaps
        .create(&PostParams::default(), &configmap(name))
        .await;
    created.unwrap();
}

fn configmap(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([("app".to_owned(), "web".to_owned())])),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

#[tokio::test]
async fn a_list_in_process_is_the_list_over_http() {
    let (server, configmaps) = start().await;
    for name in ["a", "b", "c"] {
        create(&configmaps, name).await;
    }
    let source = ServerSource::all(&server.handle(), ("", "v1", "configmaps")).unwrap();
    let (objects, version) = list_all(&source, None).await;
    let listed = configmaps.list(&kube::api::ListParams::default()).await;
    let listed = listed.unwrap();
    assert_eq!(listed.metadata.resource_version, Some(version.to_string()));
    let ours: Vec<Value> = objects
        .iter()
        .filter(|object| object.key.namespace() == Some("default"))
        .map(|object| serde_json::from_slice(&object.body).unwrap())
        .collect();
    let mut theirs: Vec<Value> = listed
        .items
        .iter()
        .map(|item| serde_json::to_value(item).unwrap())
        .collect();
    for object in &mut theirs {
        object["apiVersion"] = json!("v1");
        object["kind"] = json!("ConfigMap");
    }
    assert_eq!(ours, theirs);
    assert_eq!(objects[0].labels.get("app"), Some("web"));
}

#[tokio::test]
async fn a_watch_begins_with_the_state_and_goes_on_with_changes() {
    let (server, configmaps) = start().await;
    create(&configmaps, "a").await;
    let source = ServerSource::all(&server.handle(), ("", "v1", "configmaps")).unwrap();
    let start = WatchStart::InitialEvents(Freshness::MostRecent);
    let mut stream = watch(&source, start).await;
    assert_eq!(
        read(&mut *stream, 2).await,
        ["added default/a", "end of the state"]
    );

    let change = Patch::Merge(json!({"data": {"is": "blue"}}));
    let parameters = PatchParams::default();
    configmaps.patch("a", &parameters, &change).await.unwrap();
    let parameters = DeleteParams::default();
    configmaps.delete("a", &parameters).await.unwrap();
    assert_eq!(
        read(&mut *stream, 2).await,
        ["modified default/a", "deleted default/a"]
    );
}

#[tokio::test]
async fn a_kind_that_is_stored_in_another_form_is_refused() {
    let (server, _) = start().await;
    assert!(ServerSource::all(&server.handle(), ("", "v1", "gadgets")).is_err());
    assert!(ServerSource::all(&server.handle(), ("events.k8s.io", "v1", "events")).is_err());
}

#[tokio::test]
async fn a_version_of_another_server_is_expired() {
    let (server, _) = start().await;
    let source = ServerSource::all(&server.handle(), ("", "v1", "configmaps")).unwrap();
    let options = WatchOptions {
        start: WatchStart::After(Version::Text("abc".into())),
        timeout: Duration::from_secs(300),
    };
    let error = source.watch(&options).await;
    assert!(matches!(error, Err(SourceError::Expired { .. })));
}
