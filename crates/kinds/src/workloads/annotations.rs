//! Annotations that mean something to pods.

use serde_json::Value;

use super::each_container;
use crate::field::{Field, check};

pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Checks the annotations of a pod with this spec.
pub(super) fn check_pod_annotations(annotations: &Field<'_, '_>, spec: &Value) {
    if annotations.is_empty() {
        return;
    }
    let mirror = annotations.key(MIRROR);
    if mirror.is_set() && spec["nodeName"].as_str().unwrap_or_default().is_empty() {
        mirror.invalid("must set spec.nodeName if mirror pod annotation is set");
    }
    let cost = annotations.key(DELETION_COST);
    if cost.is_set() && !is_cost(cost.text()) {
        cost.invalid("must be a 32bit integer");
    }
    let profile = annotations.child(SECCOMP_OF_POD);
    if profile.is_set() {
        check_seccomp(&profile);
    }
    for (key, _) in annotations
        .entries()
        .filter(|(key, _)| key.starts_with(SECCOMP_OF_CONTAINER))
    {
        check_seccomp(&annotations.child(key));
    }
    for (key, profile) in annotations.entries() {
        let Some(container) = key.strip_prefix(APP_ARMOR) else {
            continue;
        };
        if !has_container(spec, container) {
            profile.invalid_value(container, "container not found");
        }
        let text = profile.text();
        let is_known = matches!(text, "" | "runtime/default" | "unconfined");
        if !is_known && !text.starts_with("localhost/") {
            let name = listwatch_api::go_text::quote(text);
            profile.invalid(&format!("invalid AppArmor profile name: {name}"));
        }
    }
}

fn is_cost(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_padded = digits.len() > 1 && digits.starts_with('0');
    !is_padded && text.parse::<i32>().is_ok() && !text.starts_with('+') && text != "-0"
}

fn check_seccomp(profile: &Field<'_, '_>) {
    let text = profile.text();
    if matches!(text, "runtime/default" | "docker/default" | "unconfined") {
        return;
    }
    match text.strip_prefix("localhost/") {
        Some(path) => profile.with_value(&Value::from(path)).relative_path(),
        None => profile.invalid("must be a valid seccomp profile"),
    }
}

fn has_container(spec: &Value, name: &str) -> bool {
    let mut found = false;
    check(spec, |spec| {
        each_container(spec, |container| {
            found |= container.child("name").text() == name
        });
    });
    found
}

/// Checks what annotations of a pod may not become.
pub(super) fn check_annotation_change(annotations: &Field<'_, '_>, before: &Value) {
    let guarded = |key: &str| match key {
        MIRROR => Some("mirror pod annotation"),
        key if key.starts_with(APP_ARMOR) => Some("AppArmor annotations"),
        _ => None,
    };
    for (key, value) in before.as_object().into_iter().flatten() {
        if let Some(what) = guarded(key).filter(|_| annotations.value().get(key) != Some(value)) {
            annotations
                .key(key)
                .forbidden(&format!("may not remove or update {what}"));
        }
    }
    for (key, added) in annotations
        .entries()
        .filter(|(key, _)| before.get(*key).is_none())
    {
        if let Some(what) = guarded(key) {
            added.forbidden(&format!("may not add {what}"));
        }
    }
}

/// Checks that profiles in annotations are those in fields.
pub(super) fn check_profiles_agree(pod: &Field<'_, '_>) {
    let metadata = pod.child("metadata");
    let annotations = metadata.child("annotations");
    let of_profiles = |(key, _): (&str, Field<'_, '_>)| {
        let prefixes = [SECCOMP_OF_POD, SECCOMP_OF_CONTAINER, APP_ARMOR];
        prefixes.iter().any(|prefix| key.starts_with(prefix))
    };
    if !annotations.entries().any(of_profiles) {
        return;
    }
    let spec = pod.child("spec");
    let of_pod = spec.child("securityContext");
    compare(
        &of_pod.child("seccompProfile"),
        &annotations.key(SECCOMP_OF_POD),
        "seccomp",
    );
    each_container(&spec, |container| {
        let key = format!("{SECCOMP_OF_CONTAINER}{}", container.child("name").text());
        let context = container.child("securityContext");
        compare(
            &context.child("seccompProfile"),
            &annotations.key(&key),
            "seccomp",
        );
    });
    if spec.child("os").child("name").text() == "windows" {
        return;
    }
    each_container(&spec, |container| {
        let key = format!("{APP_ARMOR}{}", container.child("name").text());
        let context = container.child("securityContext");
        let place = context.child("appArmorProfile");
        let profile = match place.is_set() {
            true => place,
            false => place.with_value(of_pod.child("appArmorProfile").value()),
        };
        compare(&profile, &annotations.key(&key), "apparmor");
    });
}

fn compare(profile: &Field<'_, '_>, annotation: &Field<'_, '_>, word: &str) {
    if !profile.is_set() || !annotation.is_set() {
        return;
    }
    let text = annotation.text();
    let is_same = match profile.child("type").text() {
        "Unconfined" => text == "unconfined",
        "RuntimeDefault" => {
            text == "runtime/default" || (word == "seccomp" && text == "docker/default")
        }
        "Localhost" => text.starts_with("localhost/"),
        _ => true,
    };
    if !is_same {
        let why = format!("{word} type in annotation and field must match");
        profile.child("type").forbidden(&why);
    } else if let Some(path) = text.strip_prefix("localhost/")
        && profile.child("localhostProfile").text() != path
    {
        let why = format!("{word} profile in annotation and field must match");
        profile.child("localhostProfile").forbidden(&why);
    }
}
