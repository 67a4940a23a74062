//! Bodies that are no objects, or odd ones.

use http::Method;
use serde_json::{Value, json};

use super::{CONFIG_MAPS, soon};
use crate::{
    client::Answer,
    running::{TestServer, start_server},
};

const PODS: &str = "/api/v1/namespaces/default/pods";

async fn post(server: &TestServer, body: impl Into<bytes::Bytes>) -> Answer {
    let call = server.call(Method::POST, CONFIG_MAPS);
    soon(call.body("application/json", body).answer()).await
}

#[tokio::test]
async fn what_is_not_an_object_is_refused() {
    let server = start_server().await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_object = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    for body in [
        "",
        " ",
        "[]",
        "1",
        "\"x\"",
        "true",
        "{",
        "}",
        "{]",
        "{\"a\"}",
        "{\"a\":}",
        "nul",
        "{}{}",
        "{} x",
        "'a'",
        "{a:1}",
        "{\"a\":01}",
        "{\"a\":.5}",
        "{\"a\":+1}",
        "{\"a\":NaN}",
        "{\"a\":\"\u{1}\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12\"}",
        "\u{feff}{}",
        &deep,
        &deep_object,
    ] {
        let answer = post(&server, body.to_owned()).await;
        let shown: String = body.chars().take(40).collect();
        assert_eq!(answer.code, 400, "{shown:?}: {}", answer.text());
        assert!(answer.body.len() < 10_000, "{shown:?}: a short answer");
        assert_eq!(answer.json()["reason"], "BadRequest", "{shown:?}");
    }
    server.assert_well().await;
}

#[tokio::test]
async fn an_object_without_a_name_is_refused_as_such() {
    let server = start_server().await;
    for body in ["null", "{}", r#"{"metadata":null}"#, r#"{"metadata":{}}"#] {
        let status = post(&server, body).await.refused(422);
        let cause = &status["details"]["causes"][0];
        assert_eq!(cause["field"], "metadata.name", "{body}");
        assert_eq!(cause["reason"], "FieldValueRequired", "{body}");
    }
}

