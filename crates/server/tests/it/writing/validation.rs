//! fieldValidation: what becomes of fields that nobody knows, or that stand twice.

use http::Method;
use serde_json::json;

use super::{CONFIG_MAPS, config_map};
use crate::{
    client::{Answer, Call, MERGE_PATCH},
    running::{TestServer, start_server},
};

const ODD: &str = r#"{"metadata":{"name":"odd"},"zzz":1,"data":{"a":"1","a":"2"}}"#;

async fn send(server: &TestServer, method: Method, path: &str, body: &'static str) -> Answer {
    let content_type = match method {
        Method::PATCH => MERGE_PATCH,
        _ => "application/json",
    };
    server
        .call(method, path)
        .body(content_type, body)
        .answer()
        .await
}

fn warnings(answer: &Answer) -> Vec<&str> {
    let values = answer.headers.get_all("warning").iter();
    values.map(|value| value.to_str().unwrap()).collect()
}

const WARNINGS: [&str; 2] = [
    r#"299 - "unknown field \"zzz\"""#,
    r#"299 - "duplicate field \"data.a\"""#,
];

#[tokio::test]
async fn odd_fields_are_warned_of_unless_told_otherwise() {
    let server = start_server().await;
    for (validation, expected) in [
        ("", WARNINGS.as_slice()),
        ("&fieldValidation=Warn", &WARNINGS),
        ("&fieldValidation=", &WARNINGS),
        ("&fieldValidation=Ignore", &[]),
    ] {
        let path = format!("{CONFIG_MAPS}?dryRun=All{validation}");
        let answer = send(&server, Method::POST, &path, ODD).await;
        assert_eq!(warnings(&answer), expected, "{validation}");
        let created = answer.created();
        assert_eq!(created["data"]["a"], "2", "the last one counts");
        assert!(created.get("zzz").is_none());
    }
}

#[tokio::test]
async fn odd_fields_are_refused_when_asked_to() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?fieldValidation=Strict");
    let message = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding \
                   error: unknown field \"zzz\", duplicate field \"data.a\"";
    send(&server, Method::POST, &path, ODD)
        .await
        .says(400, message);
    server.get(&format!("{CONFIG_MAPS}/odd")).await.refused(404);
}

