//! CertificateSigningRequests.

use base64::{Engine, engine::general_purpose::STANDARD};
use listwatch_api::{FieldError, name};
use serde_json::{Value, json};

use crate::field::{Field, check};
use crate::rules::{Change, Rules};
use crate::tree::list;

const EXPIRATION_SECONDS_MIN: i64 = 600;
const SIGNER_BYTES_MAX: usize = 571;
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];
/// Conditions that are there or not, and never false.
const FINAL_CONDITIONS: [&str; 3] = ["Approved", "Denied", "Failed"];

/// CertificateSigningRequests. Whoever stores a new one writes into it who asks. Their `approval`
/// path has a check of its own, [`check_approval`].
pub(crate) const SIGNING_REQUESTS: Rules = Rules {
    begin: |request| {
        for name in ["username", "uid", "groups", "extra"] {
            crate::tree::clear(&mut request["spec"], name);
        }
        request["status"] = json!({});
    },
    adjust: |before, next| next["spec"] = before["spec"].clone(),
    check_new: |request| check(request, check_request),
    check_change: |change| check_change(change, &[]),
    check_status: |change| check_change(change, &["certificate"]),
    ..Rules::NONE
};

/// What is wrong with approving or denying a request.
pub fn check_approval(change: Change<'_>) -> Vec<FieldError> {
    check_change(change, &["conditions"])
}

fn check_request(request: &Field<'_, '_>) {
    let spec = request.child("spec");
    let body = spec.child("request");
    if let Err(why) = read_request(body.text()) {
        body.invalid(why);
    }
    let usages = spec.child("usages");
    usages.need();
    usages.elements().for_each(|usage| usage.one_of(&USAGES));
    for (index, usage) in usages.elements().enumerate() {
        if list(spec.value(), "usages")[..index].contains(usage.value()) {
            usage.duplicate();
        }
    }
    let signer = spec.child("signerName");
    match signer.text() {
        LEGACY_SIGNER => {
            signer.invalid("the legacy signerName is not allowed via this API version");
        }
        _ => check_signer(&signer),
    }
    let seconds = spec.child("expirationSeconds");
    if seconds
        .integer()
        .is_some_and(|seconds| seconds < EXPIRATION_SECONDS_MIN)
    {
        seconds.invalid("may not specify a duration less than 600 seconds (10 minutes)");
    }
    check_conditions(request);
}

/// Whether a text is a request in PEM around a whole value of DER. What the value says is left to
/// whoever signs.
fn read_request(encoded: &str) -> Result<(), &'static str> {
    const NO_REQUEST: &str = "PEM block type must be CERTIFICATE REQUEST";
    let bytes = STANDARD.decode(encoded).map_err(|_| NO_REQUEST)?;
    let text = String::from_utf8(bytes).map_err(|_| NO_REQUEST)?;
    let (_, rest) = text
        .split_once("-----BEGIN CERTIFICATE REQUEST-----")
        .ok_or(NO_REQUEST)?;
    let (body, _) = rest
        .split_once("-----END CERTIFICATE REQUEST-----")
        .ok_or(NO_REQUEST)?;
    let body: String = body.split_whitespace().collect();
    let value = STANDARD.decode(body).map_err(|_| NO_REQUEST)?;
    match value_bytes(&value) {
        Some(bytes) if bytes <= value.len() => Ok(()),
        _ => Err("asn1: syntax error: data truncated"),
    }
}

/// How many bytes the first value of DER says it has.
fn value_bytes(der: &[u8]) -> Option<usize> {
    let first = usize::from(*der.get(1)?);
    if first < 0x80 {
        return Some(2 + first);
    }
    let count = first & 0x7f;
    let digits = der.get(2..2 + count).filter(|_| (1..=4).contains(&count))?;
    let length = digits
        .iter()
        .fold(0_usize, |sum, digit| sum << 8 | usize::from(*digit));
    Some(2 + count + length)
}

/// Demands a domain and a path, such as `example.com/my-signer`.
fn check_signer(signer: &Field<'_, '_>) {
    if !signer.need() {
        return;
    }
    let Some((domain, path)) = signer
        .text()
        .split_once('/')
        .filter(|(_, path)| !path.contains('/'))
    else {
        return signer.invalid(
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        );
    };
    if domain.len() > name::SUBDOMAIN_BYTES_MAX {
        signer.too_long(name::SUBDOMAIN_BYTES_MAX);
    }
    check_labels(signer, domain, name::check_dns_label);
    if !domain.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        signer.invalid_value(domain, why);
    }
    check_labels(signer, path, name::check_dns_subdomain);
    signer.at_most_bytes(SIGNER_BYTES_MAX);
}

/// Tells what is wrong with the first bad label of a part of the name.
fn check_labels(signer: &Field<'_, '_>, part: &str, rule: fn(&str) -> Vec<String>) {
    let mut labels = part.split('.').map(|label| (label, rule(label)));
    if let Some((label, problems)) = labels.find(|(_, problems)| !problems.is_empty()) {
        for problem in problems {
            signer.invalid_value(part, &format!("validating label {label:?}: {problem}"));
        }
    }
}

fn check_conditions(request: &Field<'_, '_>) {
    let status = request.child("status");
    let conditions = status.child("conditions");
    let stated = list(status.value(), "conditions");
    for (index, condition) in conditions.elements().enumerate() {
        let (kind, value) = (condition.child("type"), condition.child("status"));
        kind.need();
        match FINAL_CONDITIONS.contains(&kind.text()) {
            true => value.need_one_of(&["True"]),
            false => value.need_one_of(&["False", "True", "Unknown"]),
        }
        let has = |wanted: &str| stated[..index].iter().any(|known| known["type"] == wanted);
        if (kind.text() == "Approved" && has("Denied"))
            || (kind.text() == "Denied" && has("Approved"))
        {
            let why = "Approved and Denied conditions are mutually exclusive";
            conditions.invalid_value(kind.text(), why);
        }
        if has(kind.text()) {
            kind.duplicate();
        }
    }
}

/// Checks a change through a path that may set `settable` members of the status.
fn check_change(change: Change<'_>, settable: &[&str]) -> Vec<FieldError> {
    let of_type = |object: &Value, kind: &str| -> Vec<Value> {
        let conditions = list(&object["status"], "conditions").iter();
        conditions
            .filter(|condition| condition["type"] == kind)
            .cloned()
            .collect()
    };
    check(change.next, |request| {
        check_request(request);
        let status = request.child("status");
        let conditions = status.child("conditions");
        for kind in FINAL_CONDITIONS {
            if of_type(change.next, kind).len() < of_type(change.before, kind).len() {
                let why = format!("updates may not remove a condition of type {kind:?}");
                conditions.forbidden(&why);
            }
        }
        if !settable.contains(&"conditions") {
            for kind in ["Approved", "Denied"] {
                if of_type(change.next, kind).len() > of_type(change.before, kind).len() {
                    let why = format!("updates may not add a condition of type {kind:?}");
                    conditions.forbidden(&why);
                }
            }
        }
        let (certificate, had) = (
            status.child("certificate"),
            &change.before["status"]["certificate"],
        );
        if certificate.value() != had {
            if !settable.contains(&"certificate") {
                certificate.forbidden("updates may not set certificate content");
            } else if !had.is_null() {
                certificate.forbidden("updates may not modify existing certificate content");
            }
        }
    })
}
