//! ConfigMaps and Secrets: keys, sizes, and what may not change.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::field::{Field, check};
use crate::rules::{Change, Rules};
use crate::tree::{fill, text};

/// Bytes that the values of one object may have together.
const VALUES_BYTES_MAX: usize = 1_048_576;
const KEY_BYTES_MAX: usize = 253;
const IS_SEALED: &str = "field is immutable when `immutable` is set";

/// ConfigMaps.
pub(crate) const CONFIG_MAPS: Rules = Rules {
    check_new: |config_map| check(config_map, check_config_map),
    check_change: |change| {
        check(change.next, |config_map| {
            check_sealed(config_map, change, &["data", "binaryData"]);
            check_config_map(config_map);
        })
    },
    ..Rules::NONE
};

/// Secrets.
pub(crate) const SECRETS: Rules = Rules {
    default: default_secret,
    check_new: |secret| check(secret, check_secret),
    check_change: |change| {
        check(change.next, |secret| {
            let before = secret.with_value(change.before);
            secret.child("type").immutable(before.child("type"));
            check_sealed(secret, change, &["data"]);
            check_secret(secret);
        })
    },
    ..Rules::NONE
};

/// What is stated as text becomes data; a secret of no type is opaque.
fn default_secret(secret: &mut Value) {
    fill(secret, "type", "Opaque");
    let Some(Value::Object(texts)) = secret
        .as_object_mut()
        .and_then(|map| map.remove("stringData"))
    else {
        return;
    };
    if secret["data"].is_null() && !texts.is_empty() {
        secret["data"] = json!({});
    }
    for (key, value) in texts {
        let encoded = STANDARD.encode(value.as_str().unwrap_or_default());
        secret["data"][key.as_str()] = Value::String(encoded);
    }
}

/// What was declared immutable stays so, with all its values.
fn check_sealed(object: &Field<'_, '_>, change: Change<'_>, fields: &[&str]) {
    if change.before["immutable"] != true {
        return;
    }
    if !object.child("immutable").is_true() {
        object.child("immutable").forbidden(IS_SEALED);
    }
    for name in fields {
        let before = change.before.get(name).unwrap_or(&Value::Null);
        let field = object.child(name);
        if field.value() != before && !(field.is_empty() && field.with_value(before).is_empty()) {
            field.forbidden(IS_SEALED);
        }
    }
}

fn check_config_map(config_map: &Field<'_, '_>) {
    let (texts, binaries) = (config_map.child("data"), config_map.child("binaryData"));
    let mut bytes = 0;
    for (key, value) in texts.entries() {
        check_key(key, &value);
        if binaries.value().get(key).is_some() {
            value.invalid_value(key, "duplicate of key present in binaryData");
        }
        bytes += value.text().len();
    }
    for (key, value) in binaries.entries() {
        check_key(key, &value);
        bytes += decoded_bytes(value.text());
    }
    if bytes > VALUES_BYTES_MAX {
        config_map.child("[]").too_long(VALUES_BYTES_MAX);
    }
}

fn check_secret(secret: &Field<'_, '_>) {
    let data = secret.child("data");
    let mut bytes = 0;
    for (key, value) in data.entries() {
        check_key(key, &value);
        bytes += decoded_bytes(value.text());
    }
    if bytes > VALUES_BYTES_MAX {
        data.too_long(VALUES_BYTES_MAX);
    }
    check_secret_type(secret, &data);
}

fn check_secret_type(secret: &Field<'_, '_>, data: &Field<'_, '_>) {
    let has = |key: &str| data.value().get(key).is_some();
    let need = |key: &str| {
        if !has(key) {
            data.key(key).required("");
        }
    };
    match text(secret.value(), "type") {
        "kubernetes.io/service-account-token" => {
            let metadata = secret.child("metadata");
            let annotations = metadata.child("annotations");
            annotations.key("kubernetes.io/service-account.name").need();
        }
        "kubernetes.io/dockercfg" => check_json(&data.key(".dockercfg")),
        "kubernetes.io/dockerconfigjson" => check_json(&data.key(".dockerconfigjson")),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            need("username");
            need("password");
        }
        "kubernetes.io/ssh-auth" => {
            data.key("ssh-privatekey").need();
        }
        "kubernetes.io/tls" => {
            need("tls.crt");
            need("tls.key");
        }
        _ => {}
    }
}

/// Demands that a value is there and holds a JSON object.
fn check_json(value: &Field<'_, '_>) {
    if !value.is_set() {
        return value.required("");
    }
    let bytes = STANDARD.decode(value.text()).unwrap_or_default();
    let problem = match listwatch_api::json::decode(&bytes) {
        Err(error) => error.to_string(),
        Ok(document) => match document.value {
            Value::Object(_) | Value::Null => return,
            other => {
                let kind = listwatch_api::json::type_word(&other);
                format!(
                    "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
                )
            }
        },
    };
    value.invalid_value("<secret contents redacted>", &problem);
}

fn check_key(key: &str, place: &Field<'_, '_>) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_good = !key.is_empty() && key.len() <= KEY_BYTES_MAX && key.bytes().all(is_part);
    if is_good && !key.starts_with('.') {
        return;
    }
    for problem in key_problems(key) {
        place.invalid_value(key, &problem);
    }
}

/// What is wrong with the key of a configuration's value.
pub(crate) fn key_problems(key: &str) -> Vec<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let mut problems = Vec::new();
    if key.len() > KEY_BYTES_MAX {
        problems.push(format!("must be no more than {KEY_BYTES_MAX} characters"));
    }
    if key.is_empty() || !key.bytes().all(is_part) {
        let rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' \
                    (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
                    '[-._a-zA-Z0-9]+')";
        problems.push(rule.to_owned());
    }
    match key {
        "." => problems.push("must not be '.'".to_owned()),
        ".." => problems.push("must not be '..'".to_owned()),
        key if key.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

/// How many bytes a base64 text stands for.
fn decoded_bytes(encoded: &str) -> usize {
    let padding = encoded
        .bytes()
        .rev()
        .take_while(|byte| *byte == b'=')
        .count();
    (encoded.len() / 4 * 3).saturating_sub(padding)
}
