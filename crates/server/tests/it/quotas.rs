//! Quotas bound what a namespace has, and tell how much of it there is.

use serde_json::{Value, json};

use crate::running::{CONFIG_MAPS, TestServer, start_server};

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";
const PODS: &str = "/api/v1/namespaces/default/pods";
const SERVICES: &str = "/api/v1/namespaces/default/services";

async fn limit(server: &TestServer, spec: Value) {
    let quota = json!({"metadata": {"name": "q"}, "spec": spec});
    server.post(QUOTAS, &quota).await.created();
    server.has_settled().await;
}

async fn used(server: &TestServer) -> Value {
    server.get(&format!("{QUOTAS}/q")).await.ok()["status"]["used"].clone()
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn pod(name: &str, requests: Value) -> Value {
    let resources = json!({"requests": requests});
    json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]},
    })
}

#[tokio::test]
async fn a_quota_counts_what_is_there_and_what_comes_and_goes() {
    let server = start_server().await;
    server
        .post(CONFIG_MAPS, &config_map("before"))
        .await
        .created();
    limit(
        &server,
        json!({"hard": {"configmaps": "2", "count/deployments.apps": "1"}}),
    )
    .await;
    assert_eq!(
        used(&server).await,
        json!({"configmaps": "1", "count/deployments.apps": "0"})
    );
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    assert_eq!(used(&server).await["configmaps"], "2");
    server.has_settled().await;
    server.post(CONFIG_MAPS, &config_map("b")).await.says(
        403,
        "configmaps \"b\" is forbidden: exceeded quota: q, requested: configmaps=1, used: \
         configmaps=2, limited: configmaps=2",
    );
    server.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    assert_eq!(used(&server).await["configmaps"], "1");
    server.post(CONFIG_MAPS, &config_map("b")).await.created();
}

#[tokio::test]
async fn the_last_piece_is_given_once() {
    let server = start_server().await;
    limit(&server, json!({"hard": {"configmaps": "5"}})).await;
    let attempts = (0..12).map(|number| {
        let object = config_map(&format!("c{number}"));
        let server = &server;
        async move { server.post(CONFIG_MAPS, &object).await.code }
    });
    let codes = futures_util::future::join_all(attempts).await;
    let made = codes.iter().filter(|code| **code == 201).count();
    let refused = codes.iter().filter(|code| **code == 403).count();
    assert_eq!((made, refused), (5, 7), "{codes:?}");
    assert_eq!(used(&server).await["configmaps"], "5");
}

#[tokio::test]
async fn pods_use_what_they_ask_for_until_they_end() {
    let server = start_server().await;
    let hard = json!({"pods": "5", "requests.cpu": "1", "requests.memory": "1Gi"});
    limit(&server, json!({"hard": hard})).await;
    server
        .post(PODS, &pod("p", json!({"cpu": "600m"})))
        .await
        .says(
            403,
            "pods \"p\" is forbidden: failed quota: q: must specify requests.memory for: c",
        );
    let asked = json!({"cpu": "600m", "memory": "256Mi"});
    server.post(PODS, &pod("p", asked.clone())).await.created();
    let expected = json!({"pods": "1", "requests.cpu": "600m", "requests.memory": "256Mi"});
    assert_eq!(used(&server).await, expected);
    server.has_settled().await;
    server.post(PODS, &pod("q", asked.clone())).await.says(
        403,
        "pods \"q\" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: \
         requests.cpu=600m, limited: requests.cpu=1",
    );
    let ended = json!({"status": {"phase": "Succeeded"}});
    server.merge(&format!("{PODS}/p/status"), &ended).await.ok();
    assert_eq!(used(&server).await["requests.cpu"], "0");
    server.has_settled().await;
    server.post(PODS, &pod("q", asked)).await.created();
}

#[tokio::test]
async fn a_quota_with_a_scope_counts_what_is_in_it() {
    let server = start_server().await;
    limit(
        &server,
        json!({"hard": {"pods": "1"}, "scopes": ["NotBestEffort"]}),
    )
    .await;
    server.post(PODS, &pod("free", json!({}))).await.created();
    server
        .post(PODS, &pod("free-too", json!({})))
        .await
        .created();
    assert_eq!(used(&server).await["pods"], "0");
    server
        .post(PODS, &pod("p", json!({"cpu": "1"})))
        .await
        .created();
    assert_eq!(used(&server).await["pods"], "1");
}

#[tokio::test]
async fn a_changed_quota_is_counted_anew() {
    let server = start_server().await;
    limit(&server, json!({"hard": {"configmaps": "1"}})).await;
    let service = json!({
        "metadata": {"name": "s"},
        "spec": {"type": "NodePort", "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]},
    });
    server.post(SERVICES, &service).await.created();
    server.has_settled().await;
    let change = json!({"spec": {"hard": {"services.nodeports": "3", "configmaps": null}}});
    server.merge(&format!("{QUOTAS}/q"), &change).await.ok();
    let quota = server.get(&format!("{QUOTAS}/q")).await.ok();
    assert_eq!(quota["status"]["hard"], json!({"services.nodeports": "3"}));
    assert_eq!(quota["status"]["used"], json!({"services.nodeports": "1"}));
}
