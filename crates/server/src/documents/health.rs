//! Is the server alive, and should it get requests?

use std::time::Duration;

use http::{Response, StatusCode};
use listwatch_store::{Read, Store};
use tokio::time::timeout;

use crate::{
    lifecycle::Phase,
    request::Query,
    response::{Body, not_found_page, plain_text},
    server::Server,
};

/// How long the store may take to answer.
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

/// Liveness asks whether a restart would help; readiness also whether requests would be answered.
async fn checks(server: &Server, endpoint: &str) -> Vec<Check> {
    let phase = server.lifecycle.phase();
    let state = |passes: bool| if passes { State::Passed } else { State::Failed };
    let mut checks = vec![
        Check {
            name: "ping",
            state: State::Passed,
        },
        Check {
            name: "log",
            state: State::Passed,
        },
        Check {
            name: "store",
            state: state(answers(&*server.store).await),
        },
    ];
    if endpoint == "readyz" {
        let loaded = state(phase >= Phase::Serving);
        checks.push(Check {
            name: "informer-sync",
            state: loaded,
        });
        checks.push(Check {
            name: "shutdown",
            state: state(phase < Phase::Draining),
        });
    }
    checks
}

/// Whether the store tells its revision in time.
async fn answers(store: &dyn Store) -> bool {
    let read = timeout(STORE_TIMEOUT, store.read(Read::revision_only())).await;
    matches!(read, Ok(Ok(_)))
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
