//! Many connections that send requests one after the other, in a closed loop or at a rate.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use futures_util::{StreamExt, stream};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    connection::Connection,
    contender::Running,
    endpoint::{Client, Endpoint},
    histogram::Histogram,
    meter::Meter,
};

/// Connections that are opened at one time.
const OPENING: usize = 32;

/// How requests are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Connections that share the work; each waits for its answer before it goes on.
    pub(crate) connections: usize,
    /// When it is enough.
    pub(crate) limit: Limit,
    /// How fast they follow each other.
    pub(crate) pace: Pace,
    /// Requests that belong together and are sent in order over one connection.
    pub(crate) steps: u64,
}

/// When a load ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// After this many turns.
    Turns(u64),
    /// After this time.
    Time(Duration),
}

/// How fast requests follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// Each at once when the one before it is answered.
    Closed,
    /// At this rate over all connections, as far as the server keeps up.
    PerSecond(f64),
}

/// Which request is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Counts the turns of all connections.
    pub(crate) number: u64,
    /// Counts the requests of this turn.
    pub(crate) step: u64,
}

/// What came of a load.
#[derive(Debug)]
pub(crate) struct Driven {
    /// Requests that were granted.
    pub(crate) granted: u64,
    /// Requests that were not, connections lost included.
    pub(crate) failed: u64,
    /// The first reason for that.
    pub(crate) refusal: Option<String>,
    /// When the first request was sent.
    pub(crate) begun: Instant,
    /// From then to the last answer.
    pub(crate) elapsed: Duration,
    /// From each request to its answer.
    pub(crate) latency: Arc<Histogram>,
}

impl Load {
    /// A closed loop.
    pub(crate) fn closed(connections: usize, limit: Limit) -> Self {
        Self {
            connections,
            limit,
            pace: Pace::Closed,
            steps: 1,
        }
    }
}

impl Driven {
    /// Fails unless everything was granted.
    pub(crate) fn clean(self) -> Result<Self> {
        let failed = self.failed;
        let reason = self.refusal.as_deref().unwrap_or("no reason");
        ensure!(failed == 0, "{failed} requests failed: {reason}");
        Ok(self)
    }

    /// Granted requests in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.granted as f64 / self.elapsed.as_secs_f64()
    }
}

/// What the connections of one load share.
struct Shared<F> {
    load: Load,
    begun: Instant,
    next: AtomicU64,
    request: F,
    latency: Arc<Histogram>,
}

/// What one connection did.
#[derive(Default)]
struct Done {
    granted: u64,
    failed: u64,
    refusal: Option<String>,
}

/// Sends what `request` writes for each turn. Connections are opened before the clock starts.
pub(crate) async fn drive<F>(endpoint: &Endpoint, load: Load, request: F) -> Result<Driven>
where
    F: Fn(Turn, &mut Vec<u8>) + Send + Sync + 'static,
{
    let connections = connect(endpoint, load.connections).await?;
    Ok(send(connections, load, request).await)
}

/// The same with a meter that starts when all connections are open, and goes on.
pub(crate) async fn drive_metered<F>(
    running: &Running,
    load: Load,
    request: F,
) -> Result<(Driven, Meter)>
where
    F: Fn(Turn, &mut Vec<u8>) + Send + Sync + 'static,
{
    let connections = connect(&running.endpoint, load.connections).await?;
    let meter = Meter::start(running)?;
    Ok((send(connections, load, request).await, meter))
}

async fn send<F>(connections: Vec<Connection>, load: Load, request: F) -> Driven
where
    F: Fn(Turn, &mut Vec<u8>) + Send + Sync + 'static,
{
    let shared = Arc::new(Shared {
        load,
        begun: Instant::now(),
        next: AtomicU64::new(0),
        request,
        latency: Arc::default(),
    });
    let mut tasks = JoinSet::new();
    for connection in connections {
        tasks.spawn(Arc::clone(&shared).work(connection));
    }
    let mut all = Done::default();
    for done in tasks.join_all().await {
        all.granted += done.granted;
        all.failed += done.failed;
        all.refusal = all.refusal.or(done.refusal);
    }
    Driven {
        granted: all.granted,
        failed: all.failed,
        refusal: all.refusal,
        begun: shared.begun,
        elapsed: shared.begun.elapsed(),
        latency: Arc::clone(&shared.latency),
    }
}

/// Opens this many connections, some at one time.
async fn connect(endpoint: &Endpoint, count: usize) -> Result<Vec<Connection>> {
    let opened = stream::iter(0..count)
        .map(|_| endpoint.connect(Client::Reading))
        .buffer_unordered(OPENING);
    let opened: Vec<Result<Connection>> = opened.collect().await;
    opened.into_iter().collect()
}

impl<F: Fn(Turn, &mut Vec<u8>)> Shared<F> {
    async fn work(self: Arc<Self>, mut connection: Connection) -> Done {
        let mut done = Done::default();
        let mut request = Vec::new();
        while let Some(number) = self.next_turn().await {
            for step in 0..self.load.steps {
                (self.request)(Turn { number, step }, &mut request);
                let begun = Instant::now();
                match connection.send(&request).await {
                    Ok(answer) if answer.is_granted() => done.granted += 1,
                    Ok(answer) => done.fail(format!("{} {}", answer.status, answer.refusal)),
                    Err(error) => {
                        done.fail(error.to_string());
                        return done;
                    }
                }
                self.latency.record(begun.elapsed());
            }
        }
        done
    }

    async fn next_turn(&self) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if let Pace::PerSecond(rate) = self.load.pace {
            sleep_until(self.begun + Duration::from_secs_f64(number as f64 / rate)).await;
        }
        let due = match self.load.limit {
            Limit::Turns(turns) => number < turns,
            Limit::Time(time) => self.begun.elapsed() < time,
        };
        due.then_some(number)
    }
}

impl Done {
    fn fail(&mut self, reason: String) {
        self.failed += 1;
        self.refusal.get_or_insert(reason);
    }
}
