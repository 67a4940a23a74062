//! What is stored in one version is read in another.

use serde_json::{Value, json};

use super::{DEFINITION, DEFINITIONS, Scene, V1, V2, definition, start_hook, widget_v2};
use crate::running::start_server;

const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

#[tokio::test]
async fn an_object_is_converted_once_however_often_it_is_read() {
    let scene = Scene::new().await;
    let stored = scene.store("a", "red").await;
    assert_eq!(scene.questions(), 0);
    for _ in 0..3 {
        let shown = scene.get_v2("a").await.ok();
        assert_eq!(shown["apiVersion"], "ex.com/v2");
        assert_eq!(shown["spec"], json!({"paint": {"color": "red"}, "size": 3}));
        assert_eq!(shown["metadata"], stored["metadata"]);
    }
    assert_eq!(scene.questions(), 1);
    let asked = &scene.hook.asked()[0];
    assert_eq!(asked["desiredAPIVersion"], "ex.com/v2");
    assert_eq!(
        asked["objects"][0]["spec"],
        json!({"color": "red", "size": 3})
    );
    assert_eq!(asked["objects"][0]["metadata"].get("resourceVersion"), None);
    let changed = json!({"spec": {"color": "blue"}});
    scene.server.merge(&format!("{V1}/a"), &changed).await.ok();
    let shown = scene.get_v2("a").await.ok();
    assert_eq!(shown["spec"]["paint"]["color"], "blue");
    assert_eq!(scene.questions(), 2);
}

#[tokio::test]
async fn a_list_is_converted_by_one_question() {
    let scene = Scene::new().await;
    for number in 0..1_000 {
        scene.store(&format!("w{number:04}"), "red").await;
    }
    let list = scene.server.get(V2).await.ok();
    let items = list["items"].as_array().unwrap();
    assert_eq!((items.len(), scene.questions()), (1_000, 1));
    let is_converted =
        |item: &Value| item["apiVersion"] == "ex.com/v2" && item["spec"]["paint"]["color"] == "red";
    assert!(items.iter().all(is_converted));
    let page = scene.server.get(&format!("{V2}?limit=10")).await.ok();
    assert_eq!(page["items"].as_array().unwrap().len(), 10);
    assert_eq!(page["metadata"]["remainingItemCount"], 990);
    scene.get_v2("w0500").await.ok();
    assert_eq!(scene.questions(), 1);
}

#[tokio::test]
async fn objects_of_an_earlier_stored_version_are_read_beside_the_others() {
    let scene = Scene::new().await;
    scene.store("old", "red").await;
    let mut other = scene.server.get(DEFINITION).await.ok();
    other["spec"]["versions"][0]["storage"] = json!(false);
    other["spec"]["versions"][1]["storage"] = json!(true);
    let other = scene.server.put(DEFINITION, &other).await.ok();
    assert_eq!(other["status"]["storedVersions"], json!(["v1", "v2"]));
    let new = widget_v2("new", "blue");
    scene.server.post(V2, &new).await.created();
    assert_eq!(scene.questions(), 0);
    let list = scene.server.get(V2).await.ok();
    assert_eq!(list["items"][0]["spec"]["paint"]["color"], "blue");
    assert_eq!(list["items"][1]["spec"]["paint"]["color"], "red");
    let sent = scene.hook.asked()[0]["objects"].clone();
    assert_eq!(sent.as_array().unwrap().len(), 1);
    let list = scene.server.get(V1).await.ok();
    assert_eq!(list["items"][0]["spec"]["color"], "blue");
    assert_eq!(list["items"][1]["spec"]["color"], "red");
    // Written again, it is stored in the new version.
    let path = format!("{V1}/old");
    let same = scene.server.get(&path).await.ok();
    scene.server.put(&path, &same).await.ok();
    let before = scene.questions();
    scene.get_v2("old").await.ok();
    assert_eq!(scene.questions(), before);
}

#[tokio::test]
async fn a_table_and_a_scale_show_what_was_converted() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    let table = scene.server.get_as(V2, TABLE).await.ok();
    assert_eq!(table["rows"][0]["cells"], json!(["a", "red"]));
    let scale = scene.server.get(&format!("{V2}/a/scale")).await.ok();
    assert_eq!(scale["spec"], json!({"replicas": 3}));
    let scaled = json!({"spec": {"replicas": 7}});
    let path = format!("{V2}/a/scale");
    scene.server.merge(&path, &scaled).await.ok();
    let shown = scene.get_v2("a").await.ok();
    assert_eq!(shown["spec"], json!({"paint": {"color": "red"}, "size": 7}));
}

