//! Tokens of service accounts: given on request, and reviewed.

mod signing_key;

use std::sync::Arc;

use listwatch_api::{FieldError, FieldPath, GroupKind, GroupResource, Status, timestamp};
use listwatch_store::Store;
use listwatch_tokens::{Account, BoundObject, Claims, Named, SigningKey, TokenError};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{
    commit::{metadata_mut, metadata_text, object_key},
    server::Server,
};

/// Seconds that a token lives when nobody says otherwise.
const LIFETIME_SECONDS: i64 = 60 * 60;

/// The shortest and the longest life of a token in seconds.
const LIFETIME_SECONDS_MIN: i64 = 10 * 60;
const LIFETIME_SECONDS_MAX: i64 = 1 << 32;

/// What kubelets ask for on behalf of programs that may not read a new token in time; they get a
/// year, and are complained about after what they asked for.
const KUBELET_LIFETIME_SECONDS: i64 = 3607;
const EXTENDED_LIFETIME_SECONDS: i64 = 365 * 24 * 60 * 60;

/// Issues and reviews tokens, all signed with one key that servers on one store share.
pub(crate) struct ServiceAccounts {
    store: Arc<dyn Store>,
    issuer: String,
    key: OnceCell<SigningKey>,
}

impl ServiceAccounts {
    pub(crate) fn new(store: Arc<dyn Store>, issuer: String) -> Self {
        let key = OnceCell::new();
        Self { store, issuer, key }
    }

