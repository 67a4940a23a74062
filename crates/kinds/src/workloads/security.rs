//! Under which rights containers run.

use listwatch_api::FieldError;
use serde_json::Value;

use super::shown;
use crate::field::Field;

mod windows;

pub(super) use windows::{check_host_process, check_linux, check_windows};

const PROFILE_TYPES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];
/// Bytes that the path of a profile may have.
const PROFILE_BYTES_MAX: usize = 4_095;
/// Bytes that the name of a kernel parameter may have.
const SYSCTL_BYTES_MAX: usize = 253;
const IS_NO_SYSCTL: &str = "must have at most 253 characters and match regex \
    ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// Checks the rights of one container of a pod with this spec.
pub(super) fn check_security_context(context: &Field<'_, '_>, spec: &Value) {
    context.child("runAsUser").user_id();
    context.child("runAsGroup").user_id();
    if let Some(mount) = context.given("procMount") {
        mount.one_of(&["Default", "Unmasked"]);
        if mount.text() == "Unmasked" && spec["hostUsers"] != false {
            mount.invalid("`hostUsers` must be false to use `Unmasked`");
        }
    }
    check_seccomp(&context.child("seccompProfile"));
    let escalation = context.child("allowPrivilegeEscalation");
    if escalation.is_set() && !escalation.is_true() {
        check_no_escalation(context);
    }
    windows::check_options(&context.child("windowsOptions"));
    check_app_armor(&context.child("appArmorProfile"));
}

fn check_no_escalation(context: &Field<'_, '_>) {
    let refuse = |why: &str| {
        let shown = shown::compact(context.value(), "SecurityContext");
        context.invalid_value(
            shown,
            &format!("cannot set `allowPrivilegeEscalation` to false and {why}"),
        );
    };
    if context.child("privileged").is_true() {
        refuse("`privileged` to true");
    }
    for capability in context.child("capabilities").child("add").elements() {
        if capability.text() == "CAP_SYS_ADMIN" {
            refuse("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
}

/// Checks the rights of all containers of a pod together.
pub(super) fn check_pod_security_context(spec: &Field<'_, '_>) {
    let context = spec.child("securityContext");
    if context.is_empty() {
        return;
    }
    for member in ["fsGroup", "runAsUser", "runAsGroup"] {
        context.child(member).user_id();
    }
    context
        .child("supplementalGroups")
        .elements()
        .for_each(|group| group.user_id());
    check_sysctls(&context.child("sysctls"), spec);
    if let Some(policy) = context.given("fsGroupChangePolicy") {
        policy.one_of(&["Always", "OnRootMismatch"]);
    }
    check_seccomp(&context.child("seccompProfile"));
    windows::check_options(&context.child("windowsOptions"));
    check_app_armor(&context.child("appArmorProfile"));
    if let Some(policy) = context.given("supplementalGroupsPolicy") {
        policy.one_of(&["Merge", "Strict"]);
    }
    if let Some(policy) = context.given("seLinuxChangePolicy") {
        policy.one_of(&["MountOption", "Recursive"]);
    }
}

fn check_sysctls(sysctls: &Field<'_, '_>, spec: &Field<'_, '_>) {
    let mut names = Vec::new();
    for sysctl in sysctls.elements() {
        let name = sysctl.child("name");
        let text = name.text();
        if name.need() {
            if !is_sysctl(text) {
                name.invalid(IS_NO_SYSCTL);
            } else if names.contains(&text) {
                name.duplicate();
            }
        }
        let is_of_network = text.starts_with("net.") || text.starts_with("net/");
        if is_of_network && spec.child("hostNetwork").is_true() {
            name.invalid("may not be specified when 'hostNetwork' is true");
        } else if is_of_messages(text) && spec.child("hostIPC").is_true() {
            name.invalid("may not be specified when 'hostIPC' is true");
        }
        names.push(text);
    }
}

fn is_of_messages(name: &str) -> bool {
    let name = name.replace('/', ".");
    let prefixes = ["kernel.shm", "kernel.msg", "fs.mqueue."];
    name == "kernel.sem" || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn is_sysctl(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_segment = |segment: &str| {
        let bytes = segment.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter()
            .all(|end| end.is_some_and(|&byte| is_word(byte)))
            && bytes
                .iter()
                .all(|&byte| is_word(byte) || b"-_".contains(&byte))
    };
    name.len() <= SYSCTL_BYTES_MAX && name.split(['.', '/']).all(is_segment)
}

fn check_seccomp(profile: &Field<'_, '_>) {
    if !profile.is_set() {
        return;
    }
    let (kind, path) = (profile.child("type"), profile.child("localhostProfile"));
    if kind.need_because("type is required when seccompProfile is set") {
        kind.one_of(&PROFILE_TYPES);
    }
    match (kind.text(), path.is_set()) {
        ("Localhost", true) => path.relative_path(),
        ("Localhost", false) => path.required("must be set when seccomp type is Localhost"),
        (_, true) => {
            let shown = shown::compact(profile.value(), "SeccompProfile");
            path.invalid_value(shown, "can only be set when seccomp type is Localhost");
        }
        (_, false) => {}
    }
}

fn check_app_armor(profile: &Field<'_, '_>) {
    if !profile.is_set() {
        return;
    }
    let (kind, path) = (profile.child("type"), profile.child("localhostProfile"));
    let needed = "must be set when AppArmor type is Localhost";
    match kind.text() {
        "" => kind.required("type is required when appArmorProfile is set"),
        "Localhost" if !path.is_set() => path.required(needed),
        "Localhost" => {
            if path.text().trim() != path.text() {
                path.invalid("must not be padded with whitespace");
            } else if path.is_empty() {
                path.required(needed);
            }
            if path.text().len() > PROFILE_BYTES_MAX {
                path.report(|path| FieldError::too_long(path, PROFILE_BYTES_MAX));
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if path.is_set() {
                path.invalid("can only be set when AppArmor type is Localhost");
            }
        }
        _ => kind.not_supported(&PROFILE_TYPES),
    }
}
