//! Paths and names that try to leave their place.

use http::Method;
use serde_json::json;

use super::{CONFIG_MAPS, soon};
use crate::running::{TestServer, start_server};

/// Sends a path byte for byte and returns the code of the answer.
async fn code_of(server: &TestServer, path: &str) -> u16 {
    let mut connection = server.raw().await;
    let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    connection.send(head).await;
    let answer = soon(connection.read_to_end()).await;
    answer[9..12].parse().unwrap()
}

#[tokio::test]
async fn no_spelling_of_a_path_reaches_another_place() {
    let server = start_server().await;
    let secret = json!({"metadata": {"name": "s"}});
    server
        .post("/api/v1/namespaces/default/secrets", &secret)
        .await
        .created();
    for path in [
        "/api/v1/namespaces/default/configmaps/../secrets/s",
        "/api/v1/namespaces/default/configmaps/..%2fsecrets%2fs",
        "/api/v1/namespaces/default/configmaps/%2e%2e/secrets/s",
        "/api/v1/namespaces/default/configmaps/%2e%2e%2fsecrets%2fs",
        "/api/v1/namespaces/%2e%2e/secrets",
        "/api/v1/namespaces/../secrets",
        "/api/v1/namespaces/./secrets",
        "/api/v1/namespaces//secrets",
        "//api/v1/namespaces/default/secrets/s",
        "/api//v1/namespaces/default/secrets/s",
        "/api/v1/namespaces/default%2fsecrets/configmaps",
        "/api/v1/namespaces/default/secrets/s%00",
        "/api/v1/namespaces/default/secrets/s%2f",
        "/api/v1/namespaces/default/secrets/%ff",
        "/api/v1/namespaces/default/secrets/%",
        "/api/v1/namespaces/default/secrets/s/../s",
        "/api/v1/namespaces/default/secrets/s/a/b/c/d",
        "/api/v1/watch/../secrets",
        "/apis/../api/v1/secrets",
        "/api/v1/namespaces/default/secrets/s./status",
        "/%61pi/v1/../v1/secrets",
        "/openapi/v3/../../api/v1/secrets",
        "/healthz/../api/v1/secrets",
        "/metrics/../version",
        "/metrics/more",
        "/version/../metrics",
        "/readyz/ping/more",
        "/",
    ] {
        let code = code_of(&server, path).await;
        assert!(code == 404 || code == 400 || path == "/", "{path}: {code}");
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_name_in_a_body_is_held_to_the_rules_of_names() {
    let server = start_server().await;
    for name in [
        "..",
        ".",
        "a/b",
        "../secrets/s",
        "a\0b",
        "A",
        "a_b",
        "-a",
        "a-",
        "a..b",
        "ä",
        " a",
        "a ",
        "a%2fb",
        "a\nb",
        &"a".repeat(254),
        "a.-b",
        "\u{202e}a",
    ] {
        let object = json!({"metadata": {"name": name}});
        let answer = soon(server.post(CONFIG_MAPS, &object)).await;
        let status = answer.refused(422);
        assert_eq!(
            status["details"]["causes"][0]["field"], "metadata.name",
            "{name:?}"
        );
    }
    for base in ["..", "a/b", "A", "../"] {
        let object = json!({"metadata": {"generateName": base}});
        soon(server.post(CONFIG_MAPS, &object)).await.refused(422);
    }
    let longest = json!({"metadata": {"name": "a".repeat(253)}});
    server.post(CONFIG_MAPS, &longest).await.created();
    server.assert_well().await;
}

#[tokio::test]
async fn a_name_in_a_path_is_only_ever_looked_up() {
    let server = start_server().await;
    for name in [
        "..a", "a..", "%2e%2ea", "A_B", "%20", "%C3%A4", "a%3Fb", "*", "a;b", "a,b",
    ] {
        let path = format!("{CONFIG_MAPS}/{name}");
        for method in [Method::GET, Method::DELETE] {
            let answer = soon(server.call(method, &path).answer()).await;
            assert_eq!(answer.code, 404, "{name}: {}", answer.text());
        }
        let body = json!({"metadata": {"name": name}});
        let put = server.put(&path, &body).await;
        assert!((400..500).contains(&put.code), "{name}: {}", put.text());
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_selector_for_a_name_reaches_no_other_collection() {
    let server = start_server().await;
    let secret = json!({"metadata": {"name": "s"}});
    server
        .post("/api/v1/namespaces/default/secrets", &secret)
        .await
        .created();
    for value in ["../secrets/s", "..%2fsecrets%2fs", "s", "%00", "default/s"] {
        let path = format!("{CONFIG_MAPS}?fieldSelector=metadata.name%3D{value}");
        let answer = soon(server.get(&path)).await;
        assert!(answer.item_names().is_empty(), "{value}");
        let watch = format!("{path}&watch=1&allowWatchBookmarks=true");
        server.watch(&watch).await.shows(&["BOOKMARK"]).await;
    }
}

#[tokio::test]
async fn a_namespace_that_begins_like_another_is_another() {
    let server = start_server().await;
    for name in ["ns", "ns-2"] {
        let namespace = json!({"metadata": {"name": name}});
        server
            .post("/api/v1/namespaces", &namespace)
            .await
            .created();
        let path = format!("/api/v1/namespaces/{name}/configmaps");
        let object = json!({"metadata": {"name": name}});
        server.post(&path, &object).await.created();
    }
    let path = "/api/v1/namespaces/ns/configmaps";
    assert_eq!(server.get(path).await.item_names(), ["ns"]);
    let mut events = server
        .watch(&format!("{path}?watch=1&allowWatchBookmarks=true"))
        .await;
    events.shows(&["ADDED ns", "BOOKMARK"]).await;
    let deleted = server.delete(path).await.ok();
    assert_eq!(crate::client::names(&deleted), ["ns"]);
    let other = "/api/v1/namespaces/ns-2/configmaps";
    assert_eq!(server.get(other).await.item_names(), ["ns-2"]);
}
