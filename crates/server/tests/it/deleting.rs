//! Deleting: at once, with grace, held by finalizers, many at a time, and whole namespaces.

mod collections;
mod namespaces;
mod pods;

use serde_json::{Value, json};

use crate::{
    client::version,
    running::{CONFIG_MAPS, TestServer, start_server},
};

/// A configmap that the finalizers hold.
async fn held(server: &TestServer, name: &str, finalizers: Value) -> Value {
    let object = json!({"metadata": {"name": name, "finalizers": finalizers}});
    server.post(CONFIG_MAPS, &object).await.created()
}

/// A watch of what happens from this object's version on.
async fn watch_after(server: &TestServer, object: &Value) -> crate::client::Events {
    let after = version(object);
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={after}");
    server.watch(&path).await
}

#[tokio::test]
async fn an_object_that_nothing_holds_goes_at_once() {
    let server = start_server().await;
    let stored = held(&server, "a", json!([])).await;
    let item = format!("{CONFIG_MAPS}/a");
    let expected = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": stored["metadata"]["uid"]},
    });
    assert_eq!(server.delete(&item).await.ok(), expected);
    server
        .delete(&item)
        .await
        .says(404, "configmaps \"a\" not found");
}

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let server = start_server().await;
    let stored = held(&server, "a", json!(["x.io/one", "x.io/two"])).await;
    let mut events = watch_after(&server, &stored).await;
    let item = format!("{CONFIG_MAPS}/a");

    let marked = server.delete(&item).await.ok();
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(server.delete(&item).await.ok(), marked, "once is enough");

    let more = json!({"metadata": {"finalizers": ["x.io/two", "x.io/three"]}});
    let status = server.merge(&item, &more).await.refused(422);
    let cause = &status["details"]["causes"][0];
    assert_eq!(cause["field"], "metadata.finalizers");

    let fewer = json!({"metadata": {"finalizers": ["x.io/two"]}});
    let halfway = server.merge(&item, &fewer).await.ok();
    let none = json!({"metadata": {"finalizers": null}});
    let last = server.merge(&item, &none).await.ok();
    assert_eq!(last["kind"], "ConfigMap");

    let told = events
        .shows(&["MODIFIED a", "MODIFIED a", "DELETED a"])
        .await;
    assert_eq!(told[0].object, marked);
    assert_eq!(told[1].object, halfway);
    assert!(told[2].version() > version(&halfway));
    server.get(&item).await.refused(404);
}

#[tokio::test]
async fn an_update_may_remove_the_last_finalizer_too() {
    let server = start_server().await;
    held(&server, "a", json!(["x.io/f"])).await;
    let item = format!("{CONFIG_MAPS}/a");
    let mut marked = server.delete(&item).await.ok();
    marked["metadata"]["finalizers"] = json!([]);
    server.put(&item, &marked).await.ok();
    server.get(&item).await.refused(404);
}

#[tokio::test]
async fn a_policy_becomes_a_finalizer() {
    let server = start_server().await;
    for (options, expected) in [
        ("propagationPolicy=Orphan", json!(["orphan"])),
        (
            "propagationPolicy=Foreground",
            json!(["foregroundDeletion"]),
        ),
        ("orphanDependents=true", json!(["orphan"])),
    ] {
        let name = format!("p{}", options.len());
        held(&server, &name, json!([])).await;
        let item = format!("{CONFIG_MAPS}/{name}");
        let marked = server.delete(&format!("{item}?{options}")).await.ok();
        assert_eq!(marked["metadata"]["finalizers"], expected, "{options}");
        assert!(marked["metadata"]["deletionTimestamp"].is_string());
        server
            .delete(&format!("{item}?propagationPolicy=Background"))
            .await
            .ok();
        server.get(&item).await.refused(404);
    }
    held(&server, "kept", json!(["x.io/f"])).await;
    let item = format!("{CONFIG_MAPS}/kept?propagationPolicy=Foreground");
    let marked = server.delete(&item).await.ok();
    let expected = json!(["x.io/f", "foregroundDeletion"]);
    assert_eq!(marked["metadata"]["finalizers"], expected);
}

#[tokio::test]
async fn a_policy_may_be_in_the_body() {
    let server = start_server().await;
    held(&server, "a", json!([])).await;
    let options = json!({"propagationPolicy": "Foreground"});
    let item = format!("{CONFIG_MAPS}/a");
    let marked = server.delete_with(&item, &options).await.ok();
    let expected = json!(["foregroundDeletion"]);
    assert_eq!(marked["metadata"]["finalizers"], expected);
}

#[tokio::test]
async fn a_cascade_that_takes_time_is_accepted() {
    let server = start_server().await;
    held(&server, "a", json!(["x.io/f"])).await;
    let item = format!("{CONFIG_MAPS}/a?orphanDependents=false");
    let answer = server.delete(&item).await;
    assert_eq!(answer.code, 202);
    assert_eq!(answer.json()["kind"], "ConfigMap");
}

#[tokio::test]
async fn options_that_contradict_each_other_are_refused() {
    let server = start_server().await;
    held(&server, "a", json!([])).await;
    for options in [
        "propagationPolicy=Sometimes",
        "propagationPolicy=Orphan&orphanDependents=true",
    ] {
        let item = format!("{CONFIG_MAPS}/a?{options}");
        let status = server.delete(&item).await.refused(422);
        assert_eq!(status["details"]["kind"], "DeleteOptions", "{options}");
    }
    server.get(&format!("{CONFIG_MAPS}/a")).await.ok();
}

#[tokio::test]
async fn only_the_object_that_was_meant_is_deleted() {
    let server = start_server().await;
    let stored = held(&server, "a", json!([])).await;
    let item = format!("{CONFIG_MAPS}/a");
    for wrong in [json!({"uid": "other"}), json!({"resourceVersion": "1"})] {
        let options = json!({"preconditions": wrong});
        let status = server.delete_with(&item, &options).await.refused(409);
        assert_eq!(status["details"]["kind"], "ConfigMap");
    }
    let right = json!({"preconditions": {
        "uid": stored["metadata"]["uid"],
        "resourceVersion": stored["metadata"]["resourceVersion"],
    }});
    server.delete_with(&item, &right).await.ok();
}

#[tokio::test]
async fn bad_options_in_a_body_are_refused() {
    let server = start_server().await;
    held(&server, "a", json!([])).await;
    let item = format!("{CONFIG_MAPS}/a");
    for bad in [json!([]), json!("x"), json!({"gracePeriodSeconds": "soon"})] {
        let answer = server.delete_with(&item, &bad).await;
        assert_eq!(answer.refused(400)["reason"], "BadRequest", "{bad}");
    }
    let wrong_kind = json!({"kind": "ConfigMap", "apiVersion": "v1"});
    server.delete_with(&item, &wrong_kind).await.refused(400);
    server.get(&item).await.ok();
}
