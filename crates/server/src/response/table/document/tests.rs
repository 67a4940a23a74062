use serde_json::json;

use super::*;
use crate::response::table::test_rows::now;

const CONFIG_MAP: &str = r#"{"metadata":{"name":"c4","namespace":"default","uid":"becc06e5","resourceVersion":"140","creationTimestamp":"2026-11-15T11:56:42Z","labels":{"a":"b"},"managedFields":[{"manager":"gold","operation":"Update"}]},"data":{"k":"v"}}"#;

fn table(row_object: RowObject<'static>) -> Table<'static> {
    Table {
        printer: Printer::for_resource("", "configmaps"),
        version: MetaVersion::V1,
        row_object,
        now: now(),
    }
}

fn one(table: Table<'_>, object: &str, definitions: ColumnDefinitions) -> String {
    let mut buffer = Vec::new();
    table
        .write_one(object.as_bytes(), definitions, &mut buffer)
        .unwrap();
    String::from_utf8(buffer).unwrap()
}

#[test]
fn a_page_of_a_list_is_one_document() {
    let metadata = ListMetadata {
        resource_version: Some("180"),
        continue_token: Some("eyJ2Ijoi"),
        remaining_item_count: Some(8),
    };
    let mut buffer = Vec::new();
    let mut list = table(RowObject::None).begin_list(&metadata, &mut buffer);
    list.row(CONFIG_MAP.as_bytes(), &mut buffer).unwrap();
    list.row(CONFIG_MAP.as_bytes(), &mut buffer).unwrap();
    list.end(&mut buffer);
    let mut document: Value = serde_json::from_slice(&buffer).unwrap();
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
            "columnDefinitions": [
                {"name": "Name", "type": "string", "format": "name", "description": null, "priority": 0},
                {"name": "Data", "type": "string", "format": "", "description": null, "priority": 0},
                {"name": "Age", "type": "string", "format": "", "description": null, "priority": 0},
            ],
            "rows": [row, row],
        })
    );
}

#[test]
fn a_row_carries_the_metadata_of_its_object_as_stored() {
    assert_eq!(
        one(
            table(RowObject::Metadata),
            CONFIG_MAP,
            ColumnDefinitions::Omitted
        ),
        r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"140"},"columnDefinitions":null,"rows":[{"cells":["c4",1,"3m18s"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"c4","namespace":"default","uid":"becc06e5","resourceVersion":"140","creationTimestamp":"2026-11-15T11:56:42Z","labels":{"a":"b"},"managedFields":[{"manager":"gold","operation":"Update"}]}}}]}"#
    );
}

#[test]
fn a_bookmark_is_a_row_of_an_empty_object() {
    let bookmark = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"89","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    assert_eq!(
        one(
            table(RowObject::Metadata),
            bookmark,
            ColumnDefinitions::Omitted
        ),
        r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"89"},"columnDefinitions":null,"rows":[{"cells":["",0,"<unknown>"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"89","annotations":{"k8s.io/initial-events-end":"true"}}}}]}"#
    );
}

#[test]
fn a_whole_object_says_its_kind_whether_or_not_it_was_stored_with_it() {
    let whole = RowObject::Whole {
        api_version: "v1",
        kind: "ConfigMap",
    };
    let typed = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{"k":"v"}}"#;
    let untyped = r#"{"metadata":{},"data":{"k":"v"}}"#;
    let expected =
        r#""object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{},"data":{"k":"v"}}}]}"#;
    for object in [typed, untyped] {
        let document = one(table(whole), object, ColumnDefinitions::Omitted);
        assert!(document.ends_with(expected), "{document}");
    }
}

#[test]
fn the_beta_version_reaches_the_objects_of_the_rows() {
    let beta = Table {
        version: MetaVersion::V1Beta1,
        ..table(RowObject::Metadata)
    };
    let document = one(beta, CONFIG_MAP, ColumnDefinitions::Included);
    let document: Value = serde_json::from_str(&document).unwrap();
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
    let finished = r#"{"metadata":{"name":"p"},"status":{"phase":"Failed"}}"#;
    let document = one(pods, finished, ColumnDefinitions::Omitted);
    let document: Value = serde_json::from_str(&document).unwrap();
    let condition = &document["rows"][0]["conditions"][0];
    assert_eq!(condition["type"], "Completed");
    assert_eq!(condition["reason"], "Failed");
}

#[test]
fn a_broken_object_leaves_the_buffer_as_it_was() {
    let mut buffer = Vec::new();
    let mut list = table(RowObject::None).begin_list(&ListMetadata::default(), &mut buffer);
    let before = buffer.clone();
    assert!(list.row(br#"{"metadata":"#, &mut buffer).is_err());
    assert_eq!(buffer, before);
    list.end(&mut buffer);
    assert!(buffer.ends_with(br#""rows":[]}"#));
}