#[tokio::test]
async fn text_that_is_not_unicode_is_refused() {
    let server = start_server().await;
    let mut invalid = br#"{"metadata":{"name":"a"},"data":{"k":""#.to_vec();
    invalid.extend([0xff, 0xfe, 0xc0, 0x80]);
    invalid.extend(br#""}}"#);
    let mut overlong = br#"{"metadata":{"name":"a"},"data":{""#.to_vec();
    overlong.extend([0xed, 0xa0, 0x80]);
    overlong.extend(br#"":""}}"#);
    let surrogate = br#"{"metadata":{"name":"a"},"data":{"k":"\ud800"}}"#.to_vec();
    for body in [invalid, overlong, surrogate] {
        assert_eq!(
            post(&server, body).await.refused(400)["reason"],
            "BadRequest"
        );
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_compressed_body_is_not_what_it_says() {
    let server = start_server().await;
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut bomb, &vec![b' '; 50_000_000]).unwrap();
    let call = server.call(Method::POST, CONFIG_MAPS);
    let call = call.header("content-encoding", "gzip");
    let answer = call
        .body("application/json", bomb.finish().unwrap())
        .answer();
    soon(answer).await.refused(400);
    server.assert_well().await;
}

#[tokio::test]
async fn members_of_the_wrong_type_are_refused() {
    let server = start_server().await;
    for body in [
        json!({"metadata": []}),
        json!({"metadata": "x"}),
        json!({"metadata": {"name": 5}}),
        json!({"metadata": {"name": ["a"]}}),
        json!({"metadata": {"name": "a", "labels": []}}),
        json!({"metadata": {"name": "a", "labels": {"k": 1}}}),
        json!({"metadata": {"name": "a", "labels": {"k": {}}}}),
        json!({"metadata": {"name": "a", "annotations": {"k": []}}}),
        json!({"metadata": {"name": "a", "finalizers": "x.io/f"}}),
        json!({"metadata": {"name": "a", "finalizers": [1]}}),
        json!({"metadata": {"name": "a", "ownerReferences": {}}}),
        json!({"metadata": {"name": "a", "ownerReferences": [1]}}),
        json!({"metadata": {"name": "a", "creationTimestamp": "yesterday"}}),
        json!({"metadata": {"name": "a", "creationTimestamp": 5}}),
        json!({"metadata": {"name": "a", "managedFields": "mine"}}),
        json!({"metadata": {"name": "a"}, "data": "x"}),
        json!({"metadata": {"name": "a"}, "data": {"k": null, "l": 1}}),
        json!({"metadata": {"name": "a"}, "binaryData": {"k": "not base64!"}}),
        json!({"metadata": {"name": "a"}, "immutable": "yes"}),
        json!({"metadata": {"name": "a"}, "kind": 5}),
        json!({"metadata": {"name": "a"}, "apiVersion": []}),
        json!({"metadata": {"name": "a"}, "kind": "Secret", "apiVersion": "v1"}),
        json!({"metadata": {"name": "a"}, "kind": "ConfigMap", "apiVersion": "v2"}),
        json!({"metadata": {"name": "a"}, "kind": "ConfigMapList", "apiVersion": "v1"}),
    ] {
        let answer = soon(server.post(CONFIG_MAPS, &body)).await;
        assert_eq!(answer.code, 400, "{body}: {}", answer.text());
    }
    server.get(&format!("{CONFIG_MAPS}/a")).await.refused(404);
    server.assert_well().await;
}

#[tokio::test]
async fn metadata_that_breaks_the_rules_is_invalid() {
    let server = start_server().await;
    let owner = |changes: Value| {
        let mut owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"});
        for (name, value) in changes.as_object().unwrap() {
            owner[name] = value.clone();
        }
        json!({"ownerReferences": [owner]})
    };
    for metadata in [
        json!({"labels": {"": "v"}}),
        json!({"labels": {"a b": "v"}}),
        json!({"labels": {"k": "not valid!"}}),
        json!({"labels": {"k": "v".repeat(64)}}),
        json!({"annotations": {"a b": "v"}}),
        json!({"finalizers": ["no slash and space"]}),
        json!({"finalizers": [""]}),
        owner(json!({"uid": ""})),
        owner(json!({"name": ""})),
        owner(json!({"kind": ""})),
        owner(json!({"apiVersion": ""})),
    ] {
        let mut object = json!({"metadata": metadata});
        object["metadata"]["name"] = json!("a");
        let answer = soon(server.post(CONFIG_MAPS, &object)).await;
        assert_eq!(answer.code, 422, "{object}: {}", answer.text());
    }
    server.assert_well().await;
}

#[tokio::test]
async fn whole_numbers_stay_exact_and_others_are_refused() {
    let server = start_server().await;
    let pod = |seconds: &str| {
        format!(
            r#"{{"metadata":{{"name":"p"}},"spec":{{"terminationGracePeriodSeconds":{seconds},
               "containers":[{{"name":"c","image":"i"}}]}}}}"#
        )
    };
    for bad in [
        "1.5",
        "\"3\"",
        "1e400",
        "9223372036854775808",
        "true",
        "{}",
        "-1e400",
    ] {
        let call = server.call(Method::POST, PODS);
        let answer = soon(call.body("application/json", pod(bad)).answer()).await;
        assert_eq!(answer.code, 400, "{bad}: {}", answer.text());
    }
    let call = server.call(Method::POST, PODS);
    let exact = call.body("application/json", pod("9007199254740993"));
    let created = exact.answer().await;
    assert!(
        created
            .text()
            .contains("\"terminationGracePeriodSeconds\":9007199254740993")
    );
    let read = server.get(&format!("{PODS}/p")).await;
    assert!(
        read.text()
            .contains("\"terminationGracePeriodSeconds\":9007199254740993")
    );
}

