//! Open watches: counts their events and finds the mark that tells when each was asked for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use hyper::body::Incoming;
use memchr::memmem;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    connection::Connection,
    endpoint::{Client, Endpoint},
    histogram::Histogram,
    http::Body,
    http2,
    lines::Lines,
    objects,
};

/// What stands before the number of a write in the object that it wrote.
pub(crate) const MARK: &str = "seq@";
const MARK_DIGITS: usize = 8;

/// Watches that are opened at one time.
const OPENING: usize = 32;
/// Watches that share a connection of HTTP/2: as many as kube-apiserver allows.
pub(crate) const STREAMS: usize = 100;
/// How long no event may come before the rest counts as lost.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether all have come.
const LOOK: Duration = Duration::from_millis(1);

/// Marks that were given away; a write with a mark of its own is never one that changes nothing.
static GIVEN: AtomicU64 = AtomicU64::new(1);

/// The first of this many marks that nobody else has.
pub(crate) fn reserve_marks(count: u64) -> u64 {
    GIVEN.fetch_add(count, Ordering::Relaxed)
}

/// What all watches of a scenario have seen, and when what they see was asked for.
#[derive(Debug)]
pub(crate) struct Tally {
    begun: Instant,
    first_mark: u64,
    /// When each write was sent, in nanoseconds after the beginning; zero until it is.
    sent: Vec<AtomicU64>,
    events: AtomicU64,
    bookmarks: AtomicU64,
    refused: AtomicU64,
    ended: AtomicU64,
    last_event: AtomicU64,
    /// From a write being sent to its event being read.
    pub(crate) latency: Histogram,
}

impl Tally {
    /// For this many writes.
    pub(crate) fn new(writes: u64) -> Arc<Self> {
        Arc::new(Self {
            begun: Instant::now(),
            first_mark: reserve_marks(writes),
            sent: (0..writes).map(|_| AtomicU64::new(0)).collect(),
            events: AtomicU64::new(0),
            bookmarks: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            last_event: AtomicU64::new(0),
            latency: Histogram::default(),
        })
    }

    /// Counts events anew.
    pub(crate) fn forget(&self) {
        self.events.store(0, Ordering::Relaxed);
        self.latency.take();
    }

    /// Notes that the write with this number is being sent, and returns its mark.
    pub(crate) fn sending(&self, write: u64) -> u64 {
        if let Some(sent) = self.sent.get(write as usize) {
            sent.store(self.nanoseconds(), Ordering::Relaxed);
        }
        self.first_mark + write
    }

    /// Events of all watches, bookmarks and errors apart.
    pub(crate) fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Watches that were told 410 or another error, in the answer or in the stream.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Watches that the server has ended.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Bookmarks of all watches.
    pub(crate) fn bookmarks(&self) -> u64 {
        self.bookmarks.load(Ordering::Relaxed)
    }

    /// Waits for this many events, and gives up when none comes any more. Returns how many came.
    pub(crate) async fn reach(&self, events: u64) -> u64 {
        self.wait(events, Self::events).await
    }

    /// Waits until this much is counted or nothing is any more.
    pub(crate) async fn wait(&self, wanted: u64, count: impl Fn(&Self) -> u64) -> u64 {
        let (mut seen, mut since) = (count(self), Instant::now());
        while seen < wanted && since.elapsed() < PATIENCE {
            sleep(LOOK).await;
            let now = count(self);
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
        }
        seen
    }

    /// When the last event came, after `begun`.
    pub(crate) fn last_event_after(&self, begun: Instant) -> Duration {
        let last = Duration::from_nanos(self.last_event.load(Ordering::Relaxed));
        (self.begun + last).saturating_duration_since(begun)
    }

