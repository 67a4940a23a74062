//! Several servers, one of which runs the controllers.

use std::sync::Arc;

use listwatch_controllers::{Controllers, Settings, Standing};
use listwatch_server::RunningServer;
use listwatch_store::MemoryStore;
use tokio::net::TcpListener;

use crate::stage::{CONFIG_MAPS, Stage, config_map, owned};

#[tokio::test]
async fn a_server_that_stops_leaves_the_controllers_to_another() {
    let store = Arc::new(MemoryStore::new());
    let mut servers = Vec::new();
    for identity in ["one", "two"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = RunningServer::start(listener, store.clone(), Default::default());
        let server = server.await.unwrap();
        let settings = Settings {
            standing: Standing::Candidate {
                identity: identity.to_owned(),
            },
            ..Settings::default()
        };
        let controllers = Controllers::start(server.handle(), settings);
        servers.push((server, controllers));
    }
    let (last, last_controllers) = servers.pop().unwrap();
    let stage = Stage::around(last, last_controllers);
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let never = serde_json::json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "never",
        "uid": "00000000-0000-0000-0000-000000000001",
    });
    let lost = |name: &str| owned(config_map(name), std::slice::from_ref(&never));
    stage.create(CONFIG_MAPS, lost("first")).await;
    watch.until("DELETED", "first").await;
    let (server, controllers) = servers.pop().unwrap();
    controllers.stop().await;
    server.shutdown().await;
    stage.create(CONFIG_MAPS, lost("second")).await;
    watch.until("DELETED", "second").await;
    stage.end().await;
}
