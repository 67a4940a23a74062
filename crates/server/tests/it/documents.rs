//! Everything that is not a resource: discovery, OpenAPI, version, health and metrics.

use http::Method;
use serde_json::{Value, json};

use crate::{
    client::Answer,
    running::{TestServer, start_server},
};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

async fn get_if_changed(server: &TestServer, path: &str, accept: &str, etag: &str) -> Answer {
    let call = server.call(Method::GET, path).header("accept", accept);
    call.header("if-none-match", etag).answer().await
}

#[tokio::test]
async fn discovery_leads_from_the_root_to_every_resource() {
    let server = start_server().await;
    let paths = server.get("/").await.ok();
    let paths = paths["paths"].as_array().unwrap();
    assert!(paths.contains(&json!("/api/v1")) && paths.contains(&json!("/apis/apps/v1")));
    let core = server.get("/api").await.ok();
    assert_eq!(core["kind"], "APIVersions");
    assert_eq!(core["versions"], json!(["v1"]));
    let groups = server.get("/apis").await.ok();
    for group in groups["groups"].as_array().unwrap() {
        let name = group["name"].as_str().unwrap();
        let shown = server.get(&format!("/apis/{name}")).await.ok();
        assert_eq!(shown["preferredVersion"], group["preferredVersion"]);
        for version in group["versions"].as_array().unwrap() {
            let version = version["groupVersion"].as_str().unwrap();
            let resources = server.get(&format!("/apis/{version}")).await.ok();
            assert_eq!(resources["groupVersion"], version);
            assert!(!resources["resources"].as_array().unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn every_resource_of_discovery_can_be_listed() {
    let server = start_server().await;
    for root in ["/api", "/apis"] {
        let groups = server.get_as(root, AGGREGATED).await.ok();
        for group in groups["items"].as_array().unwrap() {
            for version in group["versions"].as_array().unwrap() {
                list_all(&server, group, version).await;
            }
        }
    }
}

async fn list_all(server: &TestServer, group: &Value, version: &Value) {
    let version_name = version["version"].as_str().unwrap();
    let prefix = match group["metadata"]["name"].as_str() {
        Some(group) => format!("/apis/{group}/{version_name}"),
        None => format!("/api/{version_name}"),
    };
    for resource in version["resources"].as_array().unwrap() {
        if !resource["verbs"]
            .as_array()
            .unwrap()
            .contains(&json!("list"))
        {
            continue;
        }
        let path = format!("{prefix}/{}", resource["resource"].as_str().unwrap());
        let list = server.get(&path).await;
        assert_eq!(list.code, 200, "{path}: {}", list.text());
        let list = list.ok();
        let kind = resource["responseKind"]["kind"].as_str().unwrap();
        assert_eq!(list["kind"], format!("{kind}List"), "{path}");
        assert!(list["items"].is_array(), "{path}");
        let namespaced = resource["scope"] == "Namespaced";
        let inside = format!(
            "{prefix}/namespaces/default/{}",
            resource["resource"].as_str().unwrap()
        );
        let expected = if namespaced { 200 } else { 404 };
        assert_eq!(server.get(&inside).await.code, expected, "{inside}");
    }
}

#[tokio::test]
async fn aggregated_discovery_is_fetched_once() {
    let server = start_server().await;
    for root in ["/api", "/apis"] {
        let answer = server.get_as(root, AGGREGATED).await;
        assert_eq!(answer.ok()["apiVersion"], "apidiscovery.k8s.io/v2");
        assert_eq!(answer.header("content-type"), AGGREGATED);
        assert_eq!(answer.header("vary"), "Accept");
        assert_eq!(answer.header("cache-control"), "public");
        let etag = answer.header("etag");
        assert_eq!(etag.len(), 130, "a quoted SHA-512: {etag}");
        let again = get_if_changed(&server, root, AGGREGATED, etag).await;
        assert_eq!(again.code, 304);
        assert!(again.body.is_empty());
        assert_eq!(again.header("etag"), etag);
        let other = get_if_changed(&server, root, AGGREGATED, "\"old\"").await;
        assert_eq!(other.code, 200);
    }
    let beta = AGGREGATED.replace("v=v2;", "v=v2beta1;");
    let answer = server.get_as("/apis", &beta).await.ok();
    assert_eq!(answer["apiVersion"], "apidiscovery.k8s.io/v2beta1");
    let alone = format!("{AGGREGATED};profile=nopeer");
    let answer = server.get_as("/apis", &alone).await.ok();
    assert_eq!(answer["apiVersion"], "apidiscovery.k8s.io/v2");
    let kubectl = format!("{AGGREGATED},{beta},application/json");
    let answer = server.get_as("/apis", &kubectl).await.ok();
    assert_eq!(answer["apiVersion"], "apidiscovery.k8s.io/v2");
}

#[tokio::test]
async fn every_openapi_document_of_the_index_is_there() {
    let server = start_server().await;
    let index = server.get("/openapi/v3").await.ok();
    let paths = index["paths"].as_object().unwrap();
    assert!(paths.contains_key("api/v1") && paths.contains_key("apis/apps/v1"));
    for (root, entry) in paths {
        let url = entry["serverRelativeURL"].as_str().unwrap();
        assert!(
            url.starts_with(&format!("/openapi/v3/{root}?hash=")),
            "{url}"
        );
        let answer = server.get(url).await;
        let document = answer.ok();
        assert!(
            document["openapi"].as_str().unwrap().starts_with("3."),
            "{url}"
        );
        assert!(
            answer.header("cache-control").contains("immutable"),
            "{url}"
        );
        let etag = answer.header("etag").to_owned();
        let again = get_if_changed(&server, url, "application/json", &etag).await;
        assert_eq!(again.code, 304, "{url}");
    }
    server.get("/openapi/v3/apis/nosuch.io/v1").await;
}

#[tokio::test]
async fn openapi_tells_kubectl_that_fields_are_validated_here() {
    let server = start_server().await;
    let document = server.get("/openapi/v3/api/v1").await.ok();
    let path = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps"];
    let parameters = path["post"]["parameters"].as_array().unwrap();
    let named = |name: &str| parameters.iter().any(|it| it["name"] == name);
    assert!(
        named("fieldValidation") && named("dryRun"),
        "{parameters:?}"
    );
    let old = server.get("/openapi/v2").await.ok();
    assert_eq!(old["swagger"], "2.0");
    assert!(old["definitions"]["io.k8s.api.core.v1.Pod"].is_object());
}

#[tokio::test]
async fn the_version_is_one_that_clients_understand() {
    let server = start_server().await;
    let version = server.get("/version").await.ok();
    assert_eq!(version["major"], "1");
    assert!(version["minor"].as_str().unwrap().parse::<u32>().unwrap() >= 35);
    let git = version["gitVersion"].as_str().unwrap();
    assert!(git.starts_with("v1.") && git.contains("listwatch"), "{git}");
    for member in [
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    ] {
        assert!(version[member].is_string(), "{member}");
    }
}

#[tokio::test]
async fn health_is_told_in_one_word_or_check_by_check() {
    let server = start_server().await;
    for path in [
        "/healthz",
        "/livez",
        "/readyz",
        "/readyz/ping",
        "/livez/ping",
        "/healthz/",
    ] {
        let answer = server.get(path).await;
        assert_eq!((answer.code, answer.text().as_str()), (200, "ok"), "{path}");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    }
    let verbose = server.get("/readyz?verbose").await.text();
    assert!(verbose.starts_with("[+]ping ok\n"), "{verbose}");
    assert!(verbose.contains("[+]shutdown ok\n"), "{verbose}");
    assert!(verbose.ends_with("readyz check passed\n"), "{verbose}");
    let excluded = server
        .get("/healthz?verbose&exclude=store&exclude=log")
        .await
        .text();
    assert!(excluded.contains("[+]store excluded: ok\n"), "{excluded}");
    assert!(excluded.contains("[+]log excluded: ok\n"), "{excluded}");
    assert_eq!(server.get("/readyz/nosuch").await.code, 404);
    let head = server.call(Method::HEAD, "/readyz").answer().await;
    assert_eq!((head.code, head.body.len()), (200, 0));
}

#[tokio::test]
async fn metrics_have_the_names_that_dashboards_know() {
    let server = start_server().await;
    let events = server.watch("/api/v1/configmaps?watch=1").await;
    server.get("/api/v1/namespaces").await.ok();
    server.get("/api/v1/nodes/absent").await.refused(404);
    let text = server.get("/metrics").await.text();
    for line in [
        "apiserver_longrunning_requests{group=\"\",version=\"v1\",resource=\"configmaps\"} 1",
        "apiserver_resource_objects{group=\"\",version=\"v1\",resource=\"namespaces\"} 4",
        "apiserver_cache_list_returned_objects_total{group=\"\",version=\"v1\",\
         resource=\"namespaces\"} 4",
        "# TYPE apiserver_request_duration_seconds histogram",
        "# TYPE apiserver_watch_cache_resource_version gauge",
        "# TYPE apiserver_watch_events counter",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let refused = text
        .lines()
        .find(|line| line.contains("code=\"404\""))
        .unwrap();
    assert!(
        refused.starts_with("apiserver_request_total{verb=\"GET\""),
        "{refused}"
    );
    assert!(text.ends_with("# EOF\n"));
    drop(events);
}

#[tokio::test]
async fn nothing_that_a_client_says_becomes_a_metric() {
    let server = start_server().await;
    let numbers = || async { server.get("/metrics").await.text().lines().count() };
    server.get("/api/v1/nodes/first").await.refused(404);
    let path = "/api/v1/nodes";
    server
        .call(Method::from_bytes(b"ODD").unwrap(), path)
        .answer()
        .await;
    let before = numbers().await;
    for index in 0..50 {
        let agent = format!("agent-{index}");
        let call = server.call(Method::GET, &format!("/api/v1/nodes/other-{index}"));
        call.header("user-agent", &agent)
            .answer()
            .await
            .refused(404);
        let odd = Method::from_bytes(format!("ODD{index}").as_bytes()).unwrap();
        server.call(odd, path).answer().await.refused(405);
        server
            .get(&format!("/apis/group-{index}.io/v1/things"))
            .await;
        server
            .get(&format!("/api/v1/things-{index}"))
            .await
            .refused(404);
        server
            .get(&format!("/api/v1/nodes/x/part-{index}"))
            .await
            .refused(404);
    }
    assert_eq!(numbers().await, before);
}

#[tokio::test]
async fn the_old_openapi_document_is_protobuf_when_asked_for() {
    let server = start_server().await;
    let accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let message = server.get_as("/openapi/v2", accept).await;
    assert_eq!(message.code, 200);
    assert_eq!(
        message.header("content-type"),
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    );
    assert!(message.body.starts_with(b"\x12\x15\x0a\x0aKubernetes"));
    assert!(message.body.len() > 500_000);
    let call = server.call(Method::GET, "/openapi/v2");
    let call = call.header("accept", accept);
    let known = call.header("if-none-match", message.header("etag"));
    assert_eq!(known.answer().await.code, 304);
    let none = server.get_as("/openapi/v2", "application/yaml").await;
    assert_eq!(none.code, 406);
}
