//! Tables, as `kubectl get` shows them.

use http::Method;
use serde_json::{Value, json};

use super::{CONFIG_MAPS, create, two_config_maps};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn column_names(table: &Value) -> Vec<&str> {
    let columns = table["columnDefinitions"].as_array().unwrap();
    columns
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_list_is_a_table_with_a_row_for_each_object() {
    let server = two_config_maps().await;
    let table = server.get_as(CONFIG_MAPS, TABLE).await.ok();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["apiVersion"], "meta.k8s.io/v1");
    assert!(table["metadata"]["resourceVersion"].is_string());
    assert_eq!(column_names(&table), ["Name", "Data", "Age"]);
    let rows = table["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["cells"][0], "a");
    assert_eq!(rows[0]["cells"][1], 1);
    assert_eq!(rows[0]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(rows[1]["object"]["metadata"]["name"], "b");
    assert!(rows[0]["object"].get("data").is_none());
}

#[tokio::test]
async fn one_object_is_a_table_of_one_row() {
    let server = two_config_maps().await;
    let path = format!("{CONFIG_MAPS}/a");
    let table = server.get_as(&path, TABLE).await.ok();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["rows"].as_array().unwrap().len(), 1);
    let object = server.get(&path).await.ok();
    let version = &object["metadata"]["resourceVersion"];
    assert_eq!(&table["metadata"]["resourceVersion"], version);
}

#[tokio::test]
async fn a_row_holds_as_much_of_its_object_as_asked() {
    let server = two_config_maps().await;
    for (parameter, expected) in [
        ("None", json!(null)),
        ("Metadata", json!("PartialObjectMetadata")),
        ("Object", json!("ConfigMap")),
    ] {
        let path = format!("{CONFIG_MAPS}?includeObject={parameter}");
        let table = server.get_as(&path, TABLE).await.ok();
        assert_eq!(table["rows"][0]["object"]["kind"], expected, "{parameter}");
    }
    let path = format!("{CONFIG_MAPS}?includeObject=Half");
    server.get_as(&path, TABLE).await.refused(400);
}

#[tokio::test]
async fn a_table_is_paged_like_a_list() {
    let server = two_config_maps().await;
    let first = server
        .get_as(&format!("{CONFIG_MAPS}?limit=1"), TABLE)
        .await;
    let first = first.ok();
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let path = format!("{CONFIG_MAPS}?limit=1&continue={token}");
    let second = server.get_as(&path, TABLE).await.ok();
    assert_eq!(second["rows"][0]["cells"][0], "b");
    assert!(second["metadata"].get("continue").is_none());
}

#[tokio::test]
async fn a_watch_tells_rows_and_the_columns_once() {
    let server = two_config_maps().await;
    let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true");
    let call = server.call(Method::GET, &path).header("accept", TABLE);
    let mut events = call.events().await;
    let first = events.next().await;
    assert_eq!(first.event_type, "ADDED");
    assert_eq!(column_names(&first.object), ["Name", "Data", "Age"]);
    assert_eq!(first.object["rows"][0]["cells"][0], "a");
    let second = events.next().await.object;
    assert_eq!(second["columnDefinitions"], json!(null));
    assert_eq!(second["rows"][0]["cells"][0], "b");
    let mark = events.next().await;
    assert_eq!(mark.event_type, "BOOKMARK");
    assert_eq!(mark.object["kind"], "Table");
    let marked = &mark.object["rows"][0]["object"]["metadata"];
    assert_eq!(marked["annotations"]["k8s.io/initial-events-end"], "true");

    let created = create(&server, "c").await;
    let third = events.next().await.object;
    assert_eq!(third["columnDefinitions"], json!(null));
    assert_eq!(third["rows"][0]["cells"][0], "c");
    let version = &created["metadata"]["resourceVersion"];
    assert_eq!(&third["metadata"]["resourceVersion"], version);
    server.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    let gone = events.next().await;
    assert_eq!(gone.event_type, "DELETED");
    assert_eq!(gone.object["rows"][0]["cells"][0], "a");
}

#[tokio::test]
async fn writes_answer_with_a_table_too() {
    let server = two_config_maps().await;
    let object = json!({"metadata": {"name": "c"}});
    let call = server.call(Method::POST, CONFIG_MAPS).json(&object);
    let table = call.header("accept", TABLE).answer().await.created();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["rows"][0]["cells"][0], "c");
}

#[tokio::test]
async fn the_first_form_that_is_served_is_taken() {
    let server = two_config_maps().await;
    let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,\
                   application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    let table = server.get_as(CONFIG_MAPS, kubectl).await.ok();
    assert_eq!(table["apiVersion"], "meta.k8s.io/v1");
    let beta = "application/json;as=Table;v=v1beta1;g=meta.k8s.io";
    let table = server.get_as(CONFIG_MAPS, beta).await.ok();
    assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
    let unknown = "application/json;as=Table;v=v9;g=meta.k8s.io,application/json";
    let list = server.get_as(CONFIG_MAPS, unknown).await.ok();
    assert_eq!(list["kind"], "ConfigMapList");
}
