//! Where services lead: Endpoints and EndpointSlices.

use serde_json::{Value, json};

use crate::stage::Stage;

const SERVICES: &str = "/api/v1/namespaces/default/services";
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn service(spec: Value) -> Value {
    let mut spec = spec;
    spec["selector"] = json!({"app": "web"});
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "labels": {"team": "a"}},
        "spec": spec,
    })
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{
            "name": "c",
            "image": "i",
            "ports": [{"name": "http", "containerPort": 8080}],
        }]},
    })
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

#[tokio::test(start_paused = true)]
async fn a_service_leads_to_the_pods_that_it_selects() {
    let stage = Stage::with_nodes(1).await;
    let mut endpoints = stage.watch(ENDPOINTS).await;
    let mut slices = stage.watch(SLICES).await;
    let ports = json!([{"name": "web", "port": 80, "targetPort": "http"}]);
    let created = stage
        .create(SERVICES, service(json!({"ports": ports})))
        .await;
    let (_, empty) = slices.next().await;
    assert_eq!(count(&empty["endpoints"]), 0);
    let labels = &empty["metadata"]["labels"];
    assert_eq!(labels["kubernetes.io/service-name"], "web");
    assert_eq!(labels["team"], "a");
    assert_eq!(
        labels["endpointslice.kubernetes.io/managed-by"],
        "endpointslice-controller.k8s.io"
    );
    let owner = &empty["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], created["metadata"]["uid"]);
    for name in ["a", "b"] {
        stage.create(PODS, pod(name)).await;
    }
    let is_full = |it: &Value| count(&it["subsets"][0]["addresses"]) == 2;
    let told = endpoints.until_passes("web", is_full).await;
    assert_eq!(told["subsets"][0]["ports"][0]["port"], 8080);
    assert_eq!(told["subsets"][0]["ports"][0]["name"], "web");
    let address = &told["subsets"][0]["addresses"][0];
    assert_eq!(address["targetRef"]["kind"], "Pod");
    assert_eq!(address["nodeName"], "node-1");
    let slice = loop {
        let (_, slice) = slices.next().await;
        let ready = |it: &Value| it["conditions"]["ready"] == true;
        let endpoints = slice["endpoints"].as_array().cloned().unwrap_or_default();
        if endpoints.len() == 2 && endpoints.iter().all(ready) {
            break slice;
        }
    };
    assert_eq!(slice["ports"][0]["port"], 8080);
    stage.delete(&format!("{PODS}/a"), "Background").await;
    let is_less = |it: &Value| count(&it["subsets"][0]["addresses"]) == 1;
    endpoints.until_passes("web", is_less).await;
    stage.delete(&format!("{SERVICES}/web"), "Background").await;
    endpoints.until("DELETED", "web").await;
    let name = slice["metadata"]["name"].as_str().unwrap();
    slices.until("DELETED", name).await;
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_headless_service_needs_no_ports_and_may_name_pods_that_are_not_ready() {
    let stage = Stage::with("endpoint,endpointslice").await;
    let mut endpoints = stage.watch(ENDPOINTS).await;
    let mut slices = stage.watch(SLICES).await;
    stage.create(PODS, pod("a")).await;
    let status = json!({"status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
    }});
    let path = format!("{PODS}/a/status");
    assert_eq!(stage.ask("PATCH", &path, Some(status)).await.0, 200);
    let spec = json!({"clusterIP": "None", "publishNotReadyAddresses": true});
    stage.create(SERVICES, service(spec)).await;
    let is_known = |it: &Value| count(&it["subsets"][0]["addresses"]) == 1;
    let told = endpoints.until_passes("web", is_known).await;
    assert_eq!(told["subsets"][0]["addresses"][0]["ip"], "10.0.0.1");
    assert_eq!(
        told["metadata"]["labels"]["service.kubernetes.io/headless"],
        ""
    );
    let slice = loop {
        let (_, slice) = slices.next().await;
        if count(&slice["endpoints"]) == 1 {
            break slice;
        }
    };
    assert_eq!(slice["endpoints"][0]["conditions"]["ready"], true);
    assert_eq!(slice["endpoints"][0]["conditions"]["serving"], false);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_not_ready_is_told_apart() {
    let stage = Stage::with("endpoint").await;
    let mut endpoints = stage.watch(ENDPOINTS).await;
    let ports = json!([{"port": 80}]);
    stage
        .create(SERVICES, service(json!({"ports": ports})))
        .await;
    stage.create(PODS, pod("a")).await;
    let status = json!({"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}});
    let path = format!("{PODS}/a/status");
    assert_eq!(stage.ask("PATCH", &path, Some(status)).await.0, 200);
    let is_known = |it: &Value| count(&it["subsets"][0]["notReadyAddresses"]) == 1;
    let told = endpoints.until_passes("web", is_known).await;
    assert_eq!(count(&told["subsets"][0]["addresses"]), 0);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn many_pods_are_spread_over_slices_of_a_hundred() {
    let stage = Stage::with_nodes(2).await;
    let mut slices = stage.watch(SLICES).await;
    let ports = json!([{"port": 80}]);
    stage
        .create(SERVICES, service(json!({"ports": ports})))
        .await;
    let set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 120,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    stage.create(sets, set).await;
    let mut sizes = std::collections::BTreeMap::new();
    while sizes.values().sum::<usize>() < 120 {
        let (kind, slice) = slices.next().await;
        let name = slice["metadata"]["name"].as_str().unwrap().to_owned();
        match kind {
            "DELETED" => drop(sizes.remove(&name)),
            _ => drop(sizes.insert(name, count(&slice["endpoints"]))),
        }
        assert!(sizes.values().all(|size| *size <= 100), "{sizes:?}");
    }
    assert_eq!(sizes.len(), 2);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_people_write_for_a_service_is_told_as_slices_too() {
    let stage = Stage::with("endpointslicemirroring").await;
    let mut slices = stage.watch(SLICES).await;
    let mut service = service(json!({"ports": [{"port": 80}]}));
    service["spec"].as_object_mut().unwrap().remove("selector");
    stage.create(SERVICES, service).await;
    let subset = |ip: &str| json!([{"addresses": [{"ip": ip}], "ports": [{"port": 80}]}]);
    let endpoints = json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "web"},
        "subsets": subset("10.1.2.3"),
    });
    stage.create(ENDPOINTS, endpoints).await;
    let (_, slice) = slices.next().await;
    assert_eq!(slice["endpoints"][0]["addresses"], json!(["10.1.2.3"]));
    assert_eq!(slice["ports"][0]["port"], 80);
    let changed = json!({"subsets": subset("10.2.3.4")});
    let path = format!("{ENDPOINTS}/web");
    assert_eq!(stage.ask("PATCH", &path, Some(changed)).await.0, 200);
    let (kind, slice) = slices.next().await;
    assert_eq!(kind, "MODIFIED");
    assert_eq!(slice["endpoints"][0]["addresses"], json!(["10.2.3.4"]));
    stage.delete(&path, "Background").await;
    assert_eq!(slices.next().await.0, "DELETED");
    stage.end().await;
}
