//! An informer straight on etcd, without any API server: settings of a few services, followed while
//! somebody changes them and while etcd itself is killed and comes back.
//!
//! `cargo run -p listwatch-examples --example etcd_informer`

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use listwatch::{
    Decoder, Notification, SharedInformer, Version,
    etcd::{
        Client, Delete, KeyRange, Put, Range,
        testing::{Cluster, Program, Release},
    },
    source::EtcdSource,
};
use serde::Deserialize;

const PREFIX: &str = "/services/";

/// Longer than etcd needs to come back.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is kept of each service; other fields are skipped while decoding.
#[derive(Debug, Deserialize)]
struct Service {
    replicas: u32,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return Ok(());
    };
    let mut etcd = Cluster::single(&program).await?;
    let client = etcd.client();
    put(&client, "shop/web", 2).await?;
    put(&client, "shop/search", 1).await?;

    let source = EtcdSource::new(client.clone(), PREFIX);
    let informer = SharedInformer::new(Arc::new(source), Decoder::<Service>::json());
    informer.add_handler(show)?;
    informer.start()?;
    informer.wait_until_synced().await?;

    put(&client, "shop/web", 5).await?;
    put(&client, "mail/smtp", 1).await?;
    eprintln!("etcd is killed and started again");
    etcd.crash_and_restart().await?;
    let search = KeyRange::one(format!("{PREFIX}shop/search"));
    let deleted = client.delete(Delete::new(search)).await?.header.revision;

    let deleted = Version::Number(deleted);
    let snapshot = informer.read_at_least(&deleted, PATIENCE).await?;
    let cached: BTreeMap<String, Version> = snapshot
        .iter()
        .map(|service| (service.key.to_string(), service.version.clone()))
        .collect();
    ensure!(
        cached == stored(&client).await?,
        "the cache differs from etcd"
    );
    let status = informer.reflector_status().context("it has a reflector")?;
    eprintln!(
        "{} services cached, after {} list and {} watches",
        cached.len(),
        status.counts.lists,
        status.counts.watches
    );
    informer.shut_down().await;
    Ok(())
}

fn show(change: Notification<Service>) {
    match change {
        Notification::Added { object, .. } => {
            eprintln!(
                "+ {} @{}: {} replicas",
                object.key, object.version, object.replicas
            );
        }
        Notification::Updated { old, new } => {
            eprintln!(
                "~ {} @{}: {} -> {}",
                new.key, new.version, old.replicas, new.replicas
            );
        }
        Notification::Deleted(deleted) => eprintln!("- {}", deleted.key),
        Notification::Lagged { missed } => eprintln!("{missed} changes left out"),
    }
}

async fn put(client: &Client, name: &str, replicas: u32) -> anyhow::Result<()> {
    let value = format!(r#"{{"replicas":{replicas},"owner":"somebody"}}"#);
    client
        .put(Put::new(format!("{PREFIX}{name}"), value))
        .await?;
    Ok(())
}

async fn stored(client: &Client) -> anyhow::Result<BTreeMap<String, Version>> {
    let answer = client.range(Range::new(KeyRange::prefix(PREFIX))).await?;
    let named = answer.key_values.into_iter().map(|stored| {
        let name = String::from_utf8(stored.key[PREFIX.len()..].to_vec())?;
        Ok((name, Version::Number(stored.mod_revision)))
    });
    named.collect()
}
