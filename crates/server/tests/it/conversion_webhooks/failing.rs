//! What is said when a webhook does not convert.

use serde_json::{Value, json};

use super::{DEFINITION, Scene, V1, V2, widget_v2};

/// What is said of a stored widget that cannot be read in the other version.
fn unread(stored: &Value, why: &str) -> String {
    let revision = stored["metadata"]["resourceVersion"].as_str().unwrap();
    format!(
        "Internal error occurred: StorageError: corrupt object, Code: 7, Key: \
         /ex.com/widgets/default/a, ResourceVersion: 0, AdditionalErrorMsg: object not decodable \
         revision={revision}: {why}"
    )
}

#[tokio::test]
async fn wrong_answers_are_told_to_readers() {
    const WHO: &str = "conversion webhook for ex.com/v1, Kind=Widget";
    type Change = fn(&mut Value);
    let scene = Scene::new().await;
    let stored = scene.store("a", "red").await;
    let wrong: [(Change, &str); 5] = [
        (
            |answer| answer["response"]["result"] = json!({"status": "Failure", "message": "no"}),
            "failed: no",
        ),
        (
            |answer| answer["response"]["convertedObjects"] = json!([]),
            "returned 0 objects, expected 1",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["metadata"]["name"] = json!("x"),
            "returned invalid object: must have the same name: a != x",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["apiVersion"] = json!("ex.com/v1"),
            "returned invalid object at index 0: invalid groupVersion (expected ex.com/v2, \
             received ex.com/v1)",
        ),
        (
            |answer| drop(answer.as_object_mut().unwrap().remove("response")),
            "failed: no response provided",
        ),
    ];
    for (change, why) in wrong {
        scene.twist(change);
        let refused = scene.get_v2("a").await;
        refused.says(500, &unread(&stored, &format!("{WHO} {why}")));
        assert_eq!(refused.json()["reason"], "InternalError");
    }
    scene.twist(|answer| answer["response"]["uid"] = json!("other"));
    let refused = scene.get_v2("a").await.refused(500);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("failed: expected response.uid=\""),
        "{message}"
    );
    assert!(message.ends_with("got \"other\""), "{message}");
    // A failure is not kept.
    scene.untwist();
    scene.get_v2("a").await.ok();
}

#[tokio::test]
async fn lists_and_parts_fail_with_their_objects() {
    let scene = Scene::new().await;
    let stored = scene.store("a", "red").await;
    let failure = json!({"status": "Failure", "message": "no"});
    scene.twist(move |answer| answer["response"]["result"] = failure.clone());
    let why = "conversion webhook for ex.com/v1, Kind=Widget failed: no";
    let refused = scene.server.get(V2).await.refused(500);
    assert_eq!(refused["reason"], "StorageReadError");
    let revision = stored["metadata"]["resourceVersion"].as_str().unwrap();
    let told = format!(
        "StorageError: corrupt object, Code: 7, Key: /registry/ex.com/widgets/default/a, \
         ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision={revision}: {why}"
    );
    let message = format!("failed to read one or more widgets.ex.com from the storage: {told}");
    assert_eq!(refused["message"], message);
    let details = json!({
        "name": "list", "group": "ex.com", "kind": "widgets",
        "causes": [{
            "reason": "UnexpectedServerResponse", "message": told,
            "field": "/registry/ex.com/widgets/default/a",
        }],
    });
    assert_eq!(refused["details"], details);
    let scale = scene.server.get(&format!("{V2}/a/scale")).await;
    scale.says(500, &unread(&stored, why));
    let change = json!({"spec": {"size": 1}});
    let patched = scene.server.merge(&format!("{V2}/a"), &change).await;
    patched.says(500, &unread(&stored, why));
    // Whoever reads and writes what is stored hears nothing of it.
    scene.server.get(V1).await.ok();
    scene.server.merge(&format!("{V1}/a"), &change).await.ok();
}

#[tokio::test]
async fn what_cannot_be_converted_is_not_written() {
    let scene = Scene::new().await;
    let failure = json!({"status": "Failure", "message": "no"});
    scene.twist(move |answer| answer["response"]["result"] = failure.clone());
    let refused = scene.server.post(V2, &widget_v2("a", "red")).await;
    let why = "conversion webhook for ex.com/v2, Kind=Widget failed: no";
    refused.says(500, why);
    assert_eq!(refused.json().get("reason"), None);
    assert_eq!(scene.server.get(&format!("{V1}/a")).await.code, 404);
}

#[tokio::test]
async fn a_webhook_that_is_not_there_is_told_of() {
    let scene = Scene::new().await;
    let stored = scene.store("a", "red").await;
    let gone = json!({"spec": {"conversion": {"webhook": {
        "clientConfig": {"url": "https://127.0.0.1:1/convert"},
    }}}});
    scene.server.merge(DEFINITION, &gone).await.ok();
    let why = "conversion webhook for ex.com/v1, Kind=Widget failed: Post \
               \"https://127.0.0.1:1/convert?timeout=30s\": dial tcp 127.0.0.1:1: connect: \
               connection refused";
    scene.get_v2("a").await.says(500, &unread(&stored, why));
}

#[tokio::test]
async fn one_object_that_fails_with_others_is_asked_about_alone() {
    let scene = Scene::new().await;
    for (name, color) in [("a", "red"), ("b", "bad")] {
        scene.store(name, color).await;
    }
    scene.twist(|answer| {
        let objects = answer["response"]["convertedObjects"].as_array().unwrap();
        if objects
            .iter()
            .any(|it| it["spec"]["paint"]["color"] == "bad")
        {
            answer["response"]["result"] = json!({"status": "Failure", "message": "bad color"});
        }
    });
    let held = scene.hook.hold().await;
    let (list, one) = (scene.server.get(V2), async {
        while scene.questions() == 0 {
            tokio::task::yield_now().await;
        }
        let reading = scene.get_v2("a");
        let letting_go = async {
            tokio::task::yield_now().await;
            drop(held);
        };
        tokio::join!(reading, letting_go).0
    });
    let (list, one) = tokio::join!(list, one);
    assert_eq!(list.code, 500);
    assert_eq!(one.ok()["spec"]["paint"]["color"], "red");
}
