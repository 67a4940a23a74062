//! Every form of a path, and what each one means.

use http::Method;
use serde_json::json;

use crate::{
    client::names,
    running::{TestServer, start_server},
};

/// A server with configmaps `a` and `b` in two namespaces, and a node.
async fn two_namespaces() -> TestServer {
    let server = start_server().await;
    let other = json!({"metadata": {"name": "other"}});
    server.post("/api/v1/namespaces", &other).await.created();
    for (namespace, name) in [("default", "a"), ("default", "b"), ("other", "a")] {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let object = json!({"metadata": {"name": name}});
        server.post(&path, &object).await.created();
    }
    let node = json!({"metadata": {"name": "node-1"}});
    server.post("/api/v1/nodes", &node).await.created();
    server
}

#[tokio::test]
async fn every_collection_path_lists_its_part() {
    let server = two_namespaces().await;
    for (path, expected) in [
        ("/api/v1/configmaps", ["a", "b", "a"].as_slice()),
        ("/api/v1/namespaces/default/configmaps", &["a", "b"]),
        ("/api/v1/namespaces/default/configmaps/", &["a", "b"]),
        ("/api/v1/namespaces/other/configmaps", &["a"]),
        ("/api/v1/namespaces/nowhere/configmaps", &[]),
        ("/api/v1/nodes", &["node-1"]),
        ("/apis/apps/v1/deployments", &[]),
        ("/apis/apps/v1/namespaces/default/deployments", &[]),
    ] {
        assert_eq!(server.get(path).await.item_names(), expected, "{path}");
    }
    let namespaces = server.get("/api/v1/namespaces").await.item_names();
    let expected = [
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
        "other",
    ];
    assert_eq!(namespaces, expected);
}

#[tokio::test]
async fn every_item_path_gets_its_object() {
    let server = two_namespaces().await;
    for (path, kind) in [
        ("/api/v1/nodes/node-1", "Node"),
        ("/api/v1/namespaces/other", "Namespace"),
        ("/api/v1/namespaces/other/configmaps/a", "ConfigMap"),
        ("/api/v1/namespaces/other/configmaps/a/", "ConfigMap"),
        ("/api/v1/namespaces/default/services/kubernetes", "Service"),
    ] {
        assert_eq!(server.get(path).await.ok()["kind"], kind, "{path}");
    }
}

