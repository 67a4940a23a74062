//! List, then watch, and print what changes. Talks to any Kubernetes API without authentication.
//!
//! `cargo run -p listwatch-examples --example watch_configmaps -- http://127.0.0.1:8080`
//!
//! Without an address it starts a server of its own, makes a few changes, and ends.

use std::sync::Arc;

use listwatch::{
    Bookmarks, Client, Collection, Freshness, Patch, WatchEvent, WatchOptions, WatchStart,
};
use listwatch_server::{RunningServer, Settings};
use listwatch_store::MemoryStore;
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if let Some(address) = std::env::args().nth(1) {
        return watch(&Client::new(&address)?, usize::MAX).await;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let store = Arc::new(MemoryStore::new());
    let server = RunningServer::start(listener, store, Settings::default()).await?;
    let client = Client::new(&format!("http://{}", server.address()))?;
    let (watched, changed) = tokio::join!(watch(&client, 3), change(&client));
    watched.and(changed)?;
    server.shutdown().await;
    Ok(())
}

/// Prints events until there have been so many.
async fn watch(client: &Client, events: usize) -> anyhow::Result<()> {
    let options = WatchOptions {
        label_selector: None,
        field_selector: None,
        start: WatchStart::State(Freshness::MostRecent),
        bookmarks: Bookmarks::Wanted,
        timeout: None,
    };
    let mut stream = client
        .watch(&Collection::core("configmaps"), &options)
        .await?;
    let mut printed = 0;
    while printed < events {
        let Some(event) = stream.next().await else {
            break;
        };
        match event? {
            WatchEvent::Added(object) => print("ADDED", &object),
            WatchEvent::Modified(object) => print("MODIFIED", &object),
            WatchEvent::Deleted(object) => print("DELETED", &object),
            WatchEvent::Bookmark(_) => continue,
        }
        printed += 1;
    }
    Ok(())
}

/// Makes something to see: one object, changed and deleted.
async fn change(client: &Client) -> anyhow::Result<()> {
    let configmaps = Collection::core("configmaps").in_namespace("default");
    let color = json!({"metadata": {"name": "color"}, "data": {"is": "blue"}});
    client.create(&configmaps, &color).await?;
    let green = Patch::Merge(json!({"data": {"is": "green"}}));
    client.patch(&configmaps, "color", &green).await?;
    client
        .delete(&configmaps, "color", listwatch::Precondition::None)
        .await?;
    Ok(())
}

fn print(event: &str, object: &Value) {
    let metadata = &object["metadata"];
    let text = |member: &str| metadata[member].as_str().unwrap_or_default().to_owned();
    let (namespace, name, version) = (text("namespace"), text("name"), text("resourceVersion"));
    eprintln!("{event:<9} {namespace}/{name}   @{version}");
}
