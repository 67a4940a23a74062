//! YAML, indentation, and what is not served.

use http::Method;
use serde_json::json;

use super::{CONFIG_MAPS, two_config_maps};

#[tokio::test]
async fn yaml_goes_in_and_out() {
    let server = two_config_maps().await;
    let path = format!("{CONFIG_MAPS}/a");
    let answer = server.get_as(&path, "application/yaml").await;
    assert_eq!(answer.code, 200);
    assert_eq!(answer.header("content-type"), "application/yaml");
    let text = answer.text();
    assert!(
        text.starts_with("apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n"),
        "{text}"
    );
    let changed = text.replace("  k: v\n", "  k: \"3\"\n");
    let call = server
        .call(Method::PUT, &path)
        .body("application/yaml", changed);
    let call = call.header("accept", "application/yaml");
    let answer = call.answer().await;
    assert_eq!(answer.code, 200, "{}", answer.text());
    assert!(answer.text().contains("  k: \"3\"\n"), "{}", answer.text());
    let list = server.get_as(CONFIG_MAPS, "application/yaml").await;
    assert!(
        list.text().contains("kind: ConfigMapList\n"),
        "{}",
        list.text()
    );
    let absent = server
        .get_as(&format!("{CONFIG_MAPS}/absent"), "application/yaml")
        .await;
    assert_eq!(absent.code, 404);
    assert!(absent.text().contains("reason: NotFound\n"));
}

#[tokio::test]
async fn an_answer_is_indented_for_people() {
    let server = two_config_maps().await;
    let path = format!("{CONFIG_MAPS}/a");
    let compact = server.get(&path).await;
    assert!(!compact.text().contains("\n  "));
    for (query, agent) in [("?pretty=true", "x"), ("?pretty=1", "x"), ("", "curl/8.0")] {
        let call = server.call(Method::GET, &format!("{path}{query}"));
        let pretty = call.header("user-agent", agent).answer().await;
        assert!(
            pretty.text().starts_with("{\n  \"kind\": \"ConfigMap\",\n"),
            "{query}"
        );
        assert_eq!(pretty.ok(), compact.ok());
    }
    let call = server.call(Method::GET, &format!("{path}?pretty=false"));
    let plain = call.header("user-agent", "curl/8.0").answer().await;
    assert!(!plain.text().contains("\n  "));
    let list = server.get(&format!("{CONFIG_MAPS}?pretty=true")).await;
    assert!(
        list.text()
            .starts_with("{\n  \"kind\": \"ConfigMapList\",\n")
    );
    assert_eq!(list.item_names(), ["a", "b"]);
    let refusal = server
        .get(&format!("{CONFIG_MAPS}/absent?pretty=true"))
        .await;
    assert!(refusal.text().starts_with("{\n  \"kind\": \"Status\",\n"));
}

#[tokio::test]
async fn a_form_that_is_not_served_is_not_acceptable() {
    let server = two_config_maps().await;
    let status = server.get_as(CONFIG_MAPS, "text/html").await.refused(406);
    assert_eq!(status["reason"], "NotAcceptable");
    let watch = format!("{CONFIG_MAPS}?watch=1");
    let answer = server.get_as(&watch, "application/yaml").await;
    assert_eq!(answer.code, 406);
    for fine in [
        "*/*",
        "application/*",
        "text/html, application/json;q=0.5",
        "",
    ] {
        let list = server.get_as(CONFIG_MAPS, fine).await;
        assert_eq!(list.header("content-type"), "application/json", "{fine}");
        list.ok();
    }
}

#[tokio::test]
async fn a_body_in_an_unknown_form_is_not_supported() {
    let server = two_config_maps().await;
    let call = server.call(Method::POST, CONFIG_MAPS);
    let answer = call.body("text/plain", "name: c").answer().await;
    assert_eq!(answer.refused(415)["reason"], "UnsupportedMediaType");
    let call = server.call(Method::PATCH, &format!("{CONFIG_MAPS}/a"));
    let answer = call.body("application/json", "{}").answer().await;
    assert_eq!(answer.refused(415)["reason"], "UnsupportedMediaType");
    let object = json!({"metadata": {"name": "untyped"}}).to_string();
    let mut connection = server.raw().await;
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
        object.len()
    );
    connection.send(head + &object).await;
    connection.read_until("HTTP/1.1 201 Created\r\n").await;
}

#[tokio::test]
async fn an_event_is_one_line_whoever_reads_it() {
    let server = two_config_maps().await;
    let path = format!("{CONFIG_MAPS}?watch=1&pretty=true");
    let call = server
        .call(Method::GET, &path)
        .header("user-agent", "curl/8.0");
    let accept = "application/json;stream=watch";
    let mut events = call.header("accept", accept).events().await;
    assert_eq!(events.headers["content-type"], "application/json");
    events.shows(&["ADDED a", "ADDED b"]).await;
}

#[tokio::test]
async fn what_has_no_metadata_is_no_table() {
    let server = two_config_maps().await;
    let review = json!({
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = server.post(path, &review).await.created();
    assert_eq!(answer["status"]["allowed"], true);
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let call = server.call(Method::POST, path).json(&review);
    call.header("accept", table).answer().await.refused(406);
}