#[tokio::test]
async fn the_metadata_alone_needs_no_webhook() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    scene.twist(|answer| answer["response"]["result"] = json!({"status": "Failure"}));
    let object = scene.server.get_as(&format!("{V2}/a"), METADATA).await.ok();
    assert_eq!(object["kind"], "PartialObjectMetadata");
    let list = scene.server.get_as(V2, METADATA_LIST).await.ok();
    assert_eq!(list["items"][0]["metadata"]["name"], "a");
    let deleted = scene.server.delete(&format!("{V2}/a")).await.ok();
    assert_eq!(deleted["status"], "Success");
    assert_eq!(scene.questions(), 0);
}

#[tokio::test]
async fn selectors_look_at_the_version_that_is_read() {
    let scene = Scene::new().await;
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red"), ("d", "red")] {
        scene.store(name, color).await;
    }
    scene.twist(|answer| {
        for object in answer["response"]["convertedObjects"]
            .as_array_mut()
            .unwrap()
        {
            object["metadata"]["labels"] = json!({"of": object["spec"]["paint"]["color"]});
        }
    });
    let by_field = format!("{V2}?fieldSelector=spec.paint.color%3Dred");
    let list = scene.server.get(&by_field).await;
    assert_eq!(list.item_names(), ["a", "c", "d"]);
    let by_label = format!("{V2}?labelSelector=of%3Dblue");
    assert_eq!(scene.server.get(&by_label).await.item_names(), ["b"]);
    let page = scene.server.get(&format!("{by_field}&limit=2")).await;
    assert_eq!(page.item_names(), ["a", "c"]);
    let token = page.ok()["metadata"]["continue"]
        .as_str()
        .unwrap()
        .to_owned();
    let rest = scene
        .server
        .get(&format!("{by_field}&limit=2&continue={token}"))
        .await;
    assert_eq!(rest.item_names(), ["d"]);
    assert_eq!(rest.ok()["metadata"].get("continue"), Some(&json!("")));
    scene
        .server
        .get(&format!("{V2}?fieldSelector=spec.color%3Dred"))
        .await
        .says(400, "field label not supported: spec.color");
}

#[tokio::test]
async fn a_webhook_is_found_through_its_service() {
    let server = start_server().await;
    let (hook, _) = start_hook("hook.default.svc").await;
    let mut config = hook.client_config();
    config.as_object_mut().unwrap().remove("url");
    config["service"] = json!({
        "namespace": "default", "name": "hook", "port": hook.port(), "path": "/convert",
    });
    let service = json!({
        "metadata": {"name": "hook"},
        "spec": {"type": "ExternalName", "externalName": "127.0.0.1"},
    });
    let services = "/api/v1/namespaces/default/services";
    let mut definition = definition(&config);
    definition["spec"]["conversion"]["webhook"]["conversionReviewVersions"] = json!(["v1beta1"]);
    server.post(DEFINITIONS, &definition).await.created();
    server
        .post(V1, &super::widget_v1("a", "red"))
        .await
        .created();
    let refused = server.get(&format!("{V2}/a")).await.refused(500);
    let message = refused["message"].as_str().unwrap();
    assert!(message.ends_with("service \"hook\" not found"), "{message}");
    server.post(services, &service).await.created();
    let shown = server.get(&format!("{V2}/a")).await.ok();
    assert_eq!(shown["spec"]["paint"]["color"], "red");
}

#[tokio::test]
async fn what_another_webhook_says_counts_as_soon_as_it_is_defined() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    scene.get_v2("a").await.ok();
    let (other, twist) = start_hook("127.0.0.1").await;
    *twist.lock() = Some(Box::new(|answer| {
        answer["response"]["convertedObjects"][0]["spec"]["size"] = json!(99);
    }));
    let config = json!({"spec": {"conversion": {"webhook": {
        "clientConfig": other.client_config(),
    }}}});
    scene.server.merge(DEFINITION, &config).await.ok();
    let shown = scene.get_v2("a").await.ok();
    assert_eq!(shown["spec"]["size"], 99);
    assert_eq!((scene.questions(), other.asked().len()), (1, 1));
}
