//! What a test may count on.

#![cfg(test)]

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, ListParams, PostParams},
};
use listwatch::{Condition, Decoder, KubernetesSource, Watched, wait_until};
use listwatch_testing::{Choice, Controller, Options, TestServer};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

fn named<K: DeserializeOwned>(name: &str) -> K {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

/// Waits until an object is as it should be.
async fn wait<K>(client: Client, key: &str, condition: Condition<K>)
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
{
    let watched = Watched::Source {
        source: Arc::new(KubernetesSource::all::<K>(client)),
        decoder: Decoder::<K>::json(),
    };
    let (key, patience) = (key.into(), Duration::from_secs(30));
    let met = wait_until(&watched, &key, &condition, patience).await;
    met.unwrap();
}

#[tokio::test]
async fn servers_of_one_process_know_nothing_of_each_other() {
    let one = TestServer::without_controllers().await.unwrap();
    let two = TestServer::without_controllers().await.unwrap();
    let maps = |client: Client| Api::<ConfigMap>::default_namespaced(client);
    let color = named("color");
    maps(one.client())
        .create(&PostParams::default(), &color)
        .await
        .unwrap();
    assert!(maps(two.client()).get_opt("color").await.unwrap().is_none());
    assert_ne!(one.url(), two.url());
    one.stop().await;
    let left = maps(two.client())
        .list(&ListParams::default())
        .await
        .unwrap();
    assert!(left.items.is_empty());
}

#[tokio::test]
async fn a_namespace_is_whole_when_it_comes_and_gone_when_it_is_deleted() {
    let server = TestServer::start().await.unwrap();
    let namespaces: Api<Namespace> = Api::all(server.client());
    namespaces
        .create(&PostParams::default(), &named("team"))
        .await
        .unwrap();
    let exists = Condition::<ServiceAccount>::exists();
    wait(server.client(), "team/default", exists).await;
    namespaces
        .delete("team", &DeleteParams::default())
        .await
        .unwrap();
    wait(server.client(), "team", Condition::<Namespace>::deleted()).await;
    server.stop().await;
}

#[tokio::test]
async fn the_controllers_are_a_choice() {
    let options = Options {
        controllers: Choice::only([Controller::Namespace]),
        ..Options::default()
    };
    let server = TestServer::start_with(options).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(server.client());
    namespaces
        .create(&PostParams::default(), &named("team"))
        .await
        .unwrap();
    namespaces
        .delete("team", &DeleteParams::default())
        .await
        .unwrap();
    wait(server.client(), "team", Condition::<Namespace>::deleted()).await;
    let accounts: Api<ServiceAccount> = Api::all(server.client());
    assert!(
        accounts
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

#[tokio::test]
async fn other_programs_find_it_by_its_kubeconfig() {
    let server = TestServer::without_controllers().await.unwrap();
    let file = kube::config::Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &Default::default())
        .await
        .unwrap();
    let client = Client::try_from(config).unwrap();
    let namespaces: Api<Namespace> = Api::all(client);
    assert_eq!(namespaces.get("default").await.unwrap(), {
        let same: Api<Namespace> = Api::all(server.client());
        same.get("default").await.unwrap()
    });
}

/// Not a benchmark: it notices if a start becomes something that a test has to think about.
#[tokio::test]
async fn twenty_servers_start_in_the_time_of_a_breath() {
    let begun = Instant::now();
    let mut servers = Vec::new();
    for _ in 0..20 {
        servers.push(TestServer::start().await.unwrap());
    }
    let each = begun.elapsed() / 20;
    assert!(each < Duration::from_millis(500), "{each:?}");
}
