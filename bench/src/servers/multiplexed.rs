//! The same over HTTP/2, as client-go speaks it: many streams to a connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use tokio::{task::JoinSet, time::Instant};

use super::{
    endpoint::Endpoint,
    fanout::{self, Audience, Seats},
    histogram::Histogram,
    http2::{self, Multiplexed},
    measure::Unit,
    meter::{Meter, Spent},
    objects::Pods,
    rounds,
    stage::Stage,
    template::GROUPS,
    tls::Protocol,
};

/// Connections that get single pods, and gets under way on each.
const CONNECTIONS: usize = 4;
const STREAMS: usize = 16;

/// Gets that were made.
struct Got {
    gets: u64,
    spent: Spent,
    latency: Arc<Histogram>,
}

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    let watchers = stage.sizes.watches;
    let before = stage.resident().await?;
    let seats = Seats {
        protocol: Protocol::Http2,
        ..Seats::all(watchers)
    };
    let audience = Audience::gather(stage, seats).await?;
    if stage.sees_processes() {
        let each = (stage.resident().await? as f64 - before as f64) / watchers as f64;
        let count = Unit::Count.text(watchers as f64);
        let name = format!("memory per idle watch, of {count}");
        stage.findings.bytes(name, each);
    }
    drop(audience);
    let pods = stage.fill(watchers.max(GROUPS)).await?;
    gets(stage, &pods).await?;
    let mut audience = Audience::gather(stage, seats).await?;
    fanout::fast(stage, &pods, &mut audience).await?;
    fanout::paced(stage, &pods, &mut audience).await
}

async fn gets(stage: &mut Stage<'_>, pods: &Pods) -> Result<()> {
    let mut got = Vec::new();
    for _ in 0..stage.sizes.rounds {
        got.push(get(stage, pods).await?);
    }
    let got = rounds::middle(got, |got| got.spent.dearness(got.gets));
    let got = got.context("there was a round")?;
    let name = format!("get, {STREAMS} at a time on each of {CONNECTIONS} connections");
    let rate = got.gets as f64 / got.spent.elapsed.as_secs_f64();
    stage.findings.add(&*name, rate, Unit::PerSecond);
    stage.cpu(format!("{name}: CPU each"), got.spent, got.gets);
    let slow = got.latency.quantile(0.99);
    stage.findings.time(format!("{name}: p99"), slow);
    Ok(())
}

/// Every stream gets one pod after the other until the time is over.
async fn get(stage: &Stage<'_>, pods: &Pods) -> Result<Got> {
    let endpoint: &Endpoint = &stage.running.endpoint;
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(endpoint.connect_multiplexed().await?);
    }
    let paths = pods.paths(stage.sizes.watches.max(GROUPS));
    let (next, latency) = (Arc::new(AtomicU64::new(0)), Arc::<Histogram>::default());
    let meter = Meter::start(&stage.running)?;
    let mut tasks = JoinSet::new();
    for connection in connections.iter().cycle().take(CONNECTIONS * STREAMS) {
        let turns = Turns {
            paths: Arc::clone(&paths),
            next: Arc::clone(&next),
            latency: Arc::clone(&latency),
            until: Instant::now() + stage.sizes.time(),
        };
        tasks.spawn(turns.take(connection.clone()));
    }
    let mut gets = 0;
    for done in tasks.join_all().await {
        gets += done?;
    }
    Ok(Got {
        gets,
        spent: meter.stop()?,
        latency,
    })
}

/// What one stream does.
struct Turns {
    paths: Arc<[String]>,
    next: Arc<AtomicU64>,
    latency: Arc<Histogram>,
    until: Instant,
}

impl Turns {
    async fn take(self, connection: Multiplexed) -> Result<u64> {
        let mut gets = 0;
        while Instant::now() < self.until {
            let number = self.next.fetch_add(1, Ordering::Relaxed) as usize;
            let begun = Instant::now();
            let answer = connection
                .get(&self.paths[number % self.paths.len()])
                .await?;
            let status = answer.status();
            ensure!(status == 200, "a get was answered with {status}");
            let mut body = answer.into_body();
            while http2::next(&mut body).await?.is_some() {}
            let took: Duration = begun.elapsed();
            self.latency.record(took);
            gets += 1;
        }
        Ok(gets)
    }
}