    /// The documents by which others check tokens on their own: where the keys are, and the keys.
    pub(crate) fn discovery(&self, keys_address: &str) -> Value {
        json!({
            "issuer": self.issuer,
            "jwks_uri": keys_address,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    }

    /// The public keys.
    pub(crate) async fn public_keys(&self) -> Result<Value, Status> {
        Ok(json!({"keys": [self.key().await?.public()]}))
    }

    async fn key(&self) -> Result<&SigningKey, Status> {
        let found = self
            .key
            .get_or_try_init(|| signing_key::find_or_make(&*self.store));
        found.await
    }
}

/// Answers a TokenRequest for the service account of the path.
pub(crate) async fn give_token(
    server: &Server,
    (namespace, name): (&str, &str),
    request: &mut Value,
) -> Result<(), Status> {
    let account = find(server, "serviceaccounts", Some(namespace), name).await?;
    let account = account.ok_or_else(|| not_found("serviceaccounts", name))?;
    fill_in(server, &account, request);
    check(name, request)?;
    let bound = find_bound(
        server,
        (namespace, name),
        &request["spec"]["boundObjectRef"],
    )
    .await?;
    let now = server.settings.clock.now().as_second();
    let asked = request["spec"]["expirationSeconds"].as_i64();
    let asked = asked.unwrap_or(LIFETIME_SECONDS);
    let mut claimed = Account::new(namespace, named(&account), bound.clone());
    let mut lifetime = asked;
    if matches!(bound, Some(BoundObject::Pod { .. })) && asked == KUBELET_LIFETIME_SECONDS {
        claimed = claimed.warning_after(now + asked);
        lifetime = EXTENDED_LIFETIME_SECONDS;
    }
    let claims = Claims {
        audiences: texts(&request["spec"]["audiences"]),
        expires: now + lifetime,
        issued: now,
        issuer: server.service_accounts.issuer.clone(),
        id: server.settings.random.uuid(),
        account: claimed,
        begins: now,
        subject: format!("system:serviceaccount:{namespace}:{name}"),
    };
    let key = server.service_accounts.key().await?;
    let token = listwatch_tokens::issue(key, &claims)
        .map_err(|error| Status::internal(&error.to_string()))?;
    let ends = jiff::Timestamp::from_second(now + asked).unwrap_or(jiff::Timestamp::MAX);
    request["status"] = json!({
        "token": token,
        "expirationTimestamp": timestamp::format_seconds(ends),
    });
    Ok(())
}

/// What leaving it out means.
fn fill_in(server: &Server, account: &Value, request: &mut Value) {
    let uid = metadata_text(account, "uid").unwrap_or_default().to_owned();
    let name = metadata_text(account, "name")
        .unwrap_or_default()
        .to_owned();
    let namespace = metadata_text(account, "namespace")
        .unwrap_or_default()
        .to_owned();
    let now = timestamp::format_seconds(server.settings.clock.now());
    let metadata = metadata_mut(request);
    metadata
        .entry("name")
        .or_insert_with(|| Value::String(name));
    metadata.insert("namespace".to_owned(), Value::String(namespace));
    metadata.insert("uid".to_owned(), Value::String(uid));
    metadata.insert("creationTimestamp".to_owned(), Value::String(now));
    let spec = &mut request["spec"];
    if spec["audiences"].as_array().is_none_or(Vec::is_empty) {
        spec["audiences"] = json!([server.service_accounts.issuer]);
    }
    if spec["expirationSeconds"].is_null() {
        spec["expirationSeconds"] = json!(LIFETIME_SECONDS);
    }
}

fn check(name: &str, request: &Value) -> Result<(), Status> {
    let kind = GroupKind {
        group: "authentication.k8s.io",
        kind: "TokenRequest",
    };
    let claimed = metadata_text(request, "name").unwrap_or_default();
    if claimed != name {
        let field = FieldPath::new("metadata").child("name");
        let detail = "must match the service account name if specified";
        let error = FieldError::invalid(&field, claimed, detail);
        return Err(Status::invalid(kind, name, &[error]));
    }
    let seconds = request["spec"]["expirationSeconds"].as_i64().unwrap_or(0);
    let detail = match seconds {
        ..LIFETIME_SECONDS_MIN => "may not specify a duration less than 10 minutes",
        LIFETIME_SECONDS_MIN..=LIFETIME_SECONDS_MAX => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let field = FieldPath::new("spec").child("expirationSeconds");
    let error = FieldError::invalid(&field, seconds, detail);
    Err(Status::invalid(kind, "", &[error]))
}

/// The object that a token is to be bound to.
async fn find_bound(
    server: &Server,
    (namespace, account): (&str, &str),
    reference: &Value,
) -> Result<Option<BoundObject>, Status> {
    if reference.is_null() {
        return Ok(None);
    }
    let text = |member: &str| reference[member].as_str().unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let (resource, home) = match (text("apiVersion"), kind) {
        ("v1", "Pod") => ("pods", Some(namespace)),
        ("v1", "Secret") => ("secrets", Some(namespace)),
        ("v1", "Node") => ("nodes", None),
        (version, kind) => {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            return Err(Status::bad_request(format!(
                "cannot bind token to object of type {group}/{version}, Kind={kind}"
            )));
        }
    };
    let found = find(server, resource, home, name).await?;
    let found = found.ok_or_else(|| not_found(resource, name))?;
    let uid = metadata_text(&found, "uid").unwrap_or_default();
    if !text("uid").is_empty() && text("uid") != uid {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The \
             object might have been deleted and then recreated",
            text("uid")
        );
        return Err(Status::conflict(core(kind), name, &why));
    }
    Ok(Some(match kind {
        "Pod" => {
            if found["spec"]["serviceAccountName"]
                .as_str()
                .unwrap_or_default()
                != account
            {
                return Err(Status::bad_request(format!(
                    "cannot bind token for serviceaccount {account:?} to pod running with \
                     different serviceaccount name."
                )));
            }
            let node = node_of(server, &found).await?;
            let pod = named(&found);
            BoundObject::Pod { pod, node }
        }
        "Secret" => BoundObject::Secret(named(&found)),
        _ => BoundObject::Node(named(&found)),
    }))
}

/// The node that a pod runs on, by name alone if nobody knows it.
async fn node_of(server: &Server, pod: &Value) -> Result<Option<Named>, Status> {
    let Some(name) = pod["spec"]["nodeName"].as_str() else {
        return Ok(None);
    };
    let node = find(server, "nodes", None, name).await?;
    let unknown = || Named {
        name: name.to_owned(),
        uid: None,
    };
    Ok(Some(node.as_ref().map_or_else(unknown, named)))
}

/// The status of a TokenReview: whose the token is, or why it is nobody's.
pub(crate) async fn review(server: &Server, spec: &Value) -> Result<Value, Status> {
    let token = spec["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        let message = "token is required for TokenReview in authentication";
        return Err(Status::bad_request(message));
    }
    let issuer = server.service_accounts.issuer.as_str();
    let key = server.service_accounts.key().await?;
    let now = server.settings.clock.now();
    let refused = |why: String| json!({"user": {}, "error": why});
    let claims = match listwatch_tokens::verify(key, (issuer, now), token) {
        Ok(claims) => claims,
        Err(error @ TokenError::Foreign) => return Ok(refused(error.to_string())),
        Err(error) => return Ok(refused(format!("[invalid bearer token, {error}]"))),
    };
    let asked = texts(&spec["audiences"]);
    let meant = match asked.is_empty() {
        true => vec![issuer.to_owned()],
        false => asked.clone(),
    };
    let audiences: Vec<&String> = meant
        .iter()
        .filter(|audience| claims.audiences.contains(audience))
        .collect();
    if audiences.is_empty() {
        let why = format!(
            "token audiences {} is invalid for the target audiences {}",
            quoted(&claims.audiences),
            quoted(&meant)
        );
        return Ok(refused(format!("[invalid bearer token, {why}]")));
    }
    if let Some(why) = ended(server, &claims.account).await? {
        return Ok(refused(format!("[invalid bearer token, {why}]")));
    }
    Ok(json!({"authenticated": true, "user": user(&claims), "audiences": audiences}))
}

/// Why a token no longer holds whose account or bound object is gone, or another by now.
async fn ended(server: &Server, account: &Account) -> Result<Option<String>, Status> {
    let namespace = Some(account.namespace());
    let mut needed = vec![(
        "serviceaccounts",
        namespace,
        account.service_account().clone(),
    )];
    match account.bound() {
        Some(BoundObject::Pod { pod, .. }) => needed.push(("pods", namespace, pod)),
        Some(BoundObject::Secret(secret)) => needed.push(("secrets", namespace, secret)),
        Some(BoundObject::Node(node)) => needed.push(("nodes", None, node)),
        None => {}
    }
    for (resource, namespace, Named { name, uid }) in needed {
        let found = find(server, resource, namespace, &name).await?;
        let Some(found) = found else {
            return Ok(Some(format!("{resource} {name:?} not found")));
        };
        let current = metadata_text(&found, "uid");
        if current != uid.as_deref() {
            return Ok(Some(format!(
                "{} UID ({}) does not match claim ({})",
                singular(resource),
                current.unwrap_or_default(),
                uid.unwrap_or_default()
            )));
        }
    }
    Ok(None)
}

fn singular(resource: &str) -> &str {
    match resource {
        "serviceaccounts" => "service account",
        other => other.trim_end_matches('s'),
    }
}

/// The user that a token stands for.
fn user(claims: &Claims) -> Value {
    let account = &claims.account;
    let mut extra = json!({
        "authentication.kubernetes.io/credential-id": [format!("JTI={}", claims.id)],
    });
    let mut add = |what: &str, named: &Named| {
        extra[format!("authentication.kubernetes.io/{what}-name")] = json!([named.name]);
        if let Some(uid) = &named.uid {
            extra[format!("authentication.kubernetes.io/{what}-uid")] = json!([uid]);
        }
    };
    match account.bound() {
        Some(BoundObject::Pod { pod, node }) => {
            add("pod", &pod);
            node.iter().for_each(|node| add("node", node));
        }
        Some(BoundObject::Node(node)) => add("node", &node),
        Some(BoundObject::Secret(_)) | None => {}
    }
    json!({
        "username": claims.subject,
        "uid": account.service_account().uid,
        "groups": [
            "system:serviceaccounts",
            format!("system:serviceaccounts:{}", account.namespace()),
            "system:authenticated",
        ],
        "extra": extra,
    })
}

/// The newest state of an object of the core group.
async fn find(
    server: &Server,
    resource: &str,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<Value>, Status> {
    let definition = server
        .registry
        .find("", "v1", resource)
        .ok_or_else(Status::unknown_resource)?;
    let key = object_key(&definition, namespace, name);
    let cache = server.cache(&definition)?;
    let stored = server.committer.read(&cache, &key).await?;
    match stored.revision() {
        None => Ok(None),
        Some(_) => Ok(Some(stored.object(Status::unknown_resource)?.whole())),
    }
}

fn named(object: &Value) -> Named {
    let text = |member: &str| metadata_text(object, member).map(str::to_owned);
    Named {
        name: text("name").unwrap_or_default(),
        uid: text("uid"),
    }
}

fn core(resource: &str) -> GroupResource<'_> {
    GroupResource {
        group: "",
        resource,
    }
}

fn not_found(resource: &str, name: &str) -> Status {
    Status::not_found(core(resource), name)
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A list as Go prints it.
fn quoted(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", quoted.join(" "))
}