#[tokio::test]
async fn very_many_members_are_handled_soon() {
    let server = start_server().await;
    let labels: serde_json::Map<String, Value> = (0..50_000)
        .map(|index| (format!("label-{index}"), json!("v")))
        .collect();
    let finalizers: Vec<String> = (0..10_000).map(|index| format!("x.io/f{index}")).collect();
    let mut owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p"});
    let mut owners = Vec::new();
    for index in 0..5_000 {
        owner["uid"] = json!(index.to_string());
        owners.push(owner.clone());
    }
    let data: serde_json::Map<String, Value> = (0..50_000)
        .map(|index| (format!("key-{index}"), json!("v")))
        .collect();
    for (name, mut object) in [
        ("labels", json!({"metadata": {"labels": labels}})),
        (
            "finalizers",
            json!({"metadata": {"finalizers": finalizers}}),
        ),
        ("owners", json!({"metadata": {"ownerReferences": owners}})),
        ("data", json!({"data": data})),
    ] {
        object["metadata"]["name"] = json!(name);
        soon(server.post(CONFIG_MAPS, &object)).await.created();
        let path = format!("{CONFIG_MAPS}/{name}");
        soon(server.put(&path, &object)).await.ok();
        soon(server.merge(&path, &json!({"data": {"k": "v"}})))
            .await
            .ok();
        soon(server.delete(&path)).await.ok();
    }
    let item = format!("{CONFIG_MAPS}/finalizers");
    let none = json!({"metadata": {"finalizers": null}});
    soon(server.merge(&item, &none)).await.ok();
    server.assert_well().await;
}

#[tokio::test]
async fn an_object_may_own_itself_and_nothing_comes_of_it() {
    let server = start_server().await;
    let created = server
        .post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}}))
        .await
        .created();
    let owner = json!([{
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "a",
        "uid": created["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    }]);
    let path = format!("{CONFIG_MAPS}/a");
    let patch = json!({"metadata": {"ownerReferences": owner}});
    server.merge(&path, &patch).await.ok();
    server.delete(&path).await.ok();
    server.assert_well().await;
}

#[tokio::test]
async fn forged_ownership_of_fields_does_no_harm() {
    let server = start_server().await;
    for entry in [
        json!({"manager": "m", "operation": "Steal", "apiVersion": "v1", "fieldsType": "FieldsV1"}),
        json!({"manager": "m", "operation": "Update", "fieldsType": "FieldsV9"}),
        json!({
            "manager": "m".repeat(5_000),
            "operation": "Update",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"x:bad": {}}},
        }),
        json!({
            "manager": "m",
            "operation": "Apply",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsV1": {"k:{not json": {}, "i:abc": {}, "v:": {}},
        }),
    ] {
        let object = json!({
            "metadata": {"generateName": "forged-", "managedFields": [entry]},
        });
        let answer = soon(server.post(CONFIG_MAPS, &object)).await;
        assert!(answer.code < 500, "{entry}: {}", answer.text());
        if answer.code == 201 {
            let name = answer.json()["metadata"]["name"].clone();
            let path = format!("{CONFIG_MAPS}/{}", name.as_str().unwrap());
            server.merge(&path, &json!({"data": {"k": "v"}})).await.ok();
        }
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_flood_of_mistakes_gets_a_short_answer() {
    let server = start_server().await;
    let members = |value: Value| -> Value {
        let named = |index: i32| (format!("odd member {index}"), value.clone());
        Value::Object((0..20_000).map(named).collect())
    };
    let mut unknown = members(json!(1));
    unknown["metadata"] = json!({"name": "a"});
    let answer = soon(server.post(CONFIG_MAPS, &unknown)).await;
    answer.created();
    let warnings: usize = answer
        .headers
        .get_all("warning")
        .iter()
        .map(|it| it.len())
        .sum();
    assert!(warnings < 16_000, "{warnings} bytes of warnings");
    let strict = format!("{CONFIG_MAPS}?fieldValidation=Strict");
    let answer = soon(server.post(&strict, &unknown)).await;
    answer.refused(400);
    assert!(answer.body.len() < 100_000, "{} bytes", answer.body.len());
    for metadata in [
        json!({"name": "b", "labels": members(json!("v"))}),
        json!({"name": "b", "annotations": members(json!("v"))}),
        json!({"name": "b", "finalizers": vec!["a b"; 20_000]}),
    ] {
        let object = json!({"metadata": metadata});
        let answer = soon(server.post(CONFIG_MAPS, &object)).await;
        answer.refused(422);
        assert!(answer.body.len() < 1_000_000, "{} bytes", answer.body.len());
    }
    server.assert_well().await;
}
