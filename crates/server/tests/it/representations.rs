//! One object in many forms: tables, metadata alone, YAML, indented, compressed.

mod compressed;
mod metadata_only;
mod negotiation;
mod tables;

use serde_json::{Value, json};

use crate::running::{CONFIG_MAPS, TestServer, start_server};

/// A server with configmaps `a` and `b`, each of one entry.
async fn two_config_maps() -> TestServer {
    let server = start_server().await;
    for name in ["a", "b"] {
        create(&server, name).await;
    }
    server
}

async fn create(server: &TestServer, name: &str) -> Value {
    let object = json!({"metadata": {"name": name, "labels": {"l": name}}, "data": {"k": "v"}});
    server.post(CONFIG_MAPS, &object).await.created()
}
