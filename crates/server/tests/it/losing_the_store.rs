//! A server whose store goes away, is slow, or does not say what it did, and comes back.

mod answers;
mod staleness;

use std::sync::Arc;

use listwatch_server::{Settings, watch_cache::CacheLimits};
use listwatch_store::{Revision, Store};
use serde_json::{Value, json};

use crate::{
    client::version,
    faulty_store::FaultyStore,
    running::{CONFIG_MAPS, TestServer, start_on, within},
};

/// A server with the config maps `a` and `b`, and its store.
struct Scene {
    server: TestServer,
    store: Arc<FaultyStore>,
    a: u64,
    b: u64,
}

impl Scene {
    async fn new() -> Self {
        Self::with(CacheLimits::default()).await
    }

    async fn with(cache: CacheLimits) -> Self {
        let store = FaultyStore::new();
        let settings = Settings {
            cache,
            ..Settings::default()
        };
        let server = start_on(Arc::clone(&store) as Arc<dyn Store>, settings).await;
        let a = create(&server, "a").await;
        let b = create(&server, "b").await;
        server.has_settled().await;
        Self {
            server,
            store,
            a,
            b,
        }
    }

    /// Waits until the server is ready, or not.
    async fn readiness(&self, code: u16) -> String {
        let answer = async {
            loop {
                let answer = self.server.get("/readyz").await;
                if answer.code == code {
                    return answer.text();
                }
                tokio::task::yield_now().await;
            }
        };
        within(answer).await
    }

    /// The value of a metric without labels.
    async fn metric(&self, name: &str) -> f64 {
        let text = self.server.get("/metrics").await.text();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.expect(name).trim().parse().unwrap()
    }

    async fn compact(&self, before: u64) {
        self.store.compact(Revision::new(before)).await.unwrap();
    }
}

async fn create(server: &TestServer, name: &str) -> u64 {
    version(&server.post(CONFIG_MAPS, &config_map(name)).await.created())
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}
