//! Selectors: who is listed, and what a watch tells when an object enters or leaves.

use serde_json::json;

use super::{CONFIG_MAPS, create};
use crate::{
    client::version,
    running::{TestServer, start_server},
};

const PODS: &str = "/api/v1/namespaces/default/pods";

async fn label(server: &TestServer, name: &str, value: &str) -> u64 {
    let patch = json!({"metadata": {"labels": {"s": value}}});
    let path = format!("{CONFIG_MAPS}/{name}");
    version(&server.merge(&path, &patch).await.ok())
}

#[tokio::test]
async fn an_object_that_enters_is_added_and_one_that_leaves_is_deleted() {
    let server = start_server().await;
    create(&server, "a").await;
    let path = format!("{CONFIG_MAPS}?watch=1&labelSelector=s%3Dx");
    let mut events = server.watch(&path).await;
    let entered = label(&server, "a", "x").await;
    let patch = json!({"data": {"k": "1"}});
    let item = format!("{CONFIG_MAPS}/a");
    let changed = server.merge(&item, &patch).await.ok();
    let left = label(&server, "a", "y").await;
    server.merge(&item, &json!({"data": {"k": "2"}})).await.ok();
    let entered_again = label(&server, "a", "x").await;
    server.delete(&item).await.ok();

    let told = events
        .shows(&["ADDED a", "MODIFIED a", "DELETED a", "ADDED a", "DELETED a"])
        .await;
    assert_eq!(told[0].version(), entered);
    assert_eq!(told[1].object, changed);
    let mut last_selected = changed;
    last_selected["metadata"]["resourceVersion"] = json!(left.to_string());
    assert_eq!(told[2].object, last_selected, "as it last was, told anew");
    assert_eq!(told[3].version(), entered_again);
    assert_eq!(told[4].object["metadata"]["labels"]["s"], "x");
}

#[tokio::test]
async fn a_resumed_watch_tells_the_same_transitions() {
    let server = start_server().await;
    let start = version(&create(&server, "a").await);
    for value in ["x", "y", "x"] {
        label(&server, "a", value).await;
    }
    let path = format!("{CONFIG_MAPS}?watch=1&labelSelector=s%3Dx&resourceVersion={start}");
    let mut events = server.watch(&path).await;
    events.shows(&["ADDED a", "DELETED a", "ADDED a"]).await;
}

#[tokio::test]
async fn pods_move_between_watches_of_nodes_and_phases() {
    let server = start_server().await;
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let on_node = format!("{PODS}?watch=1&fieldSelector=spec.nodeName%3Dnode-1");
    let mut on_node = server.watch(&on_node).await;
    let pending = format!("{PODS}?watch=1&fieldSelector=status.phase%3DPending");
    let mut pending = server.watch(&pending).await;
    server.post(PODS, &pod).await.created();
    pending.shows(&["ADDED p"]).await;

    let binding = json!({"metadata": {"name": "p"}, "target": {"name": "node-1"}});
    let bound = server.post(&format!("{PODS}/p/binding"), &binding).await;
    bound.created();
    on_node.shows(&["ADDED p"]).await;
    pending.shows(&["MODIFIED p"]).await;

    let running = json!({"status": {"phase": "Running"}});
    let status = format!("{PODS}/p/status");
    server.merge(&status, &running).await.ok();
    on_node.shows(&["MODIFIED p"]).await;
    pending.shows(&["DELETED p"]).await;
}

#[tokio::test]
async fn every_operator_of_a_label_selector_selects() {
    let server = start_server().await;
    for (name, labels) in [
        ("none", json!({})),
        ("web", json!({"app": "web", "n": "5"})),
        ("db", json!({"app": "db", "n": "10"})),
        ("empty", json!({"app": ""})),
    ] {
        let object = json!({"metadata": {"name": name, "labels": labels}});
        server.post(CONFIG_MAPS, &object).await.created();
    }
    for (selector, expected) in [
        ("app=web", ["web"].as_slice()),
        ("app==web", &["web"]),
        ("app!=web", &["db", "empty", "none"]),
        ("app in (web,db)", &["db", "web"]),
        ("app in (web, )", &["empty", "web"]),
        ("app notin (web)", &["db", "empty", "none"]),
        ("app", &["db", "empty", "web"]),
        ("!app", &["none"]),
        ("n>7", &["db"]),
        ("n<7", &["web"]),
        ("app,n>1,app!=db", &["web"]),
        ("app=", &["empty"]),
        ("", &["db", "empty", "none", "web"]),
    ] {
        let encoded: String = selector
            .bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect();
        let path = format!("{CONFIG_MAPS}?labelSelector={encoded}");
        let found = server.get(&path).await.item_names();
        assert_eq!(found, expected, "{selector}");
    }
}

