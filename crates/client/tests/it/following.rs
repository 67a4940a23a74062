//! Pages, watches that outlive their connections, and waiting, on a real server.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use listwatch::{
    Condition, Decoder, KubernetesSource, ListerWatcher, Pager, PagerSettings, RawEvent,
    RetryPauses, RetryWatcher, RetryWatcherSettings, SharedInformer, SourceError, Version, Watched,
    pager::PagedPart, retry_on_conflict, wait_until,
};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::timeout};

use crate::{
    proxy::Proxy,
    real_server::{RealServer, client_of},
};

const PATIENCE: Duration = Duration::from_secs(30);

fn api(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

fn source(client: &Client) -> Arc<dyn ListerWatcher> {
    Arc::new(KubernetesSource::namespaced::<ConfigMap>(
        client.clone(),
        "default",
    ))
}

async fn create(client: &Client, name: &str) -> Version {
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    let created = api(client)
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    Version::parse(&created.metadata.resource_version.unwrap()).unwrap()
}

async fn color(client: &Client, name: &str, color: &str) {
    let patch = Patch::Merge(json!({"data": {"color": color}}));
    let options = PatchParams::default();
    api(client).patch(name, &options, &patch).await.unwrap();
}

#[tokio::test]
async fn all_pages_show_the_state_of_the_first() {
    let server = RealServer::start().await;
    let client = server.client();
    for name in ["a", "b", "c", "d", "e"] {
        create(&client, name).await;
    }
    let settings = PagerSettings {
        page_objects: Some(2),
        ..PagerSettings::default()
    };
    let mut pager = Pager::new(source(&client), settings);
    let mut names = Vec::new();
    while let Some(part) = timeout(PATIENCE, pager.next()).await.unwrap() {
        let PagedPart::Items(items) = part.unwrap() else {
            panic!("nothing has expired");
        };
        names.extend(items.into_iter().map(|item| item.unwrap().key.to_string()));
        create(&client, &format!("later-{}", names.len())).await;
    }
    let expected = ["a", "b", "c", "d", "e"].map(|name| format!("default/{name}"));
    assert_eq!(names, expected);
    assert_eq!(pager.pages_begun(), 3);
    assert!(pager.version().is_some());
}

#[tokio::test]
async fn a_watch_goes_on_over_broken_connections_without_gap_or_repetition() {
    let server = RealServer::start().await;
    let client = server.client();
    let proxy = Proxy::start(server.address()).await;
    let start = create(&client, "before").await;
    let settings = RetryWatcherSettings {
        restart_interval: Duration::from_millis(10),
        ..RetryWatcherSettings::default()
    };
    let watched = source(&client_of(proxy.address()));
    let mut watcher = RetryWatcher::new(watched, start, settings);
    let mut names = Vec::new();
    for round in 0..5 {
        for name in ["x", "y"] {
            create(&client, &format!("{name}{round}")).await;
        }
        for _ in 0..2 {
            match timeout(PATIENCE, watcher.next()).await.unwrap() {
                Some(Ok(RawEvent::Added(object))) => names.push(object.key.name().to_owned()),
                other => panic!("{other:?}"),
            }
        }
        proxy.cut();
    }
    let expected = ["x0", "y0", "x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4"];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn a_watch_of_what_nobody_serves_ends() {
    let server = RealServer::start().await;
    let client = server.client();
    let start = create(&client, "a").await;
    let resource = kube::discovery::ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: "Missing".to_owned(),
        plural: "missings".to_owned(),
    };
    let missing = Arc::new(KubernetesSource::dynamic(client, &resource));
    let mut watcher = RetryWatcher::new(missing, start, RetryWatcherSettings::default());
    let ended = timeout(PATIENCE, watcher.next()).await.unwrap();
    assert!(
        matches!(ended, Some(Err(SourceError::Refused { .. }))),
        "{ended:?}"
    );
}

/// The ways to look at objects.
fn ways(client: &Client) -> [Watched<Value>; 2] {
    let informer = SharedInformer::new(source(client), Decoder::json());
    informer.start().unwrap();
    let source = source(client);
    let decoder = Decoder::json();
    [
        Watched::Source { source, decoder },
        Watched::Informer(informer),
    ]
}

#[tokio::test]
async fn an_object_is_waited_for_until_it_is_as_wanted() {
    let server = RealServer::start().await;
    let client = server.client();
    for (number, watched) in ways(&client).iter().enumerate() {
        let name = format!("object-{number}");
        let key = format!("default/{name}").into();
        let change = async {
            create(&client, &name).await;
            color(&client, &name, "red").await;
            color(&client, &name, "blue").await;
        };
        let blue = Condition::json("/data/color", json!("blue"));
        let (found, ()) = tokio::join!(wait_until(watched, &key, &blue, PATIENCE), change);
        assert_eq!(found.unwrap().unwrap().body["data"]["color"], "blue");

        let options = DeleteParams::default();
        let delete = async { drop(api(&client).delete(&name, &options).await.unwrap()) };
        let deleted = Condition::deleted();
        let (gone, ()) = tokio::join!(wait_until(watched, &key, &deleted, PATIENCE), delete);
        assert!(gone.unwrap().is_none());
    }
}

#[tokio::test]
async fn of_many_who_add_to_one_number_none_is_lost() {
    const WRITERS: usize = 8;
    let server = RealServer::start().await;
    create(&server.client(), "sum").await;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let configmaps = api(&server.client());
        let pauses = RetryPauses {
            attempts_max: 100,
            ..RetryPauses::even()
        };
        writers.spawn(retry_on_conflict(pauses, move || {
            add_one(configmaps.clone())
        }));
    }
    for written in timeout(PATIENCE, writers.join_all()).await.unwrap() {
        written.unwrap();
    }
    let sum = api(&server.client()).get("sum").await.unwrap();
    assert_eq!(sum.data.unwrap()["count"], WRITERS.to_string());
}

async fn add_one(configmaps: Api<ConfigMap>) -> Result<(), kube::Error> {
    let mut sum = configmaps.get("sum").await?;
    let data = sum.data.get_or_insert_default();
    let count: usize = data.get("count").map_or(0, |count| count.parse().unwrap());
    data.insert("count".to_owned(), (count + 1).to_string());
    configmaps
        .replace("sum", &PostParams::default(), &sum)
        .await?;
    Ok(())
}
