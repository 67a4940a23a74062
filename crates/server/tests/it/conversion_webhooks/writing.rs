//! What is written in one version is stored in another.

use serde_json::{Value, json};

use super::{DEFINITION, DEFINITIONS, Scene, V1, V2, widget_v2};
use crate::client::Answer;

const APPLY: &str = "application/apply-patch+yaml";

impl Scene {
    async fn apply_v2(&self, manager: &str, spec: &Value) -> Answer {
        let path = format!("{V2}/a?fieldManager={manager}");
        let mut applied = widget_v2("a", "");
        applied["spec"] = spec.clone();
        self.server.patch(&path, APPLY, &applied).await
    }

    async fn get_v1(&self, name: &str) -> Value {
        self.server.get(&format!("{V1}/{name}")).await.ok()
    }
}

fn entry<'a>(object: &'a Value, manager: &str) -> &'a Value {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let found = entries.iter().find(|entry| entry["manager"] == manager);
    found.unwrap_or(&Value::Null)
}

#[tokio::test]
async fn a_new_object_is_filled_in_and_checked_in_the_version_that_is_written() {
    let scene = Scene::new().await;
    let made = scene
        .server
        .post(V2, &widget_v2("a", "red"))
        .await
        .created();
    assert_eq!(made["apiVersion"], "ex.com/v2");
    assert_eq!(made["spec"], json!({"paint": {"color": "red"}, "size": 5}));
    let stored = scene.get_v1("a").await;
    assert_eq!(stored["spec"], json!({"color": "red", "size": 5}));
    assert_eq!(stored["metadata"], made["metadata"]);
    assert_eq!(
        made["metadata"]["managedFields"][0]["apiVersion"],
        "ex.com/v2"
    );
    // One question to store it, and one to tell what was stored.
    assert_eq!(scene.questions(), 2);
    scene.get_v2("a").await.ok();
    assert_eq!(scene.questions(), 2);
    scene.server.post(V2, &widget_v2("b", "too long for it")).await.says(
        422,
        "Widget.ex.com \"b\" is invalid: spec.paint.color: Too long: may not be more than 8 bytes",
    );
}

#[tokio::test]
async fn replacing_and_patching_begin_with_the_converted_object() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    let path = format!("{V2}/a");
    let patched = json!([{"op": "replace", "path": "/spec/paint/color", "value": "blue"}]);
    let patch = "application/json-patch+json";
    let patched = scene.server.patch(&path, patch, &patched).await.ok();
    assert_eq!(patched["spec"]["paint"]["color"], "blue");
    assert_eq!(scene.get_v1("a").await["spec"]["color"], "blue");
    let mut next = patched.clone();
    next["spec"]["paint"]["color"] = json!("green");
    let replaced = scene.server.put(&path, &next).await.ok();
    assert_eq!(replaced["spec"]["paint"]["color"], "green");
    assert_eq!(scene.get_v1("a").await["spec"]["color"], "green");
    assert_eq!(scene.server.put(&path, &next).await.code, 409);
    let again = scene.server.put(&path, &replaced).await.ok();
    assert_eq!(again["metadata"], replaced["metadata"]);
    let status = json!({"status": {"size": 2}});
    let told = scene
        .server
        .merge(&format!("{path}/status"), &status)
        .await
        .ok();
    assert_eq!(told["status"], json!({"size": 2}));
    assert_eq!(scene.get_v1("a").await["status"], json!({"size": 2}));
}

#[tokio::test]
async fn a_dry_run_tells_what_would_be_stored() {
    let scene = Scene::new().await;
    let dry = format!("{V2}?dryRun=All");
    let made = scene
        .server
        .post(&dry, &widget_v2("a", "red"))
        .await
        .created();
    assert_eq!(made["spec"], json!({"paint": {"color": "red"}, "size": 5}));
    assert_eq!(scene.get_v2("a").await.code, 404);
    scene.store("a", "red").await;
    let change = json!({"spec": {"paint": {"color": "blue"}}});
    let dry = format!("{V2}/a?dryRun=All");
    let changed = scene.server.merge(&dry, &change).await.ok();
    assert_eq!(changed["spec"]["paint"]["color"], "blue");
    let shown = scene.get_v2("a").await.ok();
    assert_eq!(shown["spec"]["paint"]["color"], "red");
}

#[tokio::test]
async fn labels_and_annotations_of_a_webhook_are_stored() {
    let scene = Scene::new().await;
    scene.twist(|answer| {
        let object = &mut answer["response"]["convertedObjects"][0];
        object["metadata"]["annotations"] = json!({"from": "the webhook"});
        object["metadata"]["generation"] = json!(77);
    });
    scene
        .server
        .post(V2, &widget_v2("a", "red"))
        .await
        .created();
    let stored = scene.get_v1("a").await;
    assert_eq!(
        stored["metadata"]["annotations"],
        json!({"from": "the webhook"})
    );
    assert_eq!(stored["metadata"]["generation"], 1);
}

