//! What only a kubelet could answer, and what is said instead.

use http::Method;
use serde_json::json;

use crate::running::{TestServer, start_server};

const PODS: &str = "/api/v1/namespaces/default/pods";

/// The frame of a request for a certificate, in base64, with nothing in it.
const SIGNING_REQUEST: &str = "\
    LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUFBPQotLS0tLUVORCBDRVJU\
    SUZJQ0FURSBSRVFVRVNULS0tLS0K";

/// A server with a pod that no node has taken, and one that a node has.
async fn two_pods() -> TestServer {
    let server = start_server().await;
    let container = json!({"name": "c", "image": "i"});
    for spec in [
        json!({"containers": [container]}),
        json!({"containers": [container], "nodeName": "node-1"}),
    ] {
        let name = spec.get("nodeName").map_or("waiting", |_| "taken");
        let pod = json!({"metadata": {"name": name}, "spec": spec});
        server.post(PODS, &pod).await.created();
    }
    server
}

#[tokio::test]
async fn a_pod_that_no_node_has_taken_has_empty_logs_and_runs_nothing() {
    let server = two_pods().await;
    let log = server.get(&format!("{PODS}/waiting/log")).await;
    assert_eq!((log.code, log.text().as_str()), (200, ""));
    for part in ["exec?command=ls", "attach", "portforward"] {
        let path = format!("{PODS}/waiting/{part}");
        let refusal = "pod waiting does not have a host assigned";
        server.get(&path).await.says(400, refusal);
        let posted = server.call(Method::POST, &path).answer().await;
        posted.says(400, refusal);
    }
    let proxy = server.get(&format!("{PODS}/waiting/proxy")).await;
    proxy.says(400, "address not allowed");
}

#[tokio::test]
async fn a_pod_on_a_node_says_that_nothing_runs_in_it() {
    let server = two_pods().await;
    for part in ["log", "exec", "attach", "portforward", "proxy"] {
        let answer = server.get(&format!("{PODS}/taken/{part}")).await;
        let message = format!(
            "nothing runs in pod \"taken\", since no kubelet runs on node \"node-1\": there is \
             no {part}"
        );
        answer.says(501, &message);
    }
}

#[tokio::test]
async fn who_is_not_there_is_not_found() {
    let server = two_pods().await;
    for path in [
        "/api/v1/namespaces/default/pods/absent/log",
        "/api/v1/namespaces/default/pods/absent/exec",
        "/api/v1/namespaces/default/services/absent/proxy/",
        "/api/v1/nodes/absent/proxy/metrics/cadvisor",
    ] {
        let status = server.get(path).await.refused(404);
        assert_eq!(status["details"]["name"], "absent", "{path}: {status}");
    }
    let log = server.call(Method::POST, &format!("{PODS}/taken/log"));
    log.answer().await.refused(405);
}

#[tokio::test]
async fn nothing_is_behind_services_and_nodes() {
    let server = two_pods().await;
    let metadata = json!({"name": "web"});
    let service = json!({"metadata": metadata, "spec": {"ports": [{"port": 80}]}});
    let place = "/api/v1/namespaces/default";
    server
        .post(&format!("{place}/services"), &service)
        .await
        .created();
    let page = format!("{place}/services/web/proxy/index.html");
    let none = "no endpoints available for service \"web\"";
    server.get(&page).await.says(503, none);
    let subsets = json!([{"addresses": [{"ip": "10.0.0.9"}], "ports": [{"port": 80}]}]);
    let endpoints = json!({"metadata": metadata, "subsets": subsets});
    server
        .post(&format!("{place}/endpoints"), &endpoints)
        .await
        .created();
    let silent = "nothing listens behind service \"web\", since no kubelet runs its pods";
    server.get(&page).await.says(501, silent);
    let node = json!({"metadata": {"name": "node-1"}});
    server.post("/api/v1/nodes", &node).await.created();
    let metrics = server.get("/api/v1/nodes/node-1/proxy/metrics").await;
    metrics.says(501, "no kubelet runs on node \"node-1\": there is no proxy");
}

#[tokio::test]
async fn kinds_that_are_on_their_way_out_say_so() {
    let server = start_server().await;
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let statuses = server.get_as("/api/v1/componentstatuses", table).await;
    assert_eq!(statuses.ok()["kind"], "Table");
    let told = "299 - \"v1 ComponentStatus is deprecated in v1.19+\"";
    assert_eq!(statuses.header("warning"), told);
    let endpoints = server.get("/api/v1/endpoints").await;
    endpoints.ok();
    let told = "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 \
                EndpointSlice\"";
    assert_eq!(endpoints.header("warning"), told);
}

#[tokio::test]
async fn a_request_for_a_certificate_says_who_asks() {
    let server = start_server().await;
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let request = json!({
        "metadata": {"name": "jane"},
        "spec": {"request": SIGNING_REQUEST, "signerName": "example.com/a", "username": "jane",
                 "usages": ["client auth"]},
    });
    let created = server.post(path, &request).await.created();
    assert_eq!(created["spec"]["username"], "system:unsecured");
    let groups = json!(["system:masters", "system:authenticated"]);
    assert_eq!(created["spec"]["groups"], groups);
}
