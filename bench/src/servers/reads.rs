//! Gets and lists of every form, from a server that holds many pods.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use memchr::memmem;
use tokio::time::Instant;

use super::{
    drive::{Driven, Limit, Load, drive_metered},
    endpoint::Client,
    measure::{Bar, Measure, Unit},
    meter::{Meter, Spent},
    objects::{self, PODS, Pods},
    plot::Across,
    rounds,
    stage::{Stage, expect},
    watch::{Tally, Watches},
};

/// Connections that get single pods.
const GETTING: usize = 64;
/// Each list is made this often at the least.
const LISTS_MIN: u64 = 3;
/// How much dearer an object may be among ten times as many for the cost to count as linear: as
/// many fit into no processor's cache.
const LINEAR_MAX: f64 = 1.5;

/// Lists that were made one after the other.
pub(crate) struct Listed {
    /// How many.
    pub(crate) lists: u64,
    /// Of one list.
    bytes: u64,
    /// What all of them took.
    pub(crate) spent: Spent,
}

/// Measures, at a tenth of the first size only what is drawn.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    objects::make_namespaces(&stage.running.endpoint).await?;
    let pods = Pods::new(&stage.running.endpoint, stage.sizes.object_bytes);
    let sizes = stage.sizes.objects.clone();
    let first = stage.sizes.objects_least();
    let mut there = 0;
    let mut paged = Vec::new();
    for size in [first / 10].into_iter().chain(sizes.iter().copied()) {
        let filled = pods.fill_metered(&stage.running, there..size).await?;
        let each = filled.cpu_each(size - there);
        stage.draw_growth("CPU per create", Across::Objects(size), each);
        there = size;
        if size < first {
            let listed = list(stage, PODS).await?;
            draw(stage, size, &listed);
            continue;
        }
        if size == first {
            gets(stage, &pods, size).await?;
        }
        paged.push((size, lists(stage, size).await?));
        for (name, path) in selections() {
            let listed = list(stage, &path).await?;
            note(stage, &format!("of {}, {name}", count(size)), &listed);
        }
        watch_list(stage, size).await?;
    }
    growth_of_pages(stage, &paged);
    Ok(())
}

/// Whether pages of many cost as much, for each object, as pages of few.
fn growth_of_pages(stage: &mut Stage<'_>, paged: &[(u64, Option<f64>)]) {
    let [(few, Some(cheap)), .., (many, Some(dear))] = paged else {
        return;
    };
    let each = |cpu: &f64, size: &u64| cpu / *size as f64;
    let growth = each(dear, many) / each(cheap, few);
    let name = format!(
        "by pages of 500, CPU for each object: {} to {}",
        count(*many),
        count(*few)
    );
    let found = stage.findings.add(name, growth, Unit::Times);
    found.bar(Bar::Below(LINEAR_MAX));
}

fn count(number: u64) -> String {
    Unit::Count.text(number as f64)
}

fn draw(stage: &mut Stage<'_>, size: u64, listed: &Listed) {
    let each = listed.spent.cpu_each(listed.lists);
    stage.draw_growth("CPU per full list", Across::Objects(size), each);
}

/// Full lists of everything, which is this many. Returns the CPU time of one that is paged.
pub(crate) async fn lists(stage: &mut Stage<'_>, size: u64) -> Result<Option<f64>> {
    let (is_first, is_last) = stage.sizes.place(size);
    let name = format!("list of {}", count(size));
    let full = list(stage, PODS).await?;
    let found = note(stage, &name, &full);
    if is_first {
        expect(found, Bar::Better(15.0));
    }
    draw(stage, size, &full);
    let rate = full.bytes as f64 * full.lists as f64 / full.spent.elapsed.as_secs_f64();
    let bytes = format!("{name}: bytes");
    let found = stage.findings.add(bytes, rate, Unit::BytesPerSecond);
    if is_first {
        found.bar(Bar::AtLeast(1e9));
    }
    let any = list(stage, &format!("{PODS}?resourceVersion=0")).await?;
    note(stage, &format!("{name}, resourceVersion=0"), &any);
    let paged = pages(stage).await?;
    let found = note(stage, &format!("{name} by pages of 500"), &paged);
    if is_last {
        expect(found, Bar::Better(15.0));
    }
    Ok(paged.spent.cpu_each(paged.lists))
}

/// Lists that give back few of many.
fn selections() -> [(&'static str, String); 4] {
    let namespace = "/api/v1/namespaces/bench-00000007/pods";
    [
        ("one namespace of a hundred", namespace.to_owned()),
        (
            "by a label that 1 % have",
            format!("{PODS}?labelSelector=group%3Dg-00000007"),
        ),
        (
            "by a field that one has",
            format!("{PODS}?fieldSelector=spec.nodeName%3Dnode-00000007"),
        ),
        (
            "by a label that none has",
            format!("{PODS}?labelSelector=group%3Dnone"),
        ),
    ]
}

/// Gets of single pods, of which there are this many.
pub(crate) async fn gets(stage: &mut Stage<'_>, pods: &Pods, objects: u64) -> Result<()> {
    let mut rounds: Vec<(Driven, Spent)> = Vec::new();
    for _ in 0..stage.sizes.rounds {
        let get = pods.get();
        let load = Load::closed(GETTING, Limit::Time(stage.sizes.time()));
        let driven = drive_metered(&stage.running, load, move |turn, request| {
            get.fill(turn.number % objects, 0, request);
        });
        let (driven, meter) = driven.await?;
        rounds.push((driven.clean()?, meter.stop()?));
    }
    let dearness = |(driven, spent): &(Driven, Spent)| spent.dearness(driven.granted);
    let (driven, spent) = rounds::middle(rounds, dearness).context("there was a round")?;
    let name = format!("get, {GETTING} connections");
    stage.findings.add(&*name, driven.rate(), Unit::PerSecond);
    stage.cpu(format!("{name}: CPU each"), spent, driven.granted);
    let slow = driven.latency.quantile(0.99);
    stage.findings.time(format!("{name}: p99"), slow);
    Ok(())
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
    while lists < LISTS_MIN || begun.elapsed() < stage.sizes.time() {
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

fn note<'stage>(
    stage: &'stage mut Stage<'_>,
    name: &str,
    listed: &Listed,
) -> Option<&'stage mut Measure> {
    let each = listed.spent.elapsed / listed.lists as u32;
    stage.findings.time(name, each);
    stage.cpu(format!("{name}: CPU each"), listed.spent, listed.lists)
}

/// All pods as events, then the bookmark that says so.
async fn watch_list(stage: &mut Stage<'_>, objects: u64) -> Result<()> {
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
    let name = format!("watch-list of {}", count(objects));
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
