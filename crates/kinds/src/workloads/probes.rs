//! Questions put to containers, and hooks in their lives.

use super::containers::Surroundings;
use crate::field::Field;

const ONE_HANDLER: &str = "may not specify more than 1 handler type";

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// Whether a container still lives.
    Liveness,
    /// Whether it can be asked.
    Readiness,
    /// Whether it has begun.
    Startup,
}

pub(super) fn check_probe(probe: &Field<'_, '_>, kind: Probe) {
    check_handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], None);
    let [failures, delay, period, successes, grace, timeout] = probe.members([
        "failureThreshold",
        "initialDelaySeconds",
        "periodSeconds",
        "successThreshold",
        "terminationGracePeriodSeconds",
        "timeoutSeconds",
    ]);
    for number in [&delay, &timeout, &period, &successes, &failures] {
        number.non_negative();
    }
    if grace.integer().is_some_and(|seconds| seconds <= 0) {
        grace.invalid("must be greater than 0");
    }
    match kind {
        Probe::Readiness if grace.is_set() => {
            grace.invalid("must not be set for readinessProbes");
        }
        Probe::Readiness => {}
        Probe::Liveness | Probe::Startup => {
            let count = successes.integer().unwrap_or(0);
            if count != 1 {
                successes.invalid_value(count, "must be 1");
            }
        }
    }
}

pub(super) fn check_lifecycle(lifecycle: &Field<'_, '_>, around: &Surroundings<'_>) {
    let handlers = ["exec", "httpGet", "tcpSocket", "sleep"];
    for hook in ["postStart", "preStop"] {
        if let Some(hook) = lifecycle.given(hook) {
            check_handler(&hook, &handlers, around.grace_seconds());
        }
    }
}

fn check_handler(handler: &Field<'_, '_>, kinds: &[&str], grace_seconds: Option<i64>) {
    let mut given = kinds
        .iter()
        .filter_map(|kind| handler.given(kind).map(|one| (*kind, one)));
    match given.next() {
        None => return handler.required("must specify a handler type"),
        Some(("exec", command)) => {
            command.child("command").need();
        }
        Some(("httpGet", request)) => check_http_get(&request),
        Some(("tcpSocket", socket)) => socket.child("port").port_number_or_name(),
        Some(("grpc", call)) => check_call(&call),
        Some((_, sleep)) => check_sleep(&sleep, grace_seconds),
    }
    given.for_each(|(_, other)| other.forbidden(ONE_HANDLER));
}

fn check_http_get(request: &Field<'_, '_>) {
    request.child("path").need();
    request.child("port").port_number_or_name();
    request.child("scheme").one_of(&["HTTP", "HTTPS"]);
    let headers = request.child("httpHeaders");
    for header in headers.elements() {
        let name = header.child("name").text();
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || !name.bytes().all(is_part) {
            let why = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. \
                       'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
            headers.invalid_value(name, why);
        }
    }
}

fn check_call(call: &Field<'_, '_>) {
    call.child("port").port_number();
    if let Some(mode) = call.given("mode") {
        mode.one_of(&["Plaintext", "TLS"]);
    }
}

fn check_sleep(sleep: &Field<'_, '_>, grace_seconds: Option<i64>) {
    let seconds = sleep.child("seconds").integer().unwrap_or(0);
    if let Some(most) = grace_seconds
        && !(0..=most).contains(&seconds)
    {
        let limit = format!("less than terminationGracePeriodSeconds ({most})");
        sleep.invalid_value(seconds, &format!("must be non-negative and {limit}"));
    }
}
