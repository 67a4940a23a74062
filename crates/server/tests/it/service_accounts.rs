//! Tokens of service accounts: given, reviewed, published, ended.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use listwatch_server::{Settings, clock::Clock};
use serde_json::{Value, json};

use crate::running::{TestServer, start_server, start_with};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const TOKEN: &str = "/api/v1/namespaces/default/serviceaccounts/robot/token";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ISSUER: &str = "https://kubernetes.default.svc";

async fn server_with_account() -> TestServer {
    let server = start_server().await;
    let account = json!({"metadata": {"name": "robot"}});
    server.post(ACCOUNTS, &account).await.created();
    server
}

async fn token(server: &TestServer, spec: Value) -> String {
    let answer = server.post(TOKEN, &json!({"spec": spec})).await.created();
    answer["status"]["token"].as_str().unwrap().to_owned()
}

async fn review(server: &TestServer, spec: Value) -> Value {
    let answer = server.post(REVIEWS, &json!({"spec": spec})).await;
    answer.created()["status"].take()
}

fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn an_account_gets_a_token_that_says_who_it_is() {
    let server = server_with_account().await;
    let answer = server.post(TOKEN, &json!({"spec": {}})).await.created();
    assert_eq!(answer["kind"], "TokenRequest");
    assert_eq!(answer["apiVersion"], "authentication.k8s.io/v1");
    assert_eq!(answer["metadata"]["name"], "robot");
    assert_eq!(answer["spec"]["audiences"], json!([ISSUER]));
    assert_eq!(answer["spec"]["expirationSeconds"], 3600);
    let claims = claims(answer["status"]["token"].as_str().unwrap());
    assert_eq!(claims["sub"], "system:serviceaccount:default:robot");
    assert_eq!(claims["iss"], ISSUER);
    let account = server.get(&format!("{ACCOUNTS}/robot")).await.ok();
    assert_eq!(
        claims["kubernetes.io"],
        json!({
            "namespace": "default",
            "serviceaccount": {"name": "robot", "uid": account["metadata"]["uid"]},
        })
    );
}

#[tokio::test]
async fn a_token_is_reviewed() {
    let server = server_with_account().await;
    let token = token(&server, json!({})).await;
    let status = review(&server, json!({"token": token})).await;
    assert_eq!(status["authenticated"], true);
    assert_eq!(status["audiences"], json!([ISSUER]));
    let user = &status["user"];
    assert_eq!(user["username"], "system:serviceaccount:default:robot");
    assert_eq!(
        user["groups"],
        json!([
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated"
        ])
    );
    let id = format!("JTI={}", claims(&token)["jti"].as_str().unwrap());
    let credential = "authentication.kubernetes.io/credential-id";
    assert_eq!(user["extra"][credential], json!([id]));
}

#[tokio::test]
async fn a_token_for_others_is_not_for_us() {
    let server = server_with_account().await;
    let token = token(&server, json!({"audiences": ["vault"]})).await;
    assert_eq!(
        review(&server, json!({"token": token})).await,
        json!({"user": {}, "error": "[invalid bearer token, token audiences [\"vault\"] is \
            invalid for the target audiences [\"https://kubernetes.default.svc\"]]"})
    );
    let status = review(
        &server,
        json!({"token": token, "audiences": ["x", "vault"]}),
    )
    .await;
    assert_eq!(status["audiences"], json!(["vault"]));
}

#[tokio::test]
async fn what_is_no_token_of_ours_is_refused() {
    let server = server_with_account().await;
    let refused = review(&server, json!({"token": "abc"})).await;
    assert_eq!(
        refused,
        json!({"user": {}, "error": "invalid bearer token"})
    );
    let answer = server.post(REVIEWS, &json!({"spec": {}})).await;
    let status = answer.refused(400);
    assert_eq!(
        status["message"],
        "token is required for TokenReview in authentication"
    );
    let other = server_with_account().await;
    let token = token(&other, json!({})).await;
    let refused = review(&server, json!({"token": token})).await;
    assert!(refused.get("authenticated").is_none(), "{refused}");
}

