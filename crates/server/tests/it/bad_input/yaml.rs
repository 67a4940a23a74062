//! YAML that would rather be a program.

use http::Method;
use serde_json::json;

use super::{CONFIG_MAPS, soon};
use crate::{
    client::Answer,
    running::{TestServer, start_server},
};

async fn post(server: &TestServer, yaml: impl Into<bytes::Bytes>) -> Answer {
    let call = server.call(Method::POST, CONFIG_MAPS);
    soon(call.body("application/yaml", yaml).answer()).await
}

#[tokio::test]
async fn aliases_that_multiply_are_refused_soon() {
    let server = start_server().await;
    let mut laughs = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bomb\ndata:\n".to_owned();
    laughs += "  a: &a [\"web\",\"web\",\"web\",\"web\",\"web\",\"web\",\"web\",\"web\",\"web\"]\n";
    for (letter, before) in ('b'..='z').zip('a'..) {
        let aliases = vec![format!("*{before}"); 9].join(",");
        laughs += &format!("  {letter}: &{letter} [{aliases}]\n");
    }
    let text = "x".repeat(100_000);
    let mut wide = format!("metadata:\n  name: bomb\n  annotations:\n    a: &a \"{text}\"\n");
    for index in 0..10_000 {
        wide += &format!("    k{index}: *a\n");
    }
    let cyclic = "metadata:\n  name: bomb\n  labels: &a\n    b: *a\n".to_owned();
    let item = format!("{CONFIG_MAPS}/bomb?fieldManager=m");
    for bomb in [laughs, wide, cyclic] {
        let apply = server.call(Method::PATCH, &item);
        let apply = apply.body("application/apply-patch+yaml", bomb.clone());
        let delete = server.call(Method::DELETE, &item);
        let delete = delete.body("application/yaml", bomb.clone());
        for answer in [
            soon(apply.answer()).await,
            soon(delete.answer()).await,
            post(&server, bomb).await,
        ] {
            assert!([400, 413].contains(&answer.code), "{}", answer.text());
            assert!(answer.body.len() < 10_000, "a short answer");
        }
    }
    server
        .get(&format!("{CONFIG_MAPS}/bomb"))
        .await
        .refused(404);
    server.assert_well().await;
}

#[tokio::test]
async fn deep_nesting_is_refused_soon() {
    let server = start_server().await;
    let indented: String = (0..1_000)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    for yaml in [
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        "!!x ".repeat(100_000),
        indented,
        format!("{}{}", "[".repeat(5_000), "]".repeat(5_000)),
    ] {
        let answer = post(&server, yaml).await;
        assert!([400, 413].contains(&answer.code), "{}", answer.text());
        assert!(answer.body.len() < 10_000, "a short answer");
    }
    server.assert_well().await;
}

#[tokio::test]
async fn yaml_that_cannot_be_read_is_refused() {
    let server = start_server().await;
    for yaml in [
        "a: b: c",
        "key: [1, 2",
        "key: {a",
        "\"open",
        "key: *absent",
        "- a\nb: c",
        "%YAML 9.9\n---\na: b",
        "just text",
        "--- a\n--- b",
        "? a\n? b\n: [",
        "\u{0}",
        "@x",
        "a: !!binary \"%%%\"",
        "42",
        "- metadata",
    ] {
        let answer = post(&server, yaml).await;
        assert_eq!(answer.code, 400, "{yaml:?}: {}", answer.text());
    }
    let mut invalid = b"metadata:\n  name: a\ndata:\n  k: ".to_vec();
    invalid.extend([0xff, 0xfe]);
    post(&server, invalid).await.refused(400);
    server.assert_well().await;
}

#[tokio::test]
async fn a_large_document_of_many_small_things_is_read_or_refused_soon() {
    let server = start_server().await;
    let mut many = "metadata:\n  name: many\ndata:\n".to_owned();
    for index in 0..60_000 {
        many += &format!("  key-{index}: value\n");
    }
    let comments = "# x\n".repeat(500_000) + "metadata:\n  name: comments\n";
    let spaces = " ".repeat(2_000_000) + "\nmetadata:\n  name: spaces\n";
    for yaml in [many, comments, spaces] {
        let answer = post(&server, yaml).await;
        assert!([201, 400, 413].contains(&answer.code), "{}", answer.text());
    }
    server.assert_well().await;
}

#[tokio::test]
async fn words_that_look_like_other_types_are_what_yaml_says_they_are() {
    let server = start_server().await;
    for yaml in ["k: yes", "k: 1", "k: ~", "k: 1.5"] {
        let body = format!("metadata:\n  name: typed\ndata:\n  {yaml}\n");
        let call = server.call(Method::POST, &format!("{CONFIG_MAPS}?dryRun=All"));
        let answer = call.body("application/yaml", body).answer().await;
        match yaml {
            "k: ~" => assert_eq!(answer.created()["data"], json!({"k": ""})),
            _ => drop(answer.refused(400)),
        }
    }
}
