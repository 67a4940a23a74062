//! Which state a read shows: every row of the tables of resourceVersion, limit and continue.

mod getting;
mod listing;
mod paging;
mod watching;

use listwatch_server::{Settings, watch_cache::CacheLimits};
use listwatch_store::{Read, Revision};
use serde_json::{Value, json};

use crate::{
    client::version,
    running::{CONFIG_MAPS, TestServer, start_server, start_with},
};

/// Versions of a short history: `a` and `b` created, `a` changed, `c` created.
struct History {
    server: TestServer,
    a: u64,
    b: u64,
    a_changed: u64,
    c: u64,
}

async fn history() -> History {
    write_history(start_server().await).await
}

/// The same history on a server that has forgotten its beginning: everything before `c`.
async fn forgotten_history() -> History {
    let cache = CacheLimits {
        history_events_max: 1,
        ..CacheLimits::default()
    };
    let settings = Settings {
        cache,
        ..Settings::default()
    };
    let history = write_history(start_with(settings).await).await;
    forget_before(&history.server, history.c).await;
    history
}

async fn write_history(server: TestServer) -> History {
    let a = create(&server, "a").await;
    let b = create(&server, "b").await;
    let a_changed = change(&server, "a", "1").await;
    let c = create(&server, "c").await;
    server.has_settled().await;
    History {
        server,
        a,
        b,
        a_changed,
        c,
    }
}

async fn create(server: &TestServer, name: &str) -> u64 {
    let object = json!({"metadata": {"name": name}});
    version(&server.post(CONFIG_MAPS, &object).await.created())
}

async fn change(server: &TestServer, name: &str, value: &str) -> u64 {
    let patch = json!({"data": {"k": value}});
    let path = format!("{CONFIG_MAPS}/{name}");
    version(&server.merge(&path, &patch).await.ok())
}

async fn forget_before(server: &TestServer, before: u64) {
    let before = Revision::new(before);
    server.store.compact(before).await.unwrap();
}

async fn newest(server: &TestServer) -> u64 {
    let page = server.store.read(Read::revision_only()).await.unwrap();
    page.revision.get()
}

/// The Status for a version that has not happened, and may soon.
fn too_large(requested: u64, current: u64) -> Value {
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": format!(
            "Timeout: Too large resource version: {requested}, current: {current}"
        ),
        "reason": "Timeout",
        "details": {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"},
            ],
            "retryAfterSeconds": 1,
        },
        "code": 504,
    })
}