#[tokio::test]
async fn a_token_ends_with_its_account_and_with_what_it_is_bound_to() {
    let server = server_with_account().await;
    let secret = json!({"metadata": {"name": "s"}});
    server.post(SECRETS, &secret).await.created();
    let reference = json!({"kind": "Secret", "apiVersion": "v1", "name": "s"});
    let bound = token(&server, json!({"boundObjectRef": reference})).await;
    let free = token(&server, json!({})).await;
    let status = review(&server, json!({"token": bound})).await;
    assert_eq!(status["authenticated"], true);
    server.delete(&format!("{SECRETS}/s")).await.ok();
    let status = review(&server, json!({"token": bound})).await;
    assert_eq!(
        status["error"],
        "[invalid bearer token, secrets \"s\" not found]"
    );
    server.delete(&format!("{ACCOUNTS}/robot")).await.ok();
    let status = review(&server, json!({"token": free})).await;
    assert_eq!(
        status["error"],
        "[invalid bearer token, serviceaccounts \"robot\" not found]"
    );
}

#[tokio::test]
async fn a_token_that_cannot_be_is_refused_as_kubernetes_does() {
    let server = server_with_account().await;
    let refused = async |body: Value, code: u16| -> String {
        let status = server.post(TOKEN, &body).await.refused(code);
        status["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        refused(json!({"spec": {"expirationSeconds": 10}}), 422).await,
        "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid \
         value: 10: may not specify a duration less than 10 minutes"
    );
    assert_eq!(
        refused(json!({"metadata": {"name": "b"}, "spec": {}}), 422).await,
        "TokenRequest.authentication.k8s.io \"robot\" is invalid: metadata.name: Invalid value: \
         \"b\": must match the service account name if specified"
    );
    let bound = |kind: &str| {
        let reference = json!({"kind": kind, "apiVersion": "v1", "name": "p"});
        json!({"spec": {"boundObjectRef": reference}})
    };
    assert_eq!(refused(bound("Pod"), 404).await, "pods \"p\" not found");
    assert_eq!(
        refused(bound("ConfigMap"), 400).await,
        "cannot bind token to object of type /v1, Kind=ConfigMap"
    );
    let nobody = format!("{ACCOUNTS}/nobody/token");
    let status = server.post(&nobody, &json!({"spec": {}})).await;
    let status = status.refused(404);
    assert_eq!(status["message"], "serviceaccounts \"nobody\" not found");
}

#[tokio::test]
async fn others_find_the_keys_that_check_tokens() {
    let server = server_with_account().await;
    let token = token(&server, json!({})).await;
    let discovery = server.get("/.well-known/openid-configuration").await.ok();
    assert_eq!(discovery["issuer"], ISSUER);
    let address = discovery["jwks_uri"].as_str().unwrap();
    assert!(address.ends_with("/openid/v1/jwks"), "{address}");
    let keys = server.get("/openid/v1/jwks").await.ok();
    let header = token.split('.').next().unwrap();
    let header = URL_SAFE_NO_PAD.decode(header).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    assert_eq!(keys["keys"][0]["kid"], header["kid"]);
    assert_eq!(keys["keys"][0]["alg"], header["alg"]);
}

#[tokio::test]
async fn a_token_has_its_time() {
    let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let hours = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(0));
    let passed = std::sync::Arc::clone(&hours);
    let clock = Clock::simulated(move || {
        let hours = passed.load(std::sync::atomic::Ordering::SeqCst);
        start + jiff::SignedDuration::from_hours(hours)
    });
    let settings = Settings {
        clock,
        ..Settings::default()
    };
    let server = start_with(settings).await;
    let account = json!({"metadata": {"name": "robot"}});
    server.post(ACCOUNTS, &account).await.created();
    let token = token(&server, json!({})).await;
    hours.store(1, std::sync::atomic::Ordering::SeqCst);
    let status = review(&server, json!({"token": token})).await;
    assert_eq!(
        status["error"],
        "[invalid bearer token, service account token has expired]"
    );
}
