//! A server and its one client in a runtime of one thread, so that every run goes the same way.
//!
//! The client writes and reads outside of the sections that count. Within them it only waits.

use std::{io::ErrorKind, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use listwatch_server::{
    RunningServer, Settings, clock::Clock, random::Random, watch_cache::KindCache,
};
use listwatch_store::{
    Commit, Condition, DiskWork, EmbeddedOptions, EmbeddedStore, Key, KeyRange, MemoryStore, Read,
    Revision, Store, Write,
};
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
};

use crate::{
    counter::{Allocated, Counter},
    objects,
};

/// Turns before those that count.
const WARM_UP_TURNS: u64 = 32;
/// Longer than any run.
const NEVER: Duration = Duration::from_secs(3_600);
/// What is read at once.
const READ_BYTES: usize = 256 * 1024;
/// The beginning of the keys of pods.
const POD_KEYS: &str = "/registry/pods/";

/// Where objects are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Storage {
    /// In memory alone.
    Memory,
    /// On the disk, by tasks of the one thread.
    Embedded,
}

/// A store with what it needs while it is open.
pub(crate) struct OpenStore {
    pub(crate) store: Arc<dyn Store>,
    _directory: Option<TempDir>,
}

/// A server and its client.
pub(crate) struct Stage {
    pub(crate) runtime: Runtime,
    pub(crate) server: RunningServer,
    open: OpenStore,
    client: TcpStream,
    received: Vec<u8>,
}

/// A runtime of one thread.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

impl OpenStore {
    /// An empty store.
    pub(crate) async fn new(storage: Storage) -> Result<Self> {
        let Storage::Embedded = storage else {
            return Ok(Self {
                store: Arc::new(MemoryStore::new()),
                _directory: None,
            });
        };
        let directory = tempfile::tempdir()?;
        let options = EmbeddedOptions {
            disk_work: DiskWork::Tasks,
            ..EmbeddedOptions::default()
        };
        let store = EmbeddedStore::open_directory(directory.path(), options).await?;
        Ok(Self {
            store: Arc::new(store),
            _directory: Some(directory),
        })
    }
}

/// Does something over and over, first without counting.
pub(crate) fn repeat(
    times: u64,
    mut turn: impl FnMut(&mut Counter, u64) -> Result<()>,
) -> Result<Allocated> {
    let mut counter = Counter::default();
    for number in 0..WARM_UP_TURNS {
        turn(&mut counter, number)?;
    }
    counter.begin();
    for number in WARM_UP_TURNS..WARM_UP_TURNS + times {
        turn(&mut counter, number)?;
    }
    Ok(counter.allocated())
}

