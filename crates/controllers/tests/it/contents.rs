//! What every namespace is given.

use serde_json::json;

use crate::stage::Stage;

const ACCOUNTS: &str = "/api/v1/serviceaccounts";
const CONFIG_MAPS: &str = "/api/v1/configmaps";

#[tokio::test]
async fn every_namespace_gets_its_default_account_and_gets_it_back() {
    let stage = Stage::bare().await;
    let mut watch = stage.watch(ACCOUNTS).await;
    let mut stage = stage;
    stage.control("serviceaccount");
    let mut homes = Vec::new();
    while homes.len() < 4 {
        let (kind, account) = watch.next().await;
        assert_eq!(
            (kind, &account["metadata"]["name"]),
            ("ADDED", &json!("default"))
        );
        homes.push(
            account["metadata"]["namespace"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    homes.sort();
    assert_eq!(
        homes,
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
    let path = "/api/v1/namespaces/default/serviceaccounts/default";
    stage.ask("DELETE", path, None).await;
    watch.until("DELETED", "default").await;
    watch.until("ADDED", "default").await;
    stage.end().await;
}

#[tokio::test]
async fn every_namespace_gets_the_root_certificate_and_keeps_it() {
    let stage = Stage::with("root-ca").await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let namespace = json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "new"}});
    stage.create("/api/v1/namespaces", namespace).await;
    let map = loop {
        let map = watch.until("ADDED", "kube-root-ca.crt").await;
        if map["metadata"]["namespace"] == "new" {
            break map;
        }
    };
    let certificate = map["data"]["ca.crt"].as_str().unwrap();
    assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"));
    let path = "/api/v1/namespaces/kube-system/secrets/listwatch-cluster-authority";
    assert_eq!(stage.ask("GET", path, None).await.0, 200);
    let path = "/api/v1/namespaces/new/configmaps/kube-root-ca.crt";
    let patch = json!({"data": {"ca.crt": "forged"}});
    stage.ask("PATCH", path, Some(patch)).await;
    let mut now = json!("forged");
    while now == "forged" {
        let map = watch.until("MODIFIED", "kube-root-ca.crt").await;
        now = map["data"]["ca.crt"].clone();
    }
    assert_eq!(now, certificate);
    stage.end().await;
}
