//! Gets and lists of every form, from a server that holds many pods.

use std::time::Duration;

use anyhow::{Result, ensure};
use memchr::memmem;
use tokio::time::Instant;

use super::{
    drive::{Limit, Load, drive},
    endpoint::Client,
    measure::{Bar, Unit},
    meter::{Meter, Spent},
    objects::{PODS, Pods},
    stage::{Stage, expect},
    watch::{Tally, Watches},
};

/// Connections that get single pods.
const GETTING: usize = 64;
/// Each list is made this often at the least.
const LISTS_MIN: u64 = 3;

/// Lists that were made one after the other.
pub(crate) struct Listed {
    lists: u64,
    /// Of one list.
    bytes: u64,
    spent: Spent,
}

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    let objects = stage.sizes.objects;
    let pods = stage.fill(objects).await?;
    gets(stage, &pods).await?;
    let full = list(stage, PODS).await?;
    note(stage, &format!("list of {objects}"), &full);
    let rate = full.bytes as f64 * full.lists as f64 / full.spent.elapsed.as_secs_f64();
    let found = stage.findings.add(
        format!("list of {objects}: bytes"),
        rate,
        Unit::BytesPerSecond,
    );
    found.bar(Bar::Above(1e9));
    let any = format!("{PODS}?resourceVersion=0");
    let listed = list(stage, &any).await?;
    note(
        stage,
        &format!("list of {objects}, resourceVersion=0"),
        &listed,
    );
    let paged = pages(stage).await?;
    note(stage, &format!("list of {objects} by pages of 500"), &paged);
    for (name, path) in selections() {
        let listed = list(stage, &path).await?;
        note(stage, name, &listed);
    }
    watch_list(stage).await
}

/// Lists that give back few of many.
fn selections() -> [(&'static str, String); 4] {
    let namespace = "/api/v1/namespaces/bench-00000007/pods";
    [
        ("list of one namespace of a hundred", namespace.to_owned()),
        (
            "list by a label that 1 % have",
            format!("{PODS}?labelSelector=group%3Dg-00000007"),
        ),
        (
            "list by a field that one has",
            format!("{PODS}?fieldSelector=spec.nodeName%3Dnode-00000007"),
        ),
        (
            "list by a label that none has",
            format!("{PODS}?labelSelector=group%3Dnone"),
        ),
    ]
}

async fn gets(stage: &mut Stage<'_>, pods: &Pods) -> Result<()> {
    let (get, objects) = (pods.get(), stage.sizes.objects);
    let load = Load::closed(GETTING, Limit::Time(stage.sizes.time()));
    let meter = Meter::start(&stage.running)?;
    let driven = drive(&stage.running.endpoint, load, move |turn, request| {
        get.fill(turn.number % objects, 0, request);
    });
    let driven = driven.await?.clean()?;
    let spent = meter.stop()?;
    let name = format!("get, {GETTING} connections");
    stage.findings.add(&*name, driven.rate(), Unit::PerSecond);
    stage.cpu(format!("{name}: CPU each"), spent, driven.granted);
    let slow = driven.latency.quantile(0.99);
    stage.findings.time(format!("{name}: p99"), slow);
    Ok(())
}

impl Listed {
    /// CPU time of one list.
    pub(crate) fn cpu_each(&self) -> Option<Duration> {
        Some(self.spent.server? / self.lists as u32)
    }
}

/// Makes the same list over one connection, for as long as a load goes on.
pub(crate) async fn list(stage: &Stage<'_>, path: &str) -> Result<Listed> {
    let endpoint = &stage.running.endpoint;
    let mut connection = endpoint.connect(Client::Reading).await?;
    let request = endpoint.get(path);
    // The first one may have to make what the others find.
    let bytes = connection.send(&request).await?.granted()?.bytes;
    let meter = Meter::start(&stage.running)?;
    let (begun, mut lists) = (Instant::now(), 0);
    while lists < LISTS_MIN || begun.elapsed() < stage.sizes.time() {
        connection.send(&request).await?.granted()?;
        lists += 1;
    }
    Ok(Listed {
        lists,
        bytes,
        spent: meter.stop()?,
    })
}

/// Walks through all pages, for as long as a load goes on.
async fn pages(stage: &Stage<'_>) -> Result<Listed> {
    let endpoint = &stage.running.endpoint;
    let mut connection = endpoint.connect(Client::Reading).await?;
    let meter = Meter::start(&stage.running)?;
    let (begun, mut lists, mut bytes) = (Instant::now(), 0, 0);
    while lists == 0 || begun.elapsed() < stage.sizes.time() {
        let mut path = Some(format!("{PODS}?limit=500"));
        bytes = 0;
        while let Some(next) = path {
            let page = connection.fetch(&endpoint.get(&next)).await?;
            bytes += page.len() as u64;
            path = token(&page).map(|token| format!("{PODS}?limit=500&continue={token}"));
        }
        lists += 1;
    }
    Ok(Listed {
        lists,
        bytes,
        spent: meter.stop()?,
    })
}

/// The token that goes on where this page ends, fit for a query.
fn token(page: &[u8]) -> Option<String> {
    const BEFORE: &[u8] = br#""continue":""#;
    let from = memmem::find(page, BEFORE)? + BEFORE.len();
    let length = memchr::memchr(b'"', &page[from..])?;
    let token = String::from_utf8_lossy(&page[from..from + length]);
    let token = token.replace('+', "%2B").replace('=', "%3D");
    (!token.is_empty()).then_some(token)
}

fn note(stage: &mut Stage<'_>, name: &str, listed: &Listed) {
    let each = listed.spent.elapsed / listed.lists as u32;
    stage.findings.time(name, each);
    let found = stage.cpu(format!("{name}: CPU each"), listed.spent, listed.lists);
    if name.starts_with("list of") && !name.contains("namespace") {
        expect(found, Bar::Better(15.0));
    }
}

/// All pods as events, then the bookmark that says so.
async fn watch_list(stage: &mut Stage<'_>) -> Result<()> {
    let objects = stage.sizes.objects;
    let path = format!(
        "{PODS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
         &allowWatchBookmarks=true"
    );
    let meter = Meter::start(&stage.running)?;
    let (begun, mut rounds) = (Instant::now(), 0_u32);
    while u64::from(rounds) < LISTS_MIN || begun.elapsed() < stage.sizes.time() {
        let tally = Tally::new(0);
        let mut open = Watches::new();
        let paths = std::iter::once(path.clone());
        open.open(&stage.running.endpoint, &tally, paths).await?;
        tally.wait(1, Tally::bookmarks).await;
        ensure!(
            tally.events() == objects && tally.bookmarks() == 1,
            "a watch-list brought {} events",
            tally.events()
        );
        rounds += 1;
    }
    let spent = meter.stop()?;
    let each: Duration = spent.elapsed / rounds;
    let name = format!("watch-list of {objects}");
    stage.findings.time(&*name, each);
    stage.cpu(format!("{name}: CPU each"), spent, rounds.into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_has_no_token() {
        let page = br#"{"metadata":{"resourceVersion":"7","continue":"ab+c="},"items":[]}"#;
        assert_eq!(token(page).as_deref(), Some("ab%2Bc%3D"));
        assert_eq!(token(br#"{"metadata":{"resourceVersion":"7"}}"#), None);
        assert_eq!(token(br#"{"metadata":{"continue":""}}"#), None);
    }
}
