//! What holds for pods of one operating system only.

use crate::field::Field;
use crate::workloads::each_container;

/// Bytes that a specification of credentials may have.
const CREDENTIALS_BYTES_MAX: usize = 64 * 1_024;
const DOMAIN_BYTES_MAX: usize = 256;
const USER_BYTES_MAX: usize = 104;
const NOT_ON_WINDOWS: &str = "cannot be set for a windows pod";
const ONLY_LINUX_OF_PODS: [&str; 11] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
const ONLY_LINUX_OF_CONTAINERS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

pub(super) fn check_options(options: &Field<'_, '_>) {
    if let Some(name) = options.given("gmsaCredentialSpecName") {
        name.dns_subdomain();
    }
    if let Some(credentials) = options.given("gmsaCredentialSpec") {
        match credentials.text().len() {
            0 => credentials.invalid("gmsaCredentialSpec cannot be an empty string"),
            1..=CREDENTIALS_BYTES_MAX => {}
            _ => credentials.invalid("gmsaCredentialSpec size must be under 64 KiB"),
        }
    }
    if let Some(user) = options.given("runAsUserName") {
        check_user(&user);
    }
}

fn check_user(name: &Field<'_, '_>) {
    let text = name.text();
    if text.is_empty() {
        return name.invalid("runAsUserName cannot be an empty string");
    }
    if text.chars().any(char::is_control) {
        return name.invalid("runAsUserName cannot contain control characters");
    }
    let (domain, user) = match text.split_once('\\') {
        Some((_, user)) if user.contains('\\') => {
            return name.invalid("runAsUserName cannot contain more than one backslash");
        }
        Some((domain, user)) => (Some(domain), user),
        None => (None, text),
    };
    if domain.is_some_and(|domain| domain.len() >= DOMAIN_BYTES_MAX) {
        name.invalid("runAsUserName's Domain length must be under 256 characters");
    }
    if domain.is_some_and(|domain| !is_net_bios(domain) && !is_domain(domain)) {
        name.invalid("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    }
    if user.is_empty() {
        name.invalid("runAsUserName's User cannot be empty");
    } else if user.len() > USER_BYTES_MAX {
        name.invalid("runAsUserName's User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.chars().all(|letter| ". ".contains(letter)) {
        name.invalid("runAsUserName's User cannot contain only periods or spaces");
    }
    if user.contains(|letter| "\"/\\:;|=,+*?<>@[]".contains(letter)) {
        let why = "runAsUserName's User cannot contain the following characters: ";
        name.invalid(&format!("{why}\"/\\:;|=,+*?<>@[]"));
    }
}

fn is_net_bios(domain: &str) -> bool {
    (1..=15).contains(&domain.chars().count())
        && !domain.starts_with('.')
        && !domain.contains(|letter| "\\/:*?\"<>|".contains(letter))
}

fn is_domain(domain: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    domain.split('.').all(is_label)
}

/// Checks that all containers of a pod are processes of their host, or none is.
pub(in crate::workloads) fn check_host_process(spec: &Field<'_, '_>) {
    let of = |part: &Field<'_, '_>| {
        let options = part.child("securityContext");
        options
            .child("windowsOptions")
            .child("hostProcess")
            .value()
            .as_bool()
    };
    let of_pod = of(spec);
    let (mut count, mut process_count) = (0, 0);
    each_container(spec, |container| {
        count += 1;
        let own = of(container);
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let context = container.child("securityContext");
            let options = context.child("windowsOptions");
            let why = "pod hostProcess value must be identical if both are specified, was";
            options
                .child("hostProcess")
                .invalid(&format!("{why} {of_pod}"));
        }
        process_count += usize::from(own.or(of_pod) == Some(true));
    });
    if process_count == 0 {
        return;
    }
    if process_count != count {
        let why = "If pod contains any hostProcess containers then all containers must be \
                   HostProcess containers";
        spec.invalid_value("", why);
    }
    if !spec.child("hostNetwork").is_true() {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        spec.child("hostNetwork").invalid_value(false, why);
    }
}

/// Refuses what only pods of the other system can have.
pub(in crate::workloads) fn check_linux(spec: &Field<'_, '_>) {
    let why = "windows options cannot be set for a linux pod";
    let refuse = |part: &Field<'_, '_>| {
        let context = part.child("securityContext");
        if let Some(options) = context.given("windowsOptions") {
            options.forbidden(why);
        }
    };
    refuse(spec);
    each_container(spec, refuse);
}

/// Refuses what only pods of the other system can have.
pub(in crate::workloads) fn check_windows(spec: &Field<'_, '_>) {
    let refuse = |part: &Field<'_, '_>, members: &[&str]| {
        for member in members {
            if let Some(member) = part.given(member) {
                member.forbidden(NOT_ON_WINDOWS);
            }
        }
    };
    refuse(&spec.child("securityContext"), &ONLY_LINUX_OF_PODS);
    refuse(spec, &["hostUsers"]);
    for member in ["hostPID", "hostIPC"] {
        if spec.child(member).is_true() {
            spec.child(member).forbidden(NOT_ON_WINDOWS);
        }
    }
    refuse(spec, &["shareProcessNamespace"]);
    each_container(spec, |container| {
        refuse(
            &container.child("securityContext"),
            &ONLY_LINUX_OF_CONTAINERS,
        );
    });
}
