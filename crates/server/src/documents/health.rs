//! Is the server alive, and should it get requests?

use std::time::Duration;

use crate::{
    lifecycle::Phase,
    request::Query,
    response::{Body, not_found_page, plain_text},
    server::Server,
};
use http::{Response, StatusCode};

/// How long the store may take to answer, and the watch cache to come as far.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// One thing that is looked at.
struct Check {
    name: &'static str,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Passed,
    Failed,
    Excluded,
}

/// Answers `/healthz`, `/livez`, `/readyz` and the paths of their checks.
pub(super) async fn respond(server: &Server, path: &str, query: &Query) -> Response<Body> {
    let path = path.trim_start_matches('/');
    let (endpoint, name) = match path.split_once('/') {
        Some((endpoint, name)) => (endpoint, Some(name)),
        None => (path, None),
    };
    let mut checks = checks(server, endpoint).await;
    if let Some(name) = name {
        let found = checks.into_iter().find(|check| check.name == name);
        return found.map_or_else(not_found_page, |check| answer_one(&check));
    }
    for check in &mut checks {
        if query.all("exclude").any(|name| name == check.name) {
            check.state = State::Excluded;
        }
    }
    let lines: String = checks.iter().map(line).collect();
    let failed = checks.iter().any(|check| check.state == State::Failed);
    match query.first("verbose") {
        _ if failed => {
            let verdict = format!("{lines}{endpoint} check failed\n");
            plain_text(StatusCode::INTERNAL_SERVER_ERROR, verdict)
        }
        Some(_) => plain_text(StatusCode::OK, format!("{lines}{endpoint} check passed\n")),
        None => plain_text(StatusCode::OK, "ok".to_owned()),
    }
}

/// Liveness asks whether a restart would help, which it does not when the store is away: it would
/// only lose what is still known. Readiness asks whether requests would be answered.
async fn checks(server: &Server, endpoint: &str) -> Vec<Check> {
    let state = |passes: bool| if passes { State::Passed } else { State::Failed };
    let check = |name, passes| Check {
        name,
        state: state(passes),
    };
    let mut checks = vec![check("ping", true), check("log", true)];
    if endpoint == "livez" {
        return checks;
    }
    let newest = server.caches.newest_revision(STORE_TIMEOUT).await.ok();
    checks.push(check("store", newest.is_some()));
    if endpoint == "readyz" {
        let expected = newest.unwrap_or_default();
        let follows = server.caches.reaches(expected, STORE_TIMEOUT).await;
        checks.push(check("watch-cache", follows));
        let phase = server.lifecycle.phase();
        checks.push(check("informer-sync", phase >= Phase::Serving));
        checks.push(check("shutdown", phase < Phase::Draining));
    }
    checks
}

fn line(check: &Check) -> String {
    let name = check.name;
    match check.state {
        State::Passed => format!("[+]{name} ok\n"),
        State::Excluded => format!("[+]{name} excluded: ok\n"),
        State::Failed => format!("[-]{name} failed: reason withheld\n"),
    }
}

fn answer_one(check: &Check) -> Response<Body> {
    match check.state {
        State::Failed => {
            let reason = "internal server error: reason withheld\n".to_owned();
            plain_text(StatusCode::INTERNAL_SERVER_ERROR, reason)
        }
        State::Passed | State::Excluded => plain_text(StatusCode::OK, "ok".to_owned()),
    }
}
