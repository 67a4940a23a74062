use serde_json::json;

use super::*;
use crate::response::table::test_rows::now;

const VERSION: ResourceVersion = ResourceVersion::new(140);

fn table(row_object: RowObject) -> Table {
    Table {
        printer: Printer::for_resource("", "configmaps"),
        version: MetaVersion::V1,
        row_object,
        now: now(),
    }
}

fn stored(object: &Value) -> StoredObject {
    StoredObject::scan(to_canonical(object).into(), &[]).unwrap()
}

fn config_map() -> StoredObject {
    stored(&json!({
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "name": "c4",
            "uid": "becc06e5",
            "creationTimestamp": "2026-11-15T11:56:42Z",
            "managedFields": [{"manager": "gold"}],
        },
        "data": {"k": "v"},
    }))
}

fn one(table: Table, object: &StoredObject, definitions: ColumnDefinitions) -> String {
    let mut buffer = Vec::new();
    table.append_one(object, VERSION, definitions, &mut buffer);
    String::from_utf8(buffer).unwrap()
}

fn parsed(table: Table, object: &StoredObject) -> Value {
    serde_json::from_str(&one(table, object, ColumnDefinitions::Included)).unwrap()
}

#[test]
fn a_page_of_a_list_is_one_document() {
    let metadata = ListMetadata {
        resource_version: ResourceVersion::new(180),
        continue_token: Some("eyJ2Ijoi"),
        remaining_item_count: Some(8),
    };
    let mut buffer = Vec::new();
    let mut list = table(RowObject::None).begin_list(&metadata, &mut buffer);
    list.row(&config_map(), VERSION, &mut buffer);
    list.row(&config_map(), VERSION, &mut buffer);
    list.end(&mut buffer);
    let mut document: Value = serde_json::from_slice(&buffer).unwrap();
    let column = |name: &str, format: &str| {
        let mut column = json!({"type": "string", "description": null, "priority": 0});
        column["name"] = name.into();
        column["format"] = format.into();
        column
    };
    for column in document["columnDefinitions"].as_array_mut().unwrap() {
        assert!(column["description"].take().is_string());
    }
    let row = json!({"cells": ["c4", 1, "3m18s"], "object": null});
    assert_eq!(
        document,
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": "180", "continue": "eyJ2Ijoi", "remainingItemCount": 8},
            "columnDefinitions": [column("Name", "name"), column("Data", ""), column("Age", "")],
            "rows": [row, row],
        })
    );
}

#[test]
fn a_row_carries_the_metadata_of_its_object_as_stored() {
    let document = one(
        table(RowObject::Metadata),
        &config_map(),
        ColumnDefinitions::Omitted,
    );
    let expected = concat!(
        r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"140"},"#,
        r#""columnDefinitions":null,"rows":[{"cells":["c4",1,"3m18s"],"object":"#,
        r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#,
        r#"{"name":"c4","uid":"becc06e5","resourceVersion":"140","#,
        r#""creationTimestamp":"2026-11-15T11:56:42Z","managedFields":[{"manager":"gold"}]}}}]}"#
    );
    assert_eq!(document, expected);
}

#[test]
fn a_bookmark_is_a_row_of_an_empty_object() {
    let bookmark = stored(&json!({
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"annotations": {"k8s.io/initial-events-end": "true"}},
    }));
    let document = one(
        table(RowObject::Metadata),
        &bookmark,
        ColumnDefinitions::Omitted,
    );
    let expected = concat!(
        r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"140"},"#,
        r#""columnDefinitions":null,"rows":[{"cells":["",0,"\u003cunknown\u003e"],"object":"#,
        r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#,
        r#"{"resourceVersion":"140","annotations":{"k8s.io/initial-events-end":"true"}}}}]}"#
    );
    assert_eq!(document, expected);
}

#[test]
fn a_whole_object_comes_with_the_header_that_was_asked_for() {
    let header = br#""kind":"Other","apiVersion":"v2""#;
    let document = parsed(
        table(RowObject::WithHeader(header.as_slice().into())),
        &config_map(),
    );
    let object = &document["rows"][0]["object"];
    assert_eq!(object["kind"], "Other");
    assert_eq!(object["apiVersion"], "v2");
    assert_eq!(object["data"], json!({"k": "v"}));
    assert_eq!(object["metadata"]["resourceVersion"], "140");
}

#[test]
fn the_beta_version_reaches_the_objects_of_the_rows() {
    let beta = Table {
        version: MetaVersion::V1Beta1,
        ..table(RowObject::Metadata)
    };
    let document = parsed(beta, &config_map());
    assert_eq!(document["apiVersion"], "meta.k8s.io/v1beta1");
    assert_eq!(
        document["rows"][0]["object"]["apiVersion"],
        "meta.k8s.io/v1beta1"
    );
}

#[test]
fn the_row_of_a_finished_pod_says_so() {
    let pods = Table {
        printer: Printer::for_resource("", "pods"),
        ..table(RowObject::None)
    };
    let pod = |phase: &str| stored(&json!({"status": {"phase": phase}}));
    let conditions = &parsed(pods.clone(), &pod("Failed"))["rows"][0]["conditions"];
    assert_eq!(conditions[0]["type"], "Completed");
    assert_eq!(conditions[0]["reason"], "Failed");
    let running = parsed(pods, &pod("Running"));
    assert!(running["rows"][0].get("conditions").is_none());
}

#[test]
fn a_list_without_rows_has_an_empty_array() {
    let mut buffer = Vec::new();
    let metadata = ListMetadata::complete(VERSION);
    table(RowObject::None)
        .begin_list(&metadata, &mut buffer)
        .end(&mut buffer);
    assert!(buffer.ends_with(br#""rows":[]}"#));
}
