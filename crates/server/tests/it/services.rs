//! Services get addresses and ports that nobody else has, and give them back.

use std::sync::Arc;

use listwatch_server::Settings;
use listwatch_store::MemoryStore;
use serde_json::{Value, json};

use crate::running::{TestServer, start_on, start_server, start_with};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";
const RANGES: &str = "/apis/networking.k8s.io/v1/servicecidrs";

fn service(name: &str, mut spec: Value) -> Value {
    spec["ports"] = json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]);
    json!({"metadata": {"name": name}, "spec": spec})
}

async fn created(server: &TestServer, name: &str, spec: Value) -> Value {
    let answer = server.post(SERVICES, &service(name, spec)).await;
    assert_eq!(answer.code, 201, "{}", answer.text());
    answer.json()
}

async fn refused(server: &TestServer, object: &Value) -> String {
    let answer = server.post(SERVICES, object).await;
    assert_eq!(answer.code, 422, "{}", answer.text());
    answer.json()["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_service_has_an_address_of_its_own_until_it_goes() {
    let server = start_server().await;
    let made = created(&server, "a", json!({"type": "ClusterIP"})).await;
    let address = made["spec"]["clusterIP"].as_str().unwrap().to_owned();
    assert!(address.starts_with("10.0."), "{address}");
    assert_eq!(made["spec"]["clusterIPs"], json!([address]));
    assert_eq!(made["spec"]["ipFamilies"], json!(["IPv4"]));
    assert_eq!(made["spec"]["ipFamilyPolicy"], "SingleStack");
    let path = format!("{ADDRESSES}/{address}");
    let held = server.get(&path).await.json();
    let holder = json!({"resource": "services", "namespace": "default", "name": "a"});
    assert_eq!(held["spec"]["parentRef"], holder);
    assert_eq!(server.delete(&format!("{SERVICES}/a")).await.code, 200);
    assert_eq!(server.get(&path).await.code, 404);
}

#[tokio::test]
async fn an_address_or_port_that_somebody_has_is_refused() {
    let server = start_server().await;
    let message = refused(&server, &service("a", json!({"clusterIP": "10.0.0.1"}))).await;
    assert_eq!(
        message,
        "Service \"a\" is invalid: spec.clusterIPs: Invalid value: [\"10.0.0.1\"]: failed to \
         allocate IP 10.0.0.1: provided IP is already allocated"
    );
    let message = refused(&server, &service("a", json!({"clusterIP": "1.2.3.4"}))).await;
    assert_eq!(
        message,
        "Service \"a\" is invalid: spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to \
         allocate IP 1.2.3.4: the provided network does not match the current range"
    );
    let with_port = |name: &str, port: i64| {
        let mut object = service(name, json!({"type": "NodePort"}));
        object["spec"]["ports"][0]["nodePort"] = json!(port);
        object
    };
    assert_eq!(
        server.post(SERVICES, &with_port("b", 31234)).await.code,
        201
    );
    assert_eq!(
        refused(&server, &with_port("c", 31234)).await,
        "Service \"c\" is invalid: spec.ports[0].nodePort: Invalid value: 31234: provided port is \
         already allocated"
    );
    assert_eq!(
        refused(&server, &with_port("c", 3)).await,
        "Service \"c\" is invalid: spec.ports[0].nodePort: Invalid value: 3: provided port is not \
         in the valid range. The range of valid ports is 30000-32767"
    );
    assert_eq!(server.delete(&format!("{SERVICES}/b")).await.code, 200);
    assert_eq!(
        server.post(SERVICES, &with_port("c", 31234)).await.code,
        201
    );
}

#[tokio::test]
async fn servers_of_one_store_never_give_the_same_twice() {
    let settings = || Settings {
        service_addresses: "10.7.0.0/28".parse().unwrap(),
        ..Settings::default()
    };
    let store = Arc::new(MemoryStore::new());
    let one = start_on(Arc::clone(&store) as _, settings()).await;
    let other = start_on(store, settings()).await;
    // The first of fourteen addresses is that of the API.
    let mut addresses = std::collections::BTreeSet::new();
    for count in 0..13 {
        let server = if count % 2 == 0 { &one } else { &other };
        let made = created(server, &format!("s{count}"), json!({"type": "NodePort"})).await;
        let port = made["spec"]["ports"][0]["nodePort"].as_i64().unwrap();
        assert!((30_000..=32_767).contains(&port));
        assert!(addresses.insert(made["spec"]["clusterIP"].to_string()));
    }
    let full = one.post(SERVICES, &service("full", json!({}))).await;
    assert_eq!(full.code, 500);
    assert_eq!(
        full.json()["message"],
        "Internal error occurred: failed to allocate a serviceIP for Service \"full\": range is \
         full"
    );
}

#[tokio::test]
async fn what_a_client_leaves_out_of_a_put_stays_allocated() {
    let server = start_server().await;
    let made = created(&server, "a", json!({"type": "NodePort"})).await;
    let path = format!("{SERVICES}/a");
    let put = server
        .put(&path, &service("a", json!({"type": "NodePort"})))
        .await;
    assert_eq!(put.code, 200, "{}", put.text());
    assert_eq!(put.json()["spec"], made["spec"]);
    let external = json!({"spec": {"type": "ExternalName", "externalName": "x.com"}});
    let changed = server.merge(&path, &external).await.json();
    assert_eq!(changed["spec"]["clusterIP"], Value::Null);
    assert_eq!(changed["spec"]["ports"][0]["nodePort"], Value::Null);
    let freed = made["spec"]["clusterIP"].as_str().unwrap();
    assert_eq!(server.get(&format!("{ADDRESSES}/{freed}")).await.code, 404);
}

#[tokio::test]
async fn a_headless_service_has_no_address() {
    let server = start_server().await;
    let made = created(
        &server,
        "a",
        json!({"clusterIP": "None", "selector": {"a": "b"}}),
    )
    .await;
    assert_eq!(made["spec"]["clusterIPs"], json!(["None"]));
    assert_eq!(made["spec"]["ipFamilyPolicy"], "SingleStack");
    let free = created(&server, "b", json!({"clusterIP": "None"})).await;
    assert_eq!(free["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    assert_eq!(free["spec"]["ipFamilyPolicy"], "RequireDualStack");
}

fn both_families() -> Settings {
    Settings {
        service_addresses: "10.7.0.0/24,fd00:7::/112".parse().unwrap(),
        node_ports: "30000-30001".parse().unwrap(),
        ..Settings::default()
    }
}

#[tokio::test]
async fn a_service_has_addresses_of_both_families_if_it_wants_them() {
    let server = start_with(both_families()).await;
    let range = server.get(&format!("{RANGES}/kubernetes")).await.ok();
    let cidrs = json!(["10.7.0.0/24", "fd00:7::/112"]);
    assert_eq!(range["spec"]["cidrs"], cidrs);
    assert_eq!(range["status"]["conditions"][0]["type"], "Ready");
    let plain = created(&server, "plain", json!({})).await;
    assert_eq!(plain["spec"]["ipFamilies"], json!(["IPv4"]));
    assert_eq!(plain["spec"]["ipFamilyPolicy"], "SingleStack");
    let six = created(&server, "six", json!({"ipFamilies": ["IPv6"]})).await;
    assert_eq!(six["spec"]["ipFamilyPolicy"], "SingleStack");
    let address = six["spec"]["clusterIP"].as_str().unwrap();
    assert!(address.starts_with("fd00:7::"), "{address}");
    let held = server.get(&format!("{ADDRESSES}/{address}")).await.ok();
    let labels = &held["metadata"]["labels"];
    assert_eq!(labels["ipaddress.kubernetes.io/ip-family"], "IPv6");
    for policy in ["PreferDualStack", "RequireDualStack"] {
        let wish = json!({"ipFamilyPolicy": policy});
        let both = created(&server, &policy.to_lowercase(), wish).await;
        assert_eq!(both["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
        assert_eq!(both["spec"]["clusterIPs"].as_array().unwrap().len(), 2);
        assert_eq!(both["spec"]["clusterIP"], both["spec"]["clusterIPs"][0]);
    }
}

#[tokio::test]
async fn a_second_address_is_given_and_taken_back_as_the_policy_changes() {
    let server = start_with(both_families()).await;
    let made = created(&server, "a", json!({})).await;
    let path = format!("{SERVICES}/a");
    let policy = |policy: &str| json!({"spec": {"ipFamilyPolicy": policy}});
    let both = server.merge(&path, &policy("PreferDualStack")).await.ok();
    assert_eq!(both["spec"]["clusterIPs"][0], made["spec"]["clusterIP"]);
    let second = both["spec"]["clusterIPs"][1].as_str().unwrap();
    let second = format!("{ADDRESSES}/{second}");
    assert_eq!(server.get(&second).await.code, 200);
    let one = server.merge(&path, &policy("SingleStack")).await.ok();
    assert_eq!(one["spec"]["clusterIPs"], made["spec"]["clusterIPs"]);
    assert_eq!(one["spec"]["ipFamilies"], json!(["IPv4"]));
    assert_eq!(server.get(&second).await.code, 404);
}

#[tokio::test]
async fn a_cluster_of_one_family_refuses_to_require_two() {
    let server = start_server().await;
    let wish = json!({"ipFamilyPolicy": "RequireDualStack"});
    assert_eq!(
        refused(&server, &service("a", wish)).await,
        "Service \"a\" is invalid: spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": \
         this cluster is not configured for dual-stack services"
    );
    let preferred = created(&server, "a", json!({"ipFamilyPolicy": "PreferDualStack"})).await;
    assert_eq!(preferred["spec"]["ipFamilies"], json!(["IPv4"]));
}

#[tokio::test]
async fn ports_are_given_from_the_range_that_was_chosen() {
    let server = start_with(both_families()).await;
    let wish = json!({"type": "NodePort"});
    for name in ["a", "b"] {
        let made = created(&server, name, wish.clone()).await;
        let port = made["spec"]["ports"][0]["nodePort"].as_i64().unwrap();
        assert!((30_000..=30_001).contains(&port), "{port}");
    }
    let full = server.post(SERVICES, &service("c", wish.clone())).await;
    assert_eq!(full.code, 500, "{}", full.text());
    let mut outside = service("c", wish);
    outside["spec"]["ports"][0]["nodePort"] = json!(30_002);
    assert_eq!(
        refused(&server, &outside).await,
        "Service \"c\" is invalid: spec.ports[0].nodePort: Invalid value: 30002: provided port is \
         not in the valid range. The range of valid ports is 30000-30001"
    );
}

#[tokio::test]
async fn a_second_range_can_be_added_to_a_cluster() {
    let store = Arc::new(MemoryStore::new());
    let settings = |text: &str| Settings {
        service_addresses: text.parse().unwrap(),
        ..Settings::default()
    };
    let ranges = [
        ("10.7.0.0/24", json!(["10.7.0.0/24"])),
        (
            "10.7.0.0/24,fd00:7::/112",
            json!(["10.7.0.0/24", "fd00:7::/112"]),
        ),
        ("10.9.0.0/24", json!(["10.7.0.0/24", "fd00:7::/112"])),
    ];
    for (chosen, told) in ranges {
        let server = start_on(Arc::clone(&store) as _, settings(chosen)).await;
        let range = server.get(&format!("{RANGES}/kubernetes")).await.ok();
        assert_eq!(range["spec"]["cidrs"], told);
        server.shutdown().await;
    }
}