#[tokio::test]
async fn updates_and_patches_are_judged_the_same_way() {
    let server = start_server().await;
    server.post(CONFIG_MAPS, &config_map("odd")).await.created();
    let item = format!("{CONFIG_MAPS}/odd");
    let strict = format!("{item}?fieldValidation=Strict");
    send(&server, Method::PUT, &strict, ODD).await.refused(400);
    let put = send(&server, Method::PUT, &item, ODD).await;
    assert_eq!(warnings(&put), WARNINGS);

    let unknown = r#"{"zzz":1}"#;
    let patched = send(&server, Method::PATCH, &item, unknown).await;
    assert_eq!(warnings(&patched), [WARNINGS[0]]);
    assert!(patched.ok().get("zzz").is_none());
    for (patch, reason) in [
        (unknown, r#"unknown field "zzz""#),
        (
            r#"{"data":{"a":"1","a":"2"}}"#,
            r#"duplicate field "data.a""#,
        ),
        (
            r#"{"a":1,"a":2}"#,
            r#"duplicate field "a", unknown field "a""#,
        ),
    ] {
        let refused = send(&server, Method::PATCH, &strict, patch)
            .await
            .refused(422);
        let message = refused["message"].as_str().unwrap();
        assert!(message.starts_with(" \"\" is invalid: patch: Invalid value: \"{"));
        let expected = format!("\": strict decoding error: {reason}");
        assert!(message.ends_with(&expected), "{message}");
        assert_eq!(refused["details"]["causes"][0]["field"], "patch");
    }
}

#[tokio::test]
async fn a_patch_that_makes_another_kind_of_object_is_shown_with_the_reason() {
    let server = start_server().await;
    server.post(CONFIG_MAPS, &config_map("odd")).await.created();
    let item = format!("{CONFIG_MAPS}/odd");
    let refused = send(&server, Method::PATCH, &item, r#"{"data":1}"#)
        .await
        .refused(422);
    let message = refused["message"].as_str().unwrap();
    let expected = "\": json: cannot unmarshal number into Go struct field ConfigMap.data of type \
                    map[string]string";
    assert!(message.ends_with(expected), "{message}");
    for (patch, field) in [
        (r#"{"metadata":{"uid":"x"}}"#, "metadata.uid"),
        (
            r#"{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}"#,
            "metadata.deletionTimestamp",
        ),
    ] {
        let refused = send(&server, Method::PATCH, &item, patch)
            .await
            .refused(422);
        let cause = &refused["details"]["causes"][0];
        assert_eq!(cause["field"], field);
        assert!(
            cause["message"]
                .as_str()
                .unwrap()
                .ends_with(": field is immutable")
        );
    }
    let elsewhere = r#"{"metadata":{"namespace":"other"}}"#;
    send(&server, Method::PATCH, &item, elsewhere).await.says(
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    );
}

#[tokio::test]
async fn an_unknown_mode_is_refused() {
    let server = start_server().await;
    let path = format!("{CONFIG_MAPS}?fieldValidation=Sometimes");
    let status = server.post(&path, &config_map("a")).await.refused(422);
    assert_eq!(status["details"]["causes"][0]["field"], "fieldValidation");
}

#[tokio::test]
async fn a_wrong_type_in_a_known_field_is_refused_in_every_mode() {
    let server = start_server().await;
    let wrong = json!({"metadata": {"name": "a"}, "data": {"k": 1}});
    for validation in ["Ignore", "Warn", "Strict"] {
        let path = format!("{CONFIG_MAPS}?fieldValidation={validation}");
        let status = server.post(&path, &wrong).await.refused(400);
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("cannot unmarshal number"), "{message}");
    }
}

#[tokio::test]
async fn a_manager_has_a_name_of_bounded_length() {
    let server = start_server().await;
    let manager = "m".repeat(129);
    let path = format!("{CONFIG_MAPS}?fieldManager={manager}");
    let status = server.post(&path, &config_map("a")).await.refused(422);
    assert_eq!(status["details"]["causes"][0]["field"], "fieldManager");
}

const YAML_BODY: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: twice
  labels:
    a: b
    a: c
data:
  foo: one
  foo: two
  foo: three
";
const YAML_LINES: [&str; 3] = [
    r#"line 7: key "a" already set in map"#,
    r#"line 10: key "foo" already set in map"#,
    r#"line 11: key "foo" already set in map"#,
];

fn yaml_bodies<'a>(server: &'a TestServer, parameters: &str) -> [Call<'a>; 2] {
    let item = format!("{CONFIG_MAPS}/twice?dryRun=All&fieldManager=m{parameters}");
    let apply = server.call(Method::PATCH, &item);
    let path = format!("{CONFIG_MAPS}?dryRun=All{parameters}");
    let create = server.call(Method::POST, &path);
    [
        create.body("application/yaml", YAML_BODY),
        apply.body("application/apply-patch+yaml", YAML_BODY),
    ]
}

#[tokio::test]
async fn keys_that_stand_again_in_yaml_are_told_by_their_lines() {
    let server = start_server().await;
    for call in yaml_bodies(&server, "") {
        let answer = call.answer().await;
        let expected = YAML_LINES.map(|line| format!("299 - {line:?}"));
        assert_eq!(warnings(&answer), expected);
        assert_eq!(answer.created()["data"]["foo"], "three");
    }
    let listed = format!("yaml: unmarshal errors:\n  {}", YAML_LINES.join("\n  "));
    let [create, apply] = yaml_bodies(&server, "&fieldValidation=Strict");
    let refusal =
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error";
    create
        .answer()
        .await
        .says(400, &format!("{refusal}: {listed}"));
    let refusal = "error strict decoding patch: error converting YAML to JSON";
    apply
        .answer()
        .await
        .says(400, &format!("{refusal}: {listed}"));
}

#[tokio::test]
async fn keys_that_stand_again_come_before_unknown_fields_and_after_what_cannot_be_applied() {
    let server = start_server().await;
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, name: b}\nzzz: 1\n";
    let strict = "fieldValidation=Strict&fieldManager=m";
    let call = server.call(Method::POST, &format!("{CONFIG_MAPS}?{strict}"));
    call.body("application/yaml", body).answer().await.says(
        400,
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: \
         yaml: unmarshal errors:\n  line 3: key \"name\" already set in map, unknown field \"zzz\"",
    );
    let call = server.call(Method::PATCH, &format!("{CONFIG_MAPS}/b?{strict}"));
    let applied = call.body("application/apply-patch+yaml", body);
    applied.answer().await.says(
        500,
        "failed to create typed patch object (/b; /v1, Kind=ConfigMap): .zzz: field not declared \
         in schema",
    );
}

#[tokio::test]
async fn what_is_no_yaml_is_refused_with_its_reason() {
    let server = start_server().await;
    let call = server.call(Method::PATCH, &format!("{CONFIG_MAPS}/a?fieldManager=m"));
    let refused = call
        .body("application/apply-patch+yaml", "a: [1")
        .answer()
        .await;
    let message = refused.refused(400)["message"].to_string();
    assert!(
        message.starts_with("\"error encoding patch: yaml: "),
        "{message}"
    );
    let call = server.call(Method::PATCH, &format!("{CONFIG_MAPS}/a?fieldManager=m"));
    call.body("application/apply-patch+yaml", "- a")
        .answer()
        .await
        .says(
            400,
            "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot \
         unmarshal array into Go value of type map[string]interface {}",
        );
}
