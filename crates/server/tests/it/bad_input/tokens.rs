//! Continue tokens that no server made.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{CONFIG_MAPS, soon};
use crate::{
    client::names,
    running::{TestServer, start_server},
};

async fn with_objects() -> TestServer {
    let server = start_server().await;
    for name in ["a", "b"] {
        let object = json!({"metadata": {"name": name}});
        server.post(CONFIG_MAPS, &object).await.created();
        let secrets = "/api/v1/namespaces/default/secrets";
        server.post(secrets, &object).await.created();
        let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
        server.post(elsewhere, &object).await.created();
    }
    server
}

fn token(content: &Value) -> String {
    URL_SAFE_NO_PAD.encode(content.to_string())
}

#[tokio::test]
async fn a_forged_token_is_refused() {
    let server = with_objects().await;
    let now = 7;
    let forged = [
        json!({"v": "meta.k8s.io/v1", "rv": 0, "start": "a\0"}),
        json!({"v": "meta.k8s.io/v1", "rv": now, "start": ""}),
        json!({"v": "meta.k8s.io/v1", "rv": now}),
        json!({"v": "meta.k8s.io/v1", "rv": now, "start": ".."}),
        json!({"v": "meta.k8s.io/v1", "rv": now, "start": "../../secrets/default/a"}),
        json!({"v": "meta.k8s.io/v1", "rv": now, "start": "a/../../x"}),
        json!({"v": "meta.k8s.io/v1", "rv": now, "start": "./a"}),
        json!({"v": "meta.k8s.io/v1", "rv": now, "start": "//a"}),
        json!({"v": "meta.k8s.io/v2", "rv": now, "start": "a\0"}),
        json!({"v": "meta.k8s.io/v1", "rv": "7", "start": "a\0"}),
        json!({"v": "meta.k8s.io/v1", "rv": 1.5, "start": "a\0"}),
        json!({"v": "meta.k8s.io/v1", "rv": now, "start": ["a"]}),
        json!({"v": "meta.k8s.io/v1", "rv": 9_223_372_036_854_775_808_u64, "start": "a\0"}),
        json!([]),
        json!(null),
    ];
    let mut texts: Vec<String> = forged.iter().map(token).collect();
    texts.extend(["garbage", "%%%", "eyJ", "{}", "====", "%00"].map(str::to_owned));
    for text in texts {
        let path = format!("{CONFIG_MAPS}?limit=1&continue={text}");
        let answer = soon(server.get(&path)).await;
        assert_eq!(answer.code, 400, "{text}: {}", answer.text());
        let deletion = soon(server.delete(&path)).await;
        assert_eq!(deletion.code, 400, "{text}: {}", deletion.text());
    }
    assert_eq!(server.get(CONFIG_MAPS).await.item_names(), ["a", "b"]);
    server.assert_well().await;
}

#[tokio::test]
async fn a_token_leads_nowhere_but_into_its_own_collection() {
    let server = with_objects().await;
    let at: u64 = server.get(CONFIG_MAPS).await.ok()["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    for (start, expected) in [
        ("\0", ["a", "b"].as_slice()),
        ("/", &["a", "b"]),
        ("a", &["a", "b"]),
        ("/a\0", &["b"]),
        ("kube-system/a", &[]),
        ("registry/secrets/default/a", &[]),
        ("/registry/secrets/default/", &[]),
        ("\u{10ffff}", &[]),
        ("zzz", &[]),
    ] {
        for revision in [json!(at), json!(-1)] {
            let content = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start});
            let path = format!("{CONFIG_MAPS}?continue={}", token(&content));
            let answer = soon(server.get(&path)).await;
            if answer.code == 400 {
                continue;
            }
            let list = answer.ok();
            assert_eq!(list["kind"], "ConfigMapList");
            assert_eq!(names(&list), expected, "{start:?}");
            for item in list["items"].as_array().unwrap() {
                assert_eq!(item["metadata"]["namespace"], "default", "{start:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_from_the_future_is_too_large() {
    let server = with_objects().await;
    for revision in [1_000_000, i64::MAX] {
        let content = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": "a\0"});
        let path = format!("{CONFIG_MAPS}?continue={}", token(&content));
        server.get(&path).await.refused(504);
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_token_of_enormous_length_is_refused() {
    let server = with_objects().await;
    let start = "a".repeat(30_000);
    let content = json!({"v": "meta.k8s.io/v1", "rv": 3, "start": start});
    let path = format!("{CONFIG_MAPS}?continue={}", token(&content));
    soon(server.get(&path)).await.refused(400);
}
