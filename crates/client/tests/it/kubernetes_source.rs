//! The Kubernetes source, on our own server and on answers made up for it.

mod answers;
mod listing;
mod watching;

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use listwatch::{
    ListerWatcher, RawEvent, RawObject, SourceError, Version,
    lister_watcher::{
        Bookmark, EventStream, Freshness, ListEnd, ListOptions, ListPart, WatchOptions, WatchStart,
    },
    source::kubernetes::KubernetesSource,
};
use serde_json::json;

/// How long anything may take that a test waits for. Far more than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("it happens in time")
}

/// Creates a ConfigMap with a label, and says at which version.
async fn create(client: &Client, namespace: &str, name: &str, tier: &str) -> Version {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let object = json!({
        "metadata": {"name": name, "labels": {"tier": tier}},
        "data": {"of": name},
    });
    let object = serde_json::from_value(object).unwrap();
    let created = api.create(&PostParams::default(), &object).await.unwrap();
    Version::parse(&created.metadata.resource_version.unwrap()).unwrap()
}

async fn delete(client: &Client, name: &str) {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    api.delete(name, &DeleteParams::default()).await.unwrap();
}

fn most_recent() -> ListOptions {
    ListOptions {
        freshness: Freshness::MostRecent,
        limit: None,
        continue_token: None,
    }
}

fn starting(start: WatchStart) -> WatchOptions {
    WatchOptions {
        start,
        timeout: Duration::from_secs(300),
    }
}

/// Lists one page.
async fn list(
    source: &KubernetesSource,
    options: &ListOptions,
) -> Result<(Vec<RawObject>, ListEnd), SourceError> {
    let mut stream = within(source.list(options)).await?;
    let mut objects = Vec::new();
    loop {
        match within(stream.next()).await? {
            ListPart::Items(items) => objects.extend(items.into_iter().map(Result::unwrap)),
            ListPart::End(end) => return Ok((objects, end)),
        }
    }
}

fn keys(objects: &[RawObject]) -> Vec<&str> {
    objects.iter().map(|object| object.key.as_str()).collect()
}

/// `ADDED default/a`, and what else a watch says, as text.
fn line(event: &RawEvent) -> String {
    match event {
        RawEvent::Added(object) => format!("ADDED {}", object.key),
        RawEvent::Modified(object) => format!("MODIFIED {}", object.key),
        RawEvent::Deleted(object) => format!("DELETED {}", object.key),
        RawEvent::Bookmark(Bookmark::Progress(_)) => "BOOKMARK".to_owned(),
        RawEvent::Bookmark(Bookmark::InitialEventsEnd(_)) => "END OF STATE".to_owned(),
        RawEvent::Unreadable(unreadable) => format!("UNREADABLE: {}", unreadable.reason),
    }
}

/// Waits until so many events have come.
async fn lines(stream: &mut dyn EventStream, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    while lines.len() < count {
        let events = within(stream.next()).await;
        let events = events.expect("the watch goes on").unwrap();
        lines.extend(events.iter().map(line));
    }
    lines
}
