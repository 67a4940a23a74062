//! How the versions of a definition are converted into one another.

use listwatch_api::{FieldError, FieldPath, name};
use serde_json::Value;

use crate::props::Props;

/// The versions of ConversionReview that are spoken.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// What is wrong with `spec.conversion`. A bundle of certificates is looked into only when told.
pub(super) fn errors(conversion: Props<'_>, path: &FieldPath, bundle: Bundle) -> Vec<FieldError> {
    let strategy = conversion.text("strategy");
    let mut errors: Vec<FieldError> = match strategy {
        "" => vec![FieldError::required(&path.child("strategy"), "")],
        "None" | "Webhook" => Vec::new(),
        other => {
            let path = path.child("strategy");
            vec![FieldError::not_supported(
                &path,
                other,
                &["None", "Webhook"],
            )]
        }
    };
    let webhook = conversion.schema("webhook");
    let config = webhook.and_then(|webhook| webhook.schema("clientConfig"));
    let versions = webhook.map(|webhook| webhook.texts("conversionReviewVersions"));
    let versions = versions.unwrap_or_default();
    let config_path = path.child("webhookClientConfig");
    let versions_path = path.child("conversionReviewVersions");
    if strategy == "Webhook" {
        match config {
            Some(config) => errors.extend(config_errors(config, &config_path, bundle)),
            None => {
                let why = "required when strategy is set to Webhook";
                errors.push(FieldError::required(&config_path, why));
            }
        }
        errors.extend(version_errors(&versions, &versions_path));
        return errors;
    }
    let why = "should not be set when strategy is not set to Webhook";
    if config.is_some() {
        errors.push(FieldError::forbidden(&config_path, why));
    }
    if !versions.is_empty() {
        errors.push(FieldError::forbidden(&versions_path, why));
    }
    errors
}

/// Whether the certificates of a webhook must be some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bundle {
    Any,
    Certificates,
}

impl Bundle {
    /// An established definition with a good bundle must keep one.
    pub(super) fn after(before: &Value) -> Self {
        let conditions = before
            .pointer("/status/conditions")
            .and_then(Value::as_array);
        let is_established = conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
        let bundle = before.pointer("/spec/conversion/webhook/clientConfig/caBundle");
        let bundle = bundle.and_then(Value::as_str).unwrap_or_default();
        match is_established && (bundle.is_empty() || has_certificates(bundle)) {
            true => Self::Certificates,
            false => Self::Any,
        }
    }
}

/// Whether base64 of PEM with a certificate is here; its beginning tells, at any alignment.
fn has_certificates(bundle: &str) -> bool {
    // The line that begins a certificate, in base64.
    bundle.contains("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t")
}

fn config_errors(config: Props<'_>, path: &FieldPath, bundle: Bundle) -> Vec<FieldError> {
    let (url, service) = (config.given_text("url"), config.schema("service"));
    let mut errors = match (url, service) {
        (Some(url), None) => url_errors(url, &path.child("url")),
        (None, Some(service)) => service_errors(service, &path.child("service")),
        _ => vec![FieldError::required(
            path,
            "exactly one of url or service is required",
        )],
    };
    let certificates = config.text("caBundle");
    let must_hold = bundle == Bundle::Certificates && !certificates.is_empty();
    if must_hold && !has_certificates(certificates) {
        let why = "unable to load root certificates: unable to parse bytes as PEM block";
        let path = path.child("caBundle");
        errors.push(FieldError::invalid(&path, certificates, why));
    }
    errors
}

fn url_errors(url: &str, path: &FieldPath) -> Vec<FieldError> {
    const FORM: &str = "; desired format: https://host[/path]";
    let mut errors = Vec::new();
    let mut refuse = |part: &str, why: &str| errors.push(FieldError::invalid(path, part, why));
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("", rest));
    let authority = match scheme {
        "" => "",
        _ => rest.split('/').next().unwrap_or_default(),
    };
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        refuse(scheme, &why);
    }
    if host.is_empty() {
        refuse(host, &format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        refuse(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        refuse(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        refuse(query, "query parameters are not permitted in the URL");
    }
    errors
}

fn service_errors(service: Props<'_>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    // Kubernetes asks for the name where the namespace is missing, and the other way round.
    for (missing, asked) in [("namespace", "name"), ("name", "namespace")] {
        if service.text(missing).is_empty() {
            errors.push(FieldError::required(&path.child(asked), ""));
        }
    }
    let port = service.integer("port").unwrap_or(443);
    if !(1..=65_535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(&path.child("port"), port, why));
    }
    let text = service.text("path");
    errors.extend(path_errors(text, &path.child("path")));
    errors
}

fn path_errors(text: &str, path: &FieldPath) -> Vec<FieldError> {
    let refuse = |why: &str| FieldError::invalid(path, text, why);
    match text {
        "" | "/" => return Vec::new(),
        "//" => return vec![refuse("segment[0] may not be empty")],
        _ => {}
    }
    let mut errors = Vec::new();
    if !text.starts_with('/') {
        errors.push(refuse("must start with a '/'"));
    }
    let rest = text.get(1..).unwrap_or_default();
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    for (index, step) in rest.split('/').enumerate() {
        if step.is_empty() {
            errors.push(refuse(&format!("segment[{index}] may not be empty")));
            continue;
        }
        let problems = name::check_dns_subdomain(step);
        errors.extend(
            problems
                .iter()
                .map(|problem| refuse(&format!("segment[{index}]: {problem}"))),
        );
    }
    errors
}

fn version_errors(versions: &[&str], path: &FieldPath) -> Vec<FieldError> {
    if versions.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut errors = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let path = path.index(index);
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(&path, *version, "duplicate version"));
            continue;
        }
        let problems = name::check_dns_1035_label(version);
        errors.extend(
            problems
                .iter()
                .map(|problem| FieldError::invalid(&path, *version, problem)),
        );
    }
    if !versions
        .iter()
        .any(|version| REVIEW_VERSIONS.contains(version))
    {
        let all = Value::from(versions.to_vec());
        let why = format!(
            "must include at least one of {}",
            REVIEW_VERSIONS.join(", ")
        );
        errors.push(FieldError::invalid(path, &all, &why));
    }
    errors
}
