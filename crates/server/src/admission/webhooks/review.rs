//! What a webhook is asked, and what it answers: an AdmissionReview each.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    super::request::{Asked, Shown},
    Purpose,
};
use crate::registry::Definition;

/// The first version of the API, which is stricter than the one before it.
const FIRST: &str = "admission.k8s.io/v1";

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
    if review_version == FIRST {
        check_identity(&review, uid)?;
        check_patch(response, purpose)?;
    }
    let patch = match purpose {
        Purpose::Mutate => read_patch(response)?,
        Purpose::Validate => None,
    };
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

/// The first version of the API says exactly what may come together.
fn check_patch(response: &Value, purpose: Purpose) -> Result<(), String> {
    let has_patch = response["patch"]
        .as_str()
        .is_some_and(|text| !text.is_empty());
    let patch_type = response["patchType"].as_str();
    let problem = match (purpose, has_patch, patch_type) {
        (Purpose::Validate, true, _) => "validating webhook may not return response.patch",
        (Purpose::Validate, false, Some(_)) => {
            "validating webhook may not return response.patchType"
        }
        (Purpose::Mutate, true, None) => {
            "webhook returned response.patch but not response.patchType"
        }
        (Purpose::Mutate, false, Some(_)) => {
            "webhook returned response.patchType but not response.patch"
        }
        (Purpose::Mutate, true, Some("")) => "webhook returned invalid response.patchType of \"\"",
        _ => return Ok(()),
    };
    Err(problem.to_owned())
}

fn read_patch(response: &Value) -> Result<Option<Vec<u8>>, String> {
    let text = response["patch"].as_str().filter(|text| !text.is_empty());
    let Some(text) = text else {
        return Ok(None);
    };
    match response["patchType"].as_str() {
        None | Some("JSONPatch") => {}
        Some(other) => return Err(format!("unsupported patch type {other:?}")),
    }
    let decoded = STANDARD.decode(text);
    decoded.map(Some).map_err(|error| error.to_string())
}
