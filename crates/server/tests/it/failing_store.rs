//! A store that fails in one way and does everything else well.

use std::sync::Arc;

use listwatch_server::{RunningServer, Settings};
use listwatch_store::Store;
use serde_json::json;
use tokio::net::TcpListener;

use crate::{
    faulty_store::{Faults, FaultyStore, Following, Reading, Writing},
    running::{CONFIG_MAPS, TestServer, start_on},
};

async fn start() -> (TestServer, Arc<FaultyStore>) {
    let store = FaultyStore::new();
    let server = start_on(Arc::clone(&store) as Arc<dyn Store>, Settings::default()).await;
    (server, store)
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_nothing_else() {
    let (server, store) = start().await;
    let object = json!({"metadata": {"name": "a"}});
    let created = server.post(CONFIG_MAPS, &object).await.created();
    let mut events = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    events.shows(&["ADDED a"]).await;
    store.set(Faults {
        writing: Writing::Full,
        ..Faults::NONE
    });
    let item = format!("{CONFIG_MAPS}/a");
    let other = json!({"metadata": {"name": "b"}});
    let patch = json!({"data": {"k": "v"}});
    for answer in [
        server.post(CONFIG_MAPS, &other).await,
        server.merge(&item, &patch).await,
        server.delete(&item).await,
    ] {
        let status = answer.refused(503);
        assert_eq!(status["reason"], "ServiceUnavailable");
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("no space left"), "{message}");
    }
    assert_eq!(server.get(&item).await.ok(), created);
    store.heal();
    server.merge(&item, &patch).await.ok();
    events.shows(&["MODIFIED a"]).await;
    server.assert_well().await;
}

#[tokio::test]
async fn a_store_that_does_not_answer_makes_the_server_unready() {
    let (server, store) = start().await;
    store.set(Faults {
        reading: Reading::Gone,
        ..Faults::NONE
    });
    let answer = server.get("/readyz").await;
    assert_eq!(answer.code, 500);
    let text = answer.text();
    assert!(
        text.contains("[-]store failed: reason withheld\n"),
        "{text}"
    );
    assert!(text.ends_with("readyz check failed\n"), "{text}");
    assert_eq!(server.get("/readyz/store").await.code, 500);
    assert_eq!(server.get("/readyz/ping").await.code, 200);
    assert_eq!(server.get("/readyz?exclude=store").await.code, 200);
    assert_eq!(
        server.get("/livez").await.text(),
        "ok",
        "a restart is no help"
    );
    let stale = server
        .get(&format!("{CONFIG_MAPS}?resourceVersion=0"))
        .await;
    stale.ok();
    store.heal();
    assert_eq!(server.get("/readyz").await.text(), "ok");
    server.assert_well().await;
}

#[tokio::test]
async fn a_server_does_not_start_without_its_store_and_says_why() {
    let store = FaultyStore::new();
    store.set(Faults::GONE);
    let start = async || {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let store = Arc::clone(&store) as Arc<dyn Store>;
        RunningServer::start(listener, store, Settings::default()).await
    };
    let refused = start().await.err().map(|error| error.to_string());
    let reason = refused.unwrap_or_default();
    assert!(reason.contains("the store is away"), "{reason}");
    store.heal();
    start().await.unwrap();
    // The objects that every cluster has are there, but they cannot be followed.
    store.set(Faults {
        following: Following::Gone,
        ..Faults::NONE
    });
    let refused = start().await.err().map(|error| error.to_string());
    let reason = refused.unwrap_or_default();
    assert!(reason.contains("the store is away"), "{reason}");
}