#[tokio::test]
async fn owners_keep_their_fields_in_the_versions_that_they_speak() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    let applied = scene
        .apply_v2("other", &json!({"paint": {"color": "red"}}))
        .await
        .ok();
    let owned = json!({"f:spec": {"f:paint": {"f:color": {}}}});
    assert_eq!(entry(&applied, "other")["fieldsV1"], owned);
    assert_eq!(entry(&applied, "other")["apiVersion"], "ex.com/v2");
    // A change in the stored version takes from the owner what it changes in the other's version.
    let change = json!({"spec": {"color": "blue"}});
    let path = format!("{V1}/a?fieldManager=third");
    let changed = scene.server.merge(&path, &change).await.ok();
    assert_eq!(
        entry(&changed, "third")["fieldsV1"],
        json!({"f:spec": {"f:color": {}}})
    );
    assert!(entry(&changed, "other").is_null(), "{changed}");
    // And what it does not change stays.
    scene
        .apply_v2("other", &json!({"paint": {"color": "blue"}}))
        .await
        .ok();
    let change = json!({"spec": {"size": 9}});
    let changed = scene.server.merge(&path, &change).await.ok();
    assert_eq!(entry(&changed, "other")["fieldsV1"], owned);
}

#[tokio::test]
async fn an_apply_conflicts_with_owners_that_speak_another_version() {
    let scene = Scene::new().await;
    let path = format!("{V1}/a?fieldManager=first");
    let mut applied = super::widget_v1("a", "red");
    applied["spec"]["size"] = json!(4);
    scene.server.patch(&path, APPLY, &applied).await.created();
    let refused = scene
        .apply_v2("second", &json!({"paint": {"color": "blue"}}))
        .await;
    let refused = refused.refused(409);
    let message = "Apply failed with 1 conflict: conflict with \"first\": .spec.color";
    assert_eq!(refused["message"], message);
    // The same manager goes on in another version, and gives up what it leaves out.
    let done = scene
        .apply_v2("first", &json!({"paint": {"color": "blue"}}))
        .await
        .ok();
    assert_eq!(done["spec"], json!({"paint": {"color": "blue"}, "size": 5}));
    let owned = json!({"f:spec": {"f:paint": {"f:color": {}}}});
    assert_eq!(entry(&done, "first")["fieldsV1"], owned);
    assert_eq!(entry(&done, "first")["apiVersion"], "ex.com/v2");
    assert_eq!(
        done["metadata"]["managedFields"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn owners_stay_as_they_are_while_other_versions_cannot_be_seen() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    let applied = scene
        .apply_v2("other", &json!({"paint": {"color": "red"}}))
        .await
        .ok();
    scene.twist(|answer| answer["response"]["result"] = json!({"status": "Failure"}));
    let change = json!({"spec": {"color": "blue"}});
    let changed = scene.server.merge(&format!("{V1}/a"), &change).await.ok();
    assert_eq!(changed["spec"]["color"], "blue");
    let owners = &changed["metadata"]["managedFields"];
    assert_eq!(*owners, applied["metadata"]["managedFields"]);
}

#[tokio::test]
async fn policies_see_the_version_that_they_ask_for() {
    let scene = Scene::new().await;
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
    let policy = json!({
        "metadata": {"name": "no-green"},
        "spec": {
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [{
                "operations": ["CREATE", "UPDATE"], "apiGroups": ["ex.com"],
                "apiVersions": ["v1"], "resources": ["widgets"],
            }]},
            "validations": [{"expression": "object.spec.color != 'green'"}],
        },
    });
    scene.server.post(policies, &policy).await.created();
    let binding = json!({
        "metadata": {"name": "no-green"},
        "spec": {"policyName": "no-green", "validationActions": ["Deny"]},
    });
    scene.server.post(bindings, &binding).await.created();
    scene
        .server
        .post(V2, &widget_v2("a", "red"))
        .await
        .created();
    let refused = scene.server.post(V2, &widget_v2("b", "green")).await;
    assert_eq!(refused.code, 422, "{}", refused.text());
}

#[tokio::test]
async fn a_definition_goes_with_all_its_objects_without_its_webhook() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    scene.twist(|answer| answer["response"]["result"] = json!({"status": "Failure"}));
    let mut events = scene.server.watch(&format!("{DEFINITIONS}?watch=1")).await;
    events.shows(&["ADDED widgets.ex.com"]).await;
    scene.server.delete(DEFINITION).await.ok();
    while events.next().await.event_type != "DELETED" {}
    assert_eq!(scene.server.get(V2).await.code, 404);
    assert_eq!(scene.questions(), 0);
}