impl Stage {
    /// A server on an empty store, and a namespace for pods.
    pub(crate) fn new(storage: Storage) -> Result<Self> {
        let runtime = runtime()?;
        let (open, server, client) = runtime.block_on(async {
            let open = OpenStore::new(storage).await?;
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let store = Arc::clone(&open.store);
            let server = RunningServer::start(listener, store, settings()).await?;
            let client = TcpStream::connect(server.address()).await?;
            client.set_nodelay(true)?;
            client.writable().await?;
            anyhow::Ok((open, server, client))
        })?;
        let mut stage = Self {
            runtime,
            server,
            open,
            client,
            received: Vec::new(),
        };
        let namespace = format!(
            r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}}"#,
            objects::NAMESPACE
        );
        let content = ("application/json", &*namespace);
        let create = objects::request("POST", "/api/v1/namespaces", content);
        stage.exchange(&create, &mut Counter::default())?;
        Ok(stage)
    }

    /// Counts what the server does to answer each of these requests.
    pub(crate) fn answer(
        mut self,
        times: u64,
        request: impl Fn(u64) -> String,
    ) -> Result<Allocated> {
        repeat(times, |counter, number| {
            self.exchange(&request(number), counter)
        })
    }

    /// Sends a request and takes its answer, which must say that all is well.
    fn exchange(&mut self, request: &str, counter: &mut Counter) -> Result<()> {
        let sent = self.client.try_write(request.as_bytes())?;
        ensure!(sent == request.len(), "the request did not fit the socket");
        self.received.clear();
        while !is_complete(&self.received)? {
            counter.section(|| self.runtime.block_on(self.client.readable()))?;
            self.receive()?;
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<()> {
        loop {
            let length = self.received.len();
            self.received.resize(length + READ_BYTES, 0);
            let read = self.client.try_read(&mut self.received[length..]);
            self.received
                .truncate(length + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => bail!("the server hung up"),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Puts pods into the store: one through the server, the others like it. Returns the stored
    /// form of the first.
    pub(crate) fn fill(&mut self, count: u64) -> Result<String> {
        let body = objects::pod(0, 0);
        let content = ("application/json", &*body);
        let create = objects::request("POST", objects::PODS, content);
        self.exchange(&create, &mut Counter::default())?;
        let range = KeyRange::prefix(POD_KEYS);
        let page = self
            .runtime
            .block_on(self.open.store.read(Read::newest(range)))?;
        let first = page.entries.first().context("the pod was not stored")?;
        let stored = String::from_utf8(first.value.to_vec())?;
        for number in 1..count {
            self.put(number, objects::renumbered(&stored, number))?;
        }
        let last = self.revision()?;
        let reached = self.pods()?;
        self.runtime.block_on(reached.at_least(last))?;
        Ok(stored)
    }

    /// Writes a pod straight to the store. With [`Storage::Memory`] nobody hears of it yet, since
    /// the runtime does nothing else meanwhile.
    pub(crate) fn put(&self, number: u64, value: String) -> Result<Revision> {
        let key = format!("{POD_KEYS}{}/pod-{number:08}", objects::NAMESPACE);
        let commit = Commit::one(Key::from(&*key), Condition::Any, Write::put(value));
        Ok(self.runtime.block_on(self.open.store.commit(commit))?)
    }

    /// The newest revision.
    pub(crate) fn revision(&self) -> Result<Revision> {
        let page = self.open.store.read(Read::revision_only());
        Ok(self.runtime.block_on(page)?.revision)
    }

    /// The cache of pods.
    pub(crate) fn pods(&self) -> Result<KindCache> {
        let kind = self.server.handle().kind("", "v1", "pods");
        Ok(kind.context("pods are not served")?.1)
    }
}

fn settings() -> Settings {
    Settings {
        bookmark_interval: NEVER,
        clock: Clock::simulated(|| Timestamp::UNIX_EPOCH),
        random: Random::seeded(7),
        ..Settings::default()
    }
}

/// Whether a whole answer has come, which must say that all is well.
fn is_complete(received: &[u8]) -> Result<bool> {
    let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return Ok(false);
    };
    let head = std::str::from_utf8(&received[..end])?.to_ascii_lowercase();
    ensure!(
        head.starts_with("http/1.1 2"),
        "the server refused: {}",
        String::from_utf8_lossy(received)
    );
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    match fields.find(|(name, _)| *name == "content-length") {
        Some((_, length)) => Ok(received.len() - end - 4 == length.parse::<usize>()?),
        None => Ok(received.ends_with(b"\r\n0\r\n\r\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_when_its_length_or_its_last_chunk_has_come() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
        assert!(is_complete(whole).unwrap());
        assert!(!is_complete(&whole[..whole.len() - 1]).unwrap());
        assert!(!is_complete(&whole[..20]).unwrap());
        let chunked = b"HTTP/1.1 200 OK\r\n\r\n2\r\nab\r\n0\r\n\r\n";
        assert!(is_complete(chunked).unwrap());
        assert!(!is_complete(&chunked[..chunked.len() - 5]).unwrap());
    }

    #[test]
    fn a_refusal_is_an_error() {
        assert!(is_complete(b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n").is_err());
    }
}
