//! Namespaces, which are held by what is in them.

use serde_json::{Value, json};

use crate::{
    client::version,
    running::{TestServer, start_server},
};

const NAMESPACES: &str = "/api/v1/namespaces";

async fn create(server: &TestServer) -> Value {
    let namespace = json!({"metadata": {"name": "ns"}});
    server.post(NAMESPACES, &namespace).await.created()
}

#[tokio::test]
async fn a_namespace_lives_until_it_is_finalized() {
    let server = start_server().await;
    let created = create(&server).await;
    assert_eq!(created["status"]["phase"], "Active");
    assert_eq!(created["spec"]["finalizers"], json!(["kubernetes"]));
    let label = &created["metadata"]["labels"]["kubernetes.io/metadata.name"];
    assert_eq!(label, "ns");
    let after = version(&created);
    let watch = format!("{NAMESPACES}?watch=1&resourceVersion={after}");
    let mut events = server.watch(&watch).await;

    let item = format!("{NAMESPACES}/ns");
    let marked = server.delete(&item).await.ok();
    assert_eq!(marked["status"]["phase"], "Terminating");
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(server.delete(&item).await.ok(), marked);

    let mut finalized = marked.clone();
    finalized["spec"]["finalizers"] = json!([]);
    server.put(&item, &finalized).await.ok();
    let kept = server.get(&item).await.ok();
    assert_eq!(kept, marked, "the main path cannot finalize");
    let answer = server.put(&format!("{item}/finalize"), &finalized).await;
    assert_eq!(answer.ok()["kind"], "Namespace");
    server.get(&item).await.refused(404);
    let told = events.shows(&["MODIFIED ns", "DELETED ns"]).await;
    assert_eq!(told[0].object, marked);
}

#[tokio::test]
async fn nothing_new_comes_into_a_namespace_that_is_going() {
    let server = start_server().await;
    create(&server).await;
    let inside = format!("{NAMESPACES}/ns/configmaps");
    let object = json!({"metadata": {"name": "x"}});
    server.post(&inside, &object).await.created();
    server.delete(&format!("{NAMESPACES}/ns")).await.ok();

    let late = json!({"metadata": {"name": "late"}});
    let status = server.post(&inside, &late).await.refused(403);
    let message = "configmaps \"late\" is forbidden: unable to create new content in namespace ns \
                   because it is being terminated";
    assert_eq!(status["message"], message);
    let cause = &status["details"]["causes"][0];
    assert_eq!(cause["reason"], "NamespaceTerminating");
    let lease = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/late";
    server.put(lease, &late).await.refused(403);

    let patch = json!({"data": {"k": "v"}});
    server.merge(&format!("{inside}/x"), &patch).await.ok();
    server.delete(&format!("{inside}/x")).await.ok();
}

#[tokio::test]
async fn the_status_of_a_namespace_has_a_path_of_its_own() {
    let server = start_server().await;
    create(&server).await;
    let item = format!("{NAMESPACES}/ns");
    let condition = json!({"type": "Checked", "status": "True"});
    let patch = json!({"status": {"conditions": [condition]}});
    let changed = server.merge(&format!("{item}/status"), &patch).await.ok();
    assert_eq!(changed["status"]["conditions"][0]["type"], "Checked");
    assert_eq!(changed["status"]["phase"], "Active");
}

#[tokio::test]
async fn a_namespace_always_carries_its_name_as_a_label() {
    let server = start_server().await;
    let mut created = create(&server).await;
    created["metadata"]["labels"] = json!({"other": "label"});
    let item = format!("{NAMESPACES}/ns");
    let put = server.put(&item, &created).await.ok();
    let expected = json!({"kubernetes.io/metadata.name": "ns", "other": "label"});
    assert_eq!(put["metadata"]["labels"], expected);
}

#[tokio::test]
async fn the_first_namespaces_cannot_be_deleted() {
    let server = start_server().await;
    for name in ["default", "kube-public", "kube-system"] {
        let status = server
            .delete(&format!("{NAMESPACES}/{name}"))
            .await
            .refused(403);
        let message =
            format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
        assert_eq!(status["message"], message);
        assert_eq!(status["reason"], "Forbidden");
    }
    server
        .delete(&format!("{NAMESPACES}/kube-node-lease"))
        .await
        .ok();
}

#[tokio::test]
async fn namespaces_are_not_deleted_together() {
    let server = start_server().await;
    server.delete(NAMESPACES).await.refused(405);
}
