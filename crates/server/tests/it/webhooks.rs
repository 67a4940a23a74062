//! Webhooks are asked about writes, in order, and heard.

pub(crate) mod hook_server;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use self::hook_server::HookServer;
use crate::{
    client::Answer,
    running::{CONFIG_MAPS, TestServer, start_server},
};

const MUTATING: &str = "mutatingwebhookconfigurations";
const VALIDATING: &str = "validatingwebhookconfigurations";

fn webhook(name: &str, hook: &HookServer) -> Value {
    json!({
        "name": name,
        "clientConfig": hook.client_config(),
        "rules": [{
            "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["configmaps"], "scope": "*",
        }],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 5,
    })
}

async fn configure(server: &TestServer, resource: &str, name: &str, webhooks: &[Value]) {
    let path = format!("/apis/admissionregistration.k8s.io/v1/{resource}");
    let configuration = json!({"metadata": {"name": name}, "webhooks": webhooks});
    server.post(&path, &configuration).await.created();
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"a": "1"}})
}

fn allow(_: &Value) -> Value {
    json!({"allowed": true})
}

fn patching(patch: Value) -> impl Fn(&Value) -> Value {
    move |_: &Value| {
        let patch = STANDARD.encode(patch.to_string());
        json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
    }
}

fn warnings(answer: &Answer) -> Vec<String> {
    let told = answer.headers.get_all("warning").iter();
    told.map(|one| one.to_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_denial_is_told_with_its_reason() {
    let server = start_server().await;
    let hook = HookServer::start(|_| {
        json!({"allowed": false, "status": {"code": 403, "message": "not today", "reason": "No"}})
    })
    .await;
    configure(
        &server,
        VALIDATING,
        "v",
        &[webhook("deny.example.com", &hook)],
    )
    .await;
    let refused = server.post(CONFIG_MAPS, &config_map("a")).await;
    refused.says(
        403,
        "admission webhook \"deny.example.com\" denied the request: not today",
    );
    assert_eq!(refused.json()["reason"], "No");
    assert_eq!(server.get(&format!("{CONFIG_MAPS}/a")).await.code, 404);
    let asked = &hook.asked()[0];
    assert_eq!(asked["operation"], "CREATE");
    assert_eq!(asked["name"], "a");
    assert_eq!(asked["namespace"], "default");
    assert_eq!(
        asked["kind"],
        json!({"group": "", "version": "v1", "kind": "ConfigMap"})
    );
    assert_eq!(asked["object"]["data"], json!({"a": "1"}));
    assert_eq!(asked["oldObject"], Value::Null);
    assert_eq!(asked["dryRun"], false);
    assert_eq!(asked["options"]["kind"], "CreateOptions");
}

#[tokio::test]
async fn a_denial_without_words_says_so() {
    let server = start_server().await;
    let hook = HookServer::start(|_| json!({"allowed": false})).await;
    configure(
        &server,
        VALIDATING,
        "v",
        &[webhook("deny.example.com", &hook)],
    )
    .await;
    server.post(CONFIG_MAPS, &config_map("a")).await.says(
        400,
        "admission webhook \"deny.example.com\" denied the request without explanation",
    );
}

#[tokio::test]
async fn a_patch_of_a_webhook_is_stored_and_owned_by_nobody() {
    let server = start_server().await;
    let patch = json!([{"op": "add", "path": "/data/b", "value": "2"}]);
    let hook = HookServer::start(patching(patch)).await;
    configure(&server, MUTATING, "m", &[webhook("add.example.com", &hook)]).await;
    let made = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    assert_eq!(made["data"], json!({"a": "1", "b": "2"}));
    let owned = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:data"];
    assert_eq!(*owned, json!({".": {}, "f:a": {}}));
    let path = format!("{CONFIG_MAPS}/a");
    let changed = server
        .merge(&path, &json!({"data": {"b": null, "c": "3"}}))
        .await
        .ok();
    assert_eq!(changed["data"], json!({"a": "1", "b": "2", "c": "3"}));
    let asked = hook.asked();
    assert_eq!(asked[1]["operation"], "UPDATE");
    assert_eq!(asked[1]["oldObject"]["data"], json!({"a": "1", "b": "2"}));
    assert_eq!(asked[1]["object"]["data"], json!({"a": "1", "c": "3"}));
    assert!(asked[1]["oldObject"]["metadata"]["managedFields"].is_array());
}

#[tokio::test]
async fn a_webhook_that_wants_to_is_asked_again_after_others() {
    let server = start_server().await;
    let first = HookServer::start(|request| {
        let seen = request["object"]["data"].as_object().unwrap().len();
        let patch = json!([{"op": "add", "path": "/data/seen", "value": seen.to_string()}]);
        patching(patch)(request)
    })
    .await;
    let second = HookServer::start(patching(
        json!([{"op": "add", "path": "/data/second", "value": "x"}]),
    ))
    .await;
    let mut again = webhook("a.example.com", &first);
    again["reinvocationPolicy"] = json!("IfNeeded");
    configure(
        &server,
        MUTATING,
        "m",
        &[again, webhook("b.example.com", &second)],
    )
    .await;
    let made = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    assert_eq!((first.asked().len(), second.asked().len()), (2, 1));
    assert_eq!(made["data"], json!({"a": "1", "seen": "3", "second": "x"}));
}

#[tokio::test]
async fn a_delete_is_asked_about_with_what_was_there() {
    let server = start_server().await;
    let hook =
        HookServer::start(|request| json!({"allowed": request["operation"] != "DELETE"})).await;
    configure(
        &server,
        VALIDATING,
        "v",
        &[webhook("keep.example.com", &hook)],
    )
    .await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    assert_eq!(server.delete(&format!("{CONFIG_MAPS}/a")).await.code, 400);
    assert_eq!(server.delete(CONFIG_MAPS).await.code, 400);
    let asked = hook.asked();
    let last = asked.last().unwrap();
    assert_eq!(last["object"], Value::Null);
    assert_eq!(last["oldObject"]["metadata"]["name"], "a");
    assert_eq!(last["options"]["kind"], "DeleteOptions");
    server.get(&format!("{CONFIG_MAPS}/a")).await.ok();
}

#[tokio::test]
async fn who_does_not_answer_is_ignored_or_not_as_the_configuration_says() {
    let server = start_server().await;
    let mut gone = {
        let hook = HookServer::start(allow).await;
        webhook("gone.example.com", &hook)
    };
    gone["clientConfig"]["url"] = json!("https://127.0.0.1:1/hook");
    gone["failurePolicy"] = json!("Ignore");
    configure(&server, VALIDATING, "v", &[gone.clone()]).await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    gone["failurePolicy"] = json!("Fail");
    let path = format!("/apis/admissionregistration.k8s.io/v1/{VALIDATING}/v");
    let change = json!({"webhooks": [gone]});
    server.merge(&path, &change).await.ok();
    server.post(CONFIG_MAPS, &config_map("b")).await.says(
        500,
        "Internal error occurred: failed calling webhook \"gone.example.com\": failed to call \
         webhook: Post \"https://127.0.0.1:1/hook?timeout=5s\": dial tcp 127.0.0.1:1: connect: \
         connection refused",
    );
    server.delete(&path).await.ok();
    server.post(CONFIG_MAPS, &config_map("b")).await.created();
}

#[tokio::test]
async fn selectors_decide_who_is_asked() {
    let server = start_server().await;
    let hook = HookServer::start(|_| json!({"allowed": false})).await;
    let mut by_object = webhook("object.example.com", &hook);
    by_object["objectSelector"] = json!({"matchLabels": {"checked": "yes"}});
    let mut by_namespace = webhook("namespace.example.com", &hook);
    by_namespace["namespaceSelector"] = json!({"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["kube-system"]},
    ]});
    configure(&server, VALIDATING, "v", &[by_object, by_namespace]).await;
    let mut object = config_map("a");
    server.post(CONFIG_MAPS, &object).await.created();
    object["metadata"]["labels"] = json!({"checked": "yes"});
    assert_eq!(
        server.put(&format!("{CONFIG_MAPS}/a"), &object).await.code,
        400
    );
    let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    assert_eq!(server.post(elsewhere, &config_map("a")).await.code, 400);
}

#[tokio::test]
async fn warnings_reach_the_client() {
    let server = start_server().await;
    let hook = HookServer::start(|_| json!({"allowed": true, "warnings": ["mind the gap"]})).await;
    configure(
        &server,
        VALIDATING,
        "v",
        &[webhook("warn.example.com", &hook)],
    )
    .await;
    let answer = server.post(CONFIG_MAPS, &config_map("a")).await;
    assert_eq!(warnings(&answer), ["299 - \"mind the gap\""]);
}

#[tokio::test]
async fn a_webhook_is_told_that_nothing_will_be_written() {
    let server = start_server().await;
    let hook = HookServer::start(allow).await;
    let mut acting = webhook("acts.example.com", &hook);
    acting["sideEffects"] = json!("NoneOnDryRun");
    configure(&server, VALIDATING, "v", &[acting]).await;
    let dry = format!("{CONFIG_MAPS}?dryRun=All");
    server.post(&dry, &config_map("a")).await.created();
    let asked = &hook.asked()[0];
    assert_eq!(asked["dryRun"], true);
    assert_eq!(asked["options"]["dryRun"], json!(["All"]));
}

#[tokio::test]
async fn a_new_custom_object_has_the_defaults_of_its_status_though_others_are_asked() {
    let server = start_server().await;
    let hook = HookServer::start(allow).await;
    let schema = json!({
        "type": "object",
        "properties": {
            "status": {
                "type": "object", "default": {"phase": "New"},
                "properties": {"phase": {"type": "string"}},
            },
        },
    });
    let definition = json!({
        "metadata": {"name": "foos.ex.com"},
        "spec": {
            "group": "ex.com", "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}},
            }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.post(definitions, &definition).await.created();
    let mut asked = webhook("asked.example.com", &hook);
    asked["rules"][0]["apiGroups"] = json!(["ex.com"]);
    asked["rules"][0]["resources"] = json!(["*"]);
    configure(&server, MUTATING, "m", &[asked]).await;
    let foo = json!({
        "apiVersion": "ex.com/v1", "kind": "Foo", "metadata": {"name": "a"},
        "status": {"phase": "Claimed"},
    });
    let foos = "/apis/ex.com/v1/namespaces/default/foos";
    let made = server.post(foos, &foo).await.created();
    assert_eq!(made["status"], json!({"phase": "New"}));
    assert_eq!(hook.asked().len(), 1);
    let stored = server.get(&format!("{foos}/a")).await.ok();
    assert_eq!(stored["status"], json!({"phase": "New"}));
}

#[tokio::test]
async fn who_asks_only_about_connections_is_never_asked() {
    let server = start_server().await;
    let hook = HookServer::start(|_| json!({"allowed": false})).await;
    let mut connections = webhook("connect.example.com", &hook);
    connections["rules"][0]["operations"] = json!(["CONNECT"]);
    connections["rules"][0]["resources"] = json!(["*/*"]);
    configure(&server, VALIDATING, "v", &[connections.clone()]).await;
    configure(&server, MUTATING, "m", &[connections]).await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    assert!(hook.asked().is_empty());
}
