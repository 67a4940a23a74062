//! POST: what a new object gets, and what it may not bring.

use listwatch_server::{Settings, clock::Clock, random::Random};
use serde_json::json;

use super::{CONFIG_MAPS, config_map};
use crate::running::{start_server, start_with};

#[tokio::test]
async fn a_new_object_gets_an_identity() {
    let settings = Settings {
        clock: Clock::simulated(|| "2026-01-02T03:04:05.678Z".parse().unwrap()),
        random: Random::seeded(1),
        ..Settings::default()
    };
    let server = start_with(settings).await;
    let created = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    assert_eq!(created["kind"], "ConfigMap");
    assert_eq!(created["apiVersion"], "v1");
    let metadata = &created["metadata"];
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["creationTimestamp"], "2026-01-02T03:04:05Z");
    let uid = metadata["uid"].as_str().unwrap();
    assert_eq!(uid.len(), 36);
    assert_eq!(uid.as_bytes()[14], b'4', "a random UUID: {uid}");
    let path = format!("{CONFIG_MAPS}/a");
    assert_eq!(server.get(&path).await.ok(), created);
}

#[tokio::test]
async fn what_a_client_claims_of_a_new_object_is_not_believed() {
    let server = start_server().await;
    let claims = json!({"metadata": {
        "name": "a",
        "uid": "mine",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "generation": 7,
    }});
    let created = server.post(CONFIG_MAPS, &claims).await.created();
    let metadata = &created["metadata"];
    assert_ne!(metadata["uid"], "mine");
    assert_ne!(metadata["creationTimestamp"], "2001-01-01T00:00:00Z");
    assert!(metadata.get("deletionTimestamp").is_none());
    assert!(metadata.get("deletionGracePeriodSeconds").is_none());
    assert!(metadata.get("generation").is_none());
}

#[tokio::test]
async fn an_object_of_the_whole_cluster_loses_a_namespace_it_came_with() {
    let server = start_server().await;
    let node = json!({"metadata": {"name": "n", "namespace": "default"}});
    let created = server.post("/api/v1/nodes", &node).await.created();
    assert!(created["metadata"].get("namespace").is_none());
}

#[tokio::test]
async fn a_name_is_made_up_from_its_beginning() {
    let server = start_server().await;
    let object = json!({"metadata": {"generateName": "web-"}});
    let mut names = Vec::new();
    for _ in 0..20 {
        let created = server.post(CONFIG_MAPS, &object).await.created();
        assert_eq!(created["metadata"]["generateName"], "web-");
        names.push(created["metadata"]["name"].as_str().unwrap().to_owned());
    }
    for name in &names {
        let made_up = name.strip_prefix("web-").unwrap();
        assert_eq!(made_up.len(), 5, "{name}");
        let alphabet = "bcdfghjklmnpqrstvwxz2456789";
        assert!(made_up.chars().all(|letter| alphabet.contains(letter)));
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 20, "all different");
}

#[tokio::test]
async fn a_long_beginning_is_cut_and_a_name_goes_before_it() {
    let server = start_server().await;
    let long = json!({"metadata": {"generateName": "x".repeat(80)}});
    let created = server.post(CONFIG_MAPS, &long).await.created();
    let name = created["metadata"]["name"].as_str().unwrap();
    assert_eq!(name.len(), 63);
    assert!(name.starts_with(&"x".repeat(58)));
    let both = json!({"metadata": {"name": "a", "generateName": "b-"}});
    let created = server.post(CONFIG_MAPS, &both).await.created();
    assert_eq!(created["metadata"]["name"], "a");
}

#[tokio::test]
async fn of_many_creates_of_one_name_one_succeeds() {
    let server = start_server().await;
    let creates = (0..16).map(|_| {
        let client = (*server).clone();
        tokio::spawn(async move { client.post(CONFIG_MAPS, &config_map("one")).await.code })
    });
    let mut codes = Vec::new();
    for create in creates.collect::<Vec<_>>() {
        codes.push(create.await.unwrap());
    }
    codes.sort_unstable();
    assert_eq!(codes[0], 201);
    assert_eq!(codes[1..], [409; 15]);
}

#[tokio::test]
async fn a_body_may_be_yaml() {
    let server = start_server().await;
    let yaml = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\ndata:\n  k: |\n    two\n    \
                lines\n  number: \"1\"\n";
    let call = server.call(http::Method::POST, CONFIG_MAPS);
    let created = call.body("application/yaml", yaml).answer().await.created();
    assert_eq!(created["data"], json!({"k": "two\nlines\n", "number": "1"}));
}

#[tokio::test]
async fn the_namespaces_and_the_service_of_the_api_are_there_from_the_start() {
    let server = start_server().await;
    let service = "/api/v1/namespaces/default/services/kubernetes";
    let service = server.get(service).await.ok();
    assert_eq!(service["spec"]["type"], "ClusterIP");
    let port = &service["spec"]["ports"][0]["targetPort"];
    let endpoints = "/api/v1/namespaces/default/endpoints/kubernetes";
    let endpoints = server.get(endpoints).await.ok();
    assert_eq!(
        endpoints["subsets"][0]["addresses"],
        json!([{"ip": "127.0.0.1"}])
    );
    assert_eq!(&endpoints["subsets"][0]["ports"][0]["port"], port);
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices\
                  ?labelSelector=kubernetes.io/service-name%3Dkubernetes";
    let slices = server.get(slices).await.ok();
    assert_eq!(
        slices["items"][0]["endpoints"][0]["addresses"],
        json!(["127.0.0.1"])
    );
    assert_eq!(&slices["items"][0]["ports"][0]["port"], port);
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        let namespace = server.get(&format!("/api/v1/namespaces/{name}")).await.ok();
        assert_eq!(namespace["status"]["phase"], "Active");
        assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
        let label = &namespace["metadata"]["labels"]["kubernetes.io/metadata.name"];
        assert_eq!(label, name);
    }
}
