//! What a webhook is asked, and what it answers: an AdmissionReview each.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    super::request::{Asked, Shown},
    Purpose,
};
use crate::registry::Definition;

/// What a webhook says of a request.
pub(super) struct Verdict {
    pub(super) is_allowed: bool,
    pub(super) patch: Option<Vec<u8>>,
    pub(super) status: Option<Value>,
    pub(super) warnings: Vec<String>,
}

/// The question.
pub(super) fn request(
    (review_version, uid): (&str, &str),
    (asked, version): (&Asked<'_>, &Definition),
    shown: &Shown,
) -> Value {
    let mut request = asked.describe(version);
    request["uid"] = json!(uid);
    request["object"] = json!(shown.object);
    request["oldObject"] = json!(shown.old);
    json!({"kind": "AdmissionReview", "apiVersion": review_version, "request": request})
}

/// The answer, if it is one.
pub(super) fn read(
    (review_version, uid): (&str, &str),
    purpose: Purpose,
    body: &[u8],
) -> Result<Verdict, String> {
    let review: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let response = &review["response"];
    if !response.is_object() {
        return Err("webhook response was absent".to_owned());
    }
    let is_first = review_version == "admission.k8s.io/v1";
    if is_first {
        check_identity(&review, uid)?;
    }
    let patch = read_patch(response, purpose, is_first)?;
    let status = response.get("status").filter(|status| status.is_object());
    let warnings = response["warnings"].as_array().into_iter().flatten();
    Ok(Verdict {
        is_allowed: response["allowed"] == json!(true),
        patch,
        status: status.cloned(),
        warnings: warnings
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    })
}

fn check_identity(review: &Value, uid: &str) -> Result<(), String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = text(&review["response"]["uid"]);
    if found != uid {
        return Err(format!("expected response.uid={uid:?}, got {found:?}"));
    }
    let (version, kind) = (text(&review["apiVersion"]), text(&review["kind"]));
    if (&*version, &*kind) == ("admission.k8s.io/v1", "AdmissionReview") {
        return Ok(());
    }
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    Err(format!(
        "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got \
         {group}/{version}, Kind={kind}"
    ))
}

fn read_patch(
    response: &Value,
    purpose: Purpose,
    is_first: bool,
) -> Result<Option<Vec<u8>>, String> {
    let text = response["patch"].as_str().filter(|text| !text.is_empty());
    let patch_type = response["patchType"].as_str();
    let told = |what: &str| Err(what.to_owned());
    match (purpose, text, patch_type) {
        (Purpose::Validate, Some(_), _) if is_first => {
            return told("validating webhook may not return response.patch");
        }
        (Purpose::Validate, None, Some(_)) if is_first => {
            return told("validating webhook may not return response.patchType");
        }
        (Purpose::Mutate, Some(_), None) if is_first => {
            return told("webhook returned response.patch but not response.patchType");
        }
        (Purpose::Mutate, None, Some(_)) if is_first => {
            return told("webhook returned response.patchType but not response.patch");
        }
        (Purpose::Mutate, Some(_), Some("")) => {
            return told("webhook returned invalid response.patchType of \"\"");
        }
        (Purpose::Mutate, Some(_), Some(other)) if other != "JSONPatch" => {
            return Err(format!("unsupported patch type {other:?}"));
        }
        (Purpose::Validate, _, _) => return Ok(None),
        _ => {}
    }
    let decoded = text.map(|text| STANDARD.decode(text).map_err(|error| error.to_string()));
    decoded.transpose()
}