    fn nanoseconds(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    fn count(&self, event: &[u8], now: u64) {
        if event.starts_with(br#"{"type":"BOOKMARK""#) {
            self.bookmarks.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if is_error(event) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.events.fetch_add(1, Ordering::Relaxed);
        self.last_event.fetch_max(now, Ordering::Relaxed);
        // What a deleted object says last is the mark of an earlier write.
        if event.starts_with(br#"{"type":"DELETED""#) {
            return;
        }
        let write = marked(event).and_then(|mark| mark.checked_sub(self.first_mark));
        let Some(sent) = write.and_then(|write| self.sent.get(write as usize)) else {
            return;
        };
        let sent = sent.load(Ordering::Relaxed);
        if sent > 0 {
            let took = Duration::from_nanos(now.saturating_sub(sent));
            self.latency.record(took);
        }
    }
}

/// The number behind the mark.
fn marked(event: &[u8]) -> Option<u64> {
    let at = memmem::find(event, MARK.as_bytes())? + MARK.len();
    let digits = event.get(at..at + MARK_DIGITS)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Open watches, each a task; closed when dropped.
pub(crate) struct Watches {
    tasks: JoinSet<()>,
    stalled: Vec<(Connection, Body)>,
}

impl Watches {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            stalled: Vec::new(),
        }
    }

    /// Opens a watch for each path; the head of each answer has come. A watch that is refused
    /// outright is counted and not kept.
    pub(crate) async fn open(
        &mut self,
        endpoint: &Endpoint,
        tally: &Arc<Tally>,
        paths: impl Iterator<Item = String>,
    ) -> Result<()> {
        let mut opened = stream::iter(paths)
            .map(|path| begin(endpoint, path, Client::Reading))
            .buffer_unordered(OPENING);
        while let Some((connection, body, status)) = opened.try_next().await? {
            if status == 200 {
                let tally = Arc::clone(tally);
                self.tasks.spawn(async move {
                    follow(connection, body, &tally, |_| {}).await;
                });
            } else {
                tally.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Opens a watch for each path, over connections of HTTP/2 that [`STREAMS`] of them share.
    pub(crate) async fn open_multiplexed(
        &mut self,
        endpoint: &Endpoint,
        tally: &Arc<Tally>,
        paths: impl Iterator<Item = String>,
    ) -> Result<()> {
        let paths: Vec<String> = paths.collect();
        for paths in paths.chunks(STREAMS) {
            let connection = endpoint.connect_multiplexed().await?;
            for path in paths {
                let answer = connection.get(path).await?;
                ensure!(answer.status() == 200, "{path} got {}", answer.status());
                let followed = follow_stream(answer.into_body(), Arc::clone(tally));
                self.tasks.spawn(followed);
            }
        }
        Ok(())
    }

    /// Opens watches of a collection that go on where they were when the server ends them, as the
    /// clients of controllers do.
    pub(crate) async fn open_resuming(
        &mut self,
        endpoint: &Endpoint,
        tally: &Arc<Tally>,
        (count, collection): (u64, &'static str),
    ) -> Result<()> {
        let version = objects::resource_version(endpoint, collection).await?;
        for _ in 0..count {
            let path = watch_path(collection, &version);
            let (connection, body, status) = begin(endpoint, path, Client::Reading).await?;
            ensure!(status == 200, "{collection} was answered with {status}");
            let (endpoint, tally) = (endpoint.clone(), Arc::clone(tally));
            let mut version = version.clone();
            self.tasks.spawn(async move {
                let mut open = Some((connection, body));
                while let Some((connection, body)) = open {
                    let mut last = Vec::new();
                    let keep = |event: &[u8]| {
                        last.clear();
                        last.extend_from_slice(event);
                    };
                    follow(connection, body, &tally, keep).await;
                    open = resume(&endpoint, collection, (&last, &mut version)).await;
                }
            });
        }
        Ok(())
    }

    /// Opens watches that nobody reads.
    pub(crate) async fn open_stalled(
        &mut self,
        endpoint: &Endpoint,
        count: usize,
        path: &str,
    ) -> Result<()> {
        for _ in 0..count {
            let begun = begin(endpoint, path.to_owned(), Client::Stalled).await?;
            let (connection, body, status) = begun;
            ensure!(status == 200, "{path} was answered with {status}");
            self.stalled.push((connection, body));
        }
        Ok(())
    }
}

async fn begin(
    endpoint: &Endpoint,
    path: String,
    client: Client,
) -> Result<(Connection, Body, u16)> {
    let mut connection = endpoint.connect(client).await?;
    let head = connection.begin(&endpoint.get(&path)).await?;
    Ok((connection, head.body, head.status))
}

fn watch_path(collection: &str, version: &str) -> String {
    format!("{collection}?watch=1&resourceVersion={version}")
}

/// Opens a watch again behind the last event that it saw, or where everything is now if that is
/// forgotten. `None` when the server is gone.
async fn resume(
    endpoint: &Endpoint,
    collection: &str,
    (last, version): (&[u8], &mut String),
) -> Option<(Connection, Body)> {
    if let Some(seen) = version_in(last) {
        *version = seen.to_owned();
    }
    if !is_error(last) {
        let path = watch_path(collection, version);
        let (connection, body, status) = begin(endpoint, path, Client::Reading).await.ok()?;
        if status == 200 {
            return Some((connection, body));
        }
    }
    *version = objects::resource_version(endpoint, collection).await.ok()?;
    let path = watch_path(collection, version);
    let (connection, body, status) = begin(endpoint, path, Client::Reading).await.ok()?;
    (status == 200).then_some((connection, body))
}

/// The resourceVersion of the object in an event.
fn version_in(event: &[u8]) -> Option<&str> {
    const BEFORE: &[u8] = br#""resourceVersion":""#;
    let rest = event.get(memmem::find(event, BEFORE)? + BEFORE.len()..)?;
    let end = memchr::memchr(b'"', rest)?;
    std::str::from_utf8(&rest[..end]).ok()
}

fn is_error(event: &[u8]) -> bool {
    event.starts_with(br#"{"type":"ERROR""#)
}

/// Counts events until the watch ends.
async fn follow(
    mut connection: Connection,
    mut body: Body,
    tally: &Tally,
    mut seen: impl FnMut(&[u8]),
) {
    let mut lines = Lines::default();
    while !body.is_done() {
        let mut now = None;
        let taken = connection.take(&mut body, |part| {
            let now = *now.get_or_insert_with(|| tally.nanoseconds());
            lines.feed(part, |event| {
                tally.count(event, now);
                seen(event);
            });
        });
        if taken.await.is_err() {
            break;
        }
    }
    tally.ended.fetch_add(1, Ordering::Relaxed);
}

async fn follow_stream(mut body: Incoming, tally: Arc<Tally>) {
    let mut lines = Lines::default();
    while let Ok(Some(part)) = http2::next(&mut body).await {
        let now = tally.nanoseconds();
        lines.feed(&part, |event| tally.count(event, now));
    }
    tally.ended.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_in_an_event_is_found() {
        let event = br#"{"type":"ADDED","object":{"data":{"a":"seq@00000042"}}}"#;
        assert_eq!(marked(event), Some(42));
        assert_eq!(marked(br#"{"type":"ADDED"}"#), None);
        assert_eq!(marked(b"seq@12"), None);
    }

    #[test]
    fn only_events_count_and_only_live_ones_have_a_latency() {
        let tally = Tally::new(3);
        let mark = tally.sending(2);
        let event =
            |kind: &str, mark: u64| format!(r#"{{"type":"{kind}","object":"seq@{mark:08}"}}"#);
        let later = tally.nanoseconds() + 1_000_000;
        let count = |event: String| tally.count(event.as_bytes(), later);
        for kind in ["BOOKMARK", "ERROR", "DELETED"] {
            count(event(kind, mark));
        }
        assert_eq!(tally.latency.longest(), Duration::ZERO);
        count(event("MODIFIED", mark));
        assert!(tally.latency.longest() >= Duration::from_millis(1));
        count(event("MODIFIED", mark - 1));
        let counts = (tally.events(), tally.bookmarks(), tally.refused());
        assert_eq!(counts, (3, 1, 1));
    }

    #[test]
    fn a_watch_goes_on_behind_its_last_event() {
        let event = br#"{"type":"ADDED","object":{"metadata":{"resourceVersion":"42"}}}"#;
        assert_eq!(version_in(event), Some("42"));
        assert_eq!(
            version_in(br#"{"type":"ERROR","object":{"metadata":{}}}"#),
            None
        );
    }

    #[test]
    fn no_mark_is_given_twice() {
        let (first, second) = (Tally::new(5), Tally::new(5));
        assert!(second.sending(0) > first.sending(4) || first.sending(0) > second.sending(4));
    }
}