#[tokio::test]
async fn every_operator_of_a_field_selector_selects() {
    let server = start_server().await;
    for name in ["a", "b"] {
        create(&server, name).await;
    }
    for (selector, expected) in [
        ("metadata.name=a", ["a"].as_slice()),
        ("metadata.name==a", &["a"]),
        ("metadata.name!=a", &["b"]),
        ("metadata.namespace=default", &["a", "b"]),
        ("metadata.namespace=other", &[]),
        ("metadata.name=a,metadata.name=b", &[]),
        ("metadata.name!=a,metadata.name!=b", &[]),
    ] {
        let encoded = selector.replace('=', "%3D").replace('!', "%21");
        let path = format!("{CONFIG_MAPS}?fieldSelector={encoded}");
        let found = server.get(&path).await.item_names();
        assert_eq!(found, expected, "{selector}");
    }
}

#[tokio::test]
async fn kinds_have_field_selectors_of_their_own() {
    let server = start_server().await;
    let secret = json!({"metadata": {"name": "s"}, "type": "example.com/x"});
    let secrets = "/api/v1/namespaces/default/secrets";
    server.post(secrets, &secret).await.created();
    let unschedulable = json!({"metadata": {"name": "n"}, "spec": {"unschedulable": true}});
    server.post("/api/v1/nodes", &unschedulable).await.created();
    for (path, expected) in [
        ("/api/v1/secrets?fieldSelector=type%3Dexample.com/x", 1),
        ("/api/v1/secrets?fieldSelector=type%3DOpaque", 0),
        ("/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue", 1),
        ("/api/v1/nodes?fieldSelector=spec.unschedulable%3Dfalse", 0),
        ("/api/v1/namespaces?fieldSelector=status.phase%3DActive", 4),
        ("/api/v1/services?fieldSelector=spec.type%3DClusterIP", 1),
    ] {
        let found = server.get(path).await.item_names();
        assert_eq!(found.len(), expected, "{path}");
    }
}

#[tokio::test]
async fn an_unknown_field_is_no_selector() {
    let server = start_server().await;
    for watch in ["", "&watch=1"] {
        let path = format!("{CONFIG_MAPS}?fieldSelector=spec.x%3D1{watch}");
        let message = "\"spec.x\" is not a known field selector: only \"metadata.name\", \
                       \"metadata.namespace\"";
        server.get(&path).await.says(400, message);
        let path = format!("{PODS}?fieldSelector=spec.x%3D1{watch}");
        let message = "field label not supported: spec.x";
        server.get(&path).await.says(400, message);
    }
}

#[tokio::test]
async fn a_field_that_is_left_out_has_the_value_that_this_means() {
    let server = start_server().await;
    let template = json!({
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let mut ending = template.clone();
    ending["spec"]["restartPolicy"] = json!("Never");
    let default = "/api/v1/namespaces/default";
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    for (path, object) in [
        (
            "/api/v1/nodes".to_owned(),
            json!({"metadata": {"name": "x"}}),
        ),
        (
            format!("{default}/pods"),
            json!({"metadata": {"name": "x"}, "spec": template["spec"]}),
        ),
        (
            format!("{default}/replicationcontrollers"),
            json!({
                "metadata": {"name": "x"},
                "spec": {"selector": {"a": "b"}, "template": template},
            }),
        ),
        (
            jobs.to_owned(),
            json!({"metadata": {"name": "x"}, "spec": {"template": ending}}),
        ),
        (
            format!("{default}/events"),
            json!({
                "metadata": {"name": "x"},
                "involvedObject": {"namespace": "default"},
                "reportingComponent": "x.io/c",
            }),
        ),
    ] {
        server.post(&path, &object).await.created();
    }
    for (path, selector) in [
        ("/api/v1/nodes", "spec.unschedulable=false"),
        ("/api/v1/pods", "spec.hostNetwork=false"),
        ("/api/v1/pods", "spec.nodeName="),
        ("/api/v1/pods", "spec.nodeName!=n"),
        ("/api/v1/pods", "status.podIP="),
        ("/api/v1/pods", "status.nominatedNodeName="),
        ("/api/v1/replicationcontrollers", "status.replicas=0"),
        ("/apis/batch/v1/jobs", "status.successful=0"),
        ("/api/v1/events", "source=x.io/c"),
        ("/api/v1/events", "reportingComponent=x.io/c"),
        ("/api/v1/events", "involvedObject.name="),
    ] {
        let encoded = selector.replace('=', "%3D").replace('!', "%21");
        let found = server.get(&format!("{path}?fieldSelector={encoded}")).await;
        assert_eq!(found.item_names(), ["x"], "{path} {selector}");
    }
    for (path, selector) in [
        ("/api/v1/nodes", "spec.unschedulable=true"),
        ("/api/v1/nodes", "spec.unschedulable="),
        ("/api/v1/pods", "spec.hostNetwork=true"),
        ("/api/v1/pods", "spec.nodeName!="),
        ("/apis/batch/v1/jobs", "status.successful!=0"),
    ] {
        let encoded = selector.replace('=', "%3D").replace('!', "%21");
        let found = server.get(&format!("{path}?fieldSelector={encoded}")).await;
        assert!(found.item_names().is_empty(), "{path} {selector}");
    }
}