#[tokio::test]
async fn a_list_names_its_kind_and_its_items_do_not() {
    let server = two_namespaces().await;
    let list = server.get("/api/v1/configmaps").await.ok();
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(list["apiVersion"], "v1");
    assert_eq!(names(&list).len(), 3);
    assert!(list["items"][0].get("kind").is_none());
    let empty = server.get("/apis/apps/v1/deployments").await;
    assert!(empty.text().contains(r#""items":[]"#), "{}", empty.text());
}

#[tokio::test(start_paused = true)]
async fn every_old_watch_path_watches_its_part() {
    let server = two_namespaces().await;
    for (path, expected) in [
        (
            "/api/v1/watch/configmaps",
            ["ADDED a", "ADDED b", "ADDED a"].as_slice(),
        ),
        (
            "/api/v1/watch/namespaces/default/configmaps",
            &["ADDED a", "ADDED b"],
        ),
        (
            "/api/v1/watch/namespaces/default/configmaps/b",
            &["ADDED b"],
        ),
        ("/api/v1/watch/nodes", &["ADDED node-1"]),
        ("/api/v1/watch/nodes/node-1", &["ADDED node-1"]),
        ("/api/v1/watch/namespaces/other", &["ADDED other"]),
        ("/api/v1/watch/nodes/absent", &["BOOKMARK"]),
        (
            "/api/v1/watch/namespaces",
            &[
                "ADDED default",
                "ADDED kube-node-lease",
                "ADDED kube-public",
                "ADDED kube-system",
                "ADDED other",
            ],
        ),
    ] {
        let timed = format!("{path}?timeoutSeconds=1&allowWatchBookmarks=true");
        let told = server.watch(&timed).await.rest().await;
        let told: Vec<String> = told.iter().map(|event| event.shown()).collect();
        assert_eq!(told, expected, "{path}, and no mark of the initial events");
    }
}

#[tokio::test]
async fn an_old_watch_path_with_a_name_follows_that_object_alone() {
    let server = two_namespaces().await;
    let path = "/api/v1/watch/namespaces/default/configmaps/b";
    let mut events = server.watch(path).await;
    events.shows(&["ADDED b"]).await;
    for name in ["a", "b"] {
        let item = format!("/api/v1/namespaces/default/configmaps/{name}");
        let patch = json!({"data": {"k": "v"}});
        server.merge(&item, &patch).await.ok();
    }
    events.shows(&["MODIFIED b"]).await;
}

#[tokio::test]
async fn an_old_watch_path_does_not_agree_with_a_selector_for_another_name() {
    let server = two_namespaces().await;
    let path = "/api/v1/watch/namespaces/default/configmaps/b";
    let other = format!("{path}?fieldSelector=metadata.name%3Da");
    let message = "fieldSelector metadata.name doesn't match requested name";
    server.get(&other).await.says(400, message);
    let same = format!("{path}?fieldSelector=metadata.name%3Db");
    server.watch(&same).await.shows(&["ADDED b"]).await;
}

#[tokio::test]
async fn an_item_is_not_watched_by_a_parameter() {
    let server = two_namespaces().await;
    let path = "/api/v1/namespaces/default/configmaps/a?watch=1";
    assert_eq!(server.get(path).await.ok()["kind"], "ConfigMap");
}

#[tokio::test]
async fn one_name_of_a_collection_can_be_listed_and_watched() {
    let server = two_namespaces().await;
    let path = "/api/v1/configmaps?fieldSelector=metadata.name%3Da";
    assert_eq!(server.get(path).await.item_names(), ["a", "a"]);
    let one = format!("{path}%2Cmetadata.namespace%3Dother&watch=1");
    let mut events = server.watch(&one).await;
    let told = events.shows(&["ADDED a"]).await;
    assert_eq!(told[0].object["metadata"]["namespace"], "other");
}

#[tokio::test]
async fn a_kind_is_not_found_in_the_wrong_scope() {
    let server = two_namespaces().await;
    for path in [
        "/api/v1/namespaces/default/nodes",
        "/api/v1/namespaces/default/nodes/node-1",
        "/api/v1/watch/namespaces/default/nodes",
        "/api/v1/configmaps/a",
        "/api/v1/watch/configmaps/a",
        "/apis/apps/v1/namespaces/default/nodes",
        "/api/v1/nosuch",
        "/api/v1/namespaces/default/nosuch",
        "/api/v1/namespaces/default/configmaps/a/nosuch",
        "/api/v1/namespaces/default/configmaps/a/status",
        "/api/v1/watch/namespaces/default/pods/a/status",
    ] {
        let status = server.get(path).await.refused(404);
        let message = "the server could not find the requested resource";
        assert_eq!(status["message"], message, "{path}");
        assert_eq!(status["reason"], "NotFound", "{path}");
        assert_eq!(status["details"], json!({}), "{path}");
    }
    let node = json!({"metadata": {"name": "node-2"}});
    let through_namespace = "/api/v1/namespaces/default/nodes";
    server.post(through_namespace, &node).await.refused(404);
}

#[tokio::test]
async fn an_unknown_version_of_a_known_group_is_a_resource_that_is_not_found() {
    let server = start_server().await;
    for path in [
        "/apis/apps/v7/deployments",
        "/apis/apps/v7",
        "/api/v2/pods",
        "/api/v2",
    ] {
        let message = "the server could not find the requested resource";
        server.get(path).await.says(404, message);
    }
}

#[tokio::test]
async fn an_unknown_group_is_a_page_that_is_not_found() {
    let server = start_server().await;
    for path in ["/apis/nosuch.io/v1/foos", "/nosuch", "/apis/nosuch.io"] {
        let answer = server.get(path).await;
        assert_eq!(answer.code, 404, "{path}");
        assert_eq!(answer.text(), "404 page not found\n", "{path}");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    }
}

#[tokio::test]
async fn a_method_that_a_path_does_not_know_is_not_allowed() {
    let server = two_namespaces().await;
    for (method, path) in [
        (Method::POST, "/api/v1/namespaces/default/configmaps/a"),
        (Method::PUT, "/api/v1/namespaces/default/configmaps"),
        (Method::PATCH, "/api/v1/namespaces/default/configmaps"),
        (Method::POST, "/api/v1/configmaps"),
        (Method::DELETE, "/api/v1/configmaps"),
        (Method::DELETE, "/api/v1/watch/nodes"),
        (Method::OPTIONS, "/api/v1/namespaces/default/configmaps"),
        (Method::TRACE, "/api/v1/namespaces/default/configmaps"),
        (Method::POST, "/version"),
    ] {
        let answer = server.call(method.clone(), path).answer().await;
        let status = answer.refused(405);
        assert_eq!(status["reason"], "MethodNotAllowed", "{method} {path}");
        let message = "the server does not allow this method on the requested resource";
        assert_eq!(status["message"], message, "{method} {path}");
    }
}

#[tokio::test]
async fn names_with_colons_are_found_however_they_are_written() {
    let server = start_server().await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    for name in ["system:a", "system:B@c"] {
        let role = json!({"metadata": {"name": name}, "rules": []});
        server.post(roles, &role).await.created();
    }
    for written in ["system:a", "system%3Aa", "system%3aa", "%73ystem:a"] {
        let role = server.get(&format!("{roles}/{written}")).await.ok();
        assert_eq!(role["metadata"]["name"], "system:a", "{written}");
    }
    let page = server.get(&format!("{roles}?limit=1")).await.ok();
    assert_eq!(names(&page), ["system:B@c"]);
    let token = page["metadata"]["continue"].as_str().unwrap();
    let rest = server.get(&format!("{roles}?continue={token}")).await;
    assert_eq!(rest.item_names(), ["system:a"]);
}
