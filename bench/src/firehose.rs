//! A pods API with nothing behind it: it lists, watches and expires as fast as the socket takes it.
//!
//! A real server would limit how fast events come; this one never does.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream, tcp::OwnedWriteHalf},
    sync::broadcast,
};

use crate::pods;

/// Bytes that are written at once.
const WRITE_BYTES: usize = 256 * 1024;

/// Orders that may wait for one watch. One that is so far behind has failed the benchmark.
const ORDERS_MAX: usize = 16;

/// The event that ends a watch whose version is too old.
const EXPIRED: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"#,
    r#""status":"Failure","message":"too old resource version","reason":"Expired","code":410}}"#,
    "\n"
);

/// The API, running until dropped.
pub(crate) struct Firehose {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: tokio::task::JoinHandle<()>,
}

struct Shared {
    /// Each pod in two parts, its version between them.
    pods: Vec<(String, String)>,
    version: AtomicU64,
    orders: broadcast::Sender<Order>,
}

#[derive(Clone, Copy)]
enum Order {
    /// So many pods change, one after the other.
    Change { count: usize, first_version: u64 },
    /// Every watch is told that its version is too old.
    Expire,
}

/// What a request line asks for.
enum Request {
    List { offset: usize, limit: usize },
    Watch(Start),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Now,
    InitialEvents,
}

impl Firehose {
    /// Serves so many pods.
    pub(crate) async fn start(count: usize) -> Result<Self> {
        let pods = (0..count).map(|number| {
            let pod = pods::running(number);
            let (before, after) = pod.split_once("@@").expect("a version is there");
            (before.to_owned(), after.to_owned())
        });
        let shared = Arc::new(Shared {
            pods: pods.collect(),
            version: AtomicU64::new(count as u64 + 1),
            orders: broadcast::channel(ORDERS_MAX).0,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let server = Arc::clone(&server);
                // A client that goes away ends its connection with an error: that is its business.
                tokio::spawn(async move { server.serve(socket).await.ok() });
            }
        });
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// Bytes of an average pod.
    pub(crate) fn pod_bytes(&self) -> usize {
        let bytes = self.shared.pods.iter().map(|(a, b)| a.len() + b.len());
        bytes.sum::<usize>() / self.shared.pods.len()
    }

    /// Changes pods, one after the other, in all watches that are open.
    pub(crate) fn change(&self, count: usize) -> Result<()> {
        let first_version = self
            .shared
            .version
            .fetch_add(count as u64, Ordering::SeqCst)
            + 1;
        self.order(Order::Change {
            count,
            first_version,
        })
    }

    /// Ends all watches with 410, so that clients list again.
    pub(crate) fn expire(&self) -> Result<()> {
        self.order(Order::Expire)
    }

    fn order(&self, order: Order) -> Result<()> {
        let sent = self.shared.orders.send(order);
        sent.ok().context("no watch is open")?;
        Ok(())
    }
}

impl Drop for Firehose {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    async fn serve(&self, socket: TcpStream) -> Result<()> {
        socket.set_nodelay(true)?;
        let (reading, writing) = socket.into_split();
        let mut lines = BufReader::new(reading).lines();
        let mut out = Out {
            socket: writing,
            buffer: Vec::with_capacity(WRITE_BYTES + 8192),
        };
        while let Some(first) = lines.next_line().await? {
            while lines
                .next_line()
                .await?
                .is_some_and(|line| !line.is_empty())
            {}
            out.head().await?;
            match Request::parse(&first) {
                Request::Watch(start) => self.watch(start, &mut out).await?,
                Request::List { offset, limit } => self.list(offset, limit, &mut out).await?,
            }
            out.end().await?;
        }
        Ok(())
    }

    async fn list(&self, offset: usize, limit: usize, out: &mut Out) -> Result<()> {
        let version = self.version.load(Ordering::SeqCst);
        let end = (offset + limit).min(self.pods.len());
        let next = (end < self.pods.len()).then(|| format!(r#","continue":"{end}""#));
        let next = next.unwrap_or_default();
        let metadata = format!(r#"{{"resourceVersion":"{version}"{next}}}"#);
        let head = r#"{"kind":"PodList","apiVersion":"v1","metadata":"#;
        out.push(&format!(r#"{head}{metadata},"items":["#)).await?;
        for number in offset..end {
            if number > offset {
                out.push(",").await?;
            }
            self.push_pod(number, number as u64 + 1, out).await?;
        }
        out.push("]}\n").await
    }

    async fn watch(&self, start: Start, out: &mut Out) -> Result<()> {
        let mut orders = self.orders.subscribe();
        if start == Start::InitialEvents {
            self.push_state(out).await?;
        }
        out.flush().await?;
        loop {
            match orders.recv().await? {
                Order::Change {
                    count,
                    first_version,
                } => {
                    for turn in 0..count {
                        let number = turn * 7919 % self.pods.len();
                        let version = first_version + turn as u64;
                        self.push_event("MODIFIED", (number, version), out).await?;
                    }
                    out.flush().await?;
                }
                Order::Expire => return out.push(EXPIRED).await,
            }
        }
    }

    async fn push_state(&self, out: &mut Out) -> Result<()> {
        for number in 0..self.pods.len() {
            let version = number as u64 + 1;
            self.push_event("ADDED", (number, version), out).await?;
        }
        let version = self.version.load(Ordering::SeqCst);
        let bookmark = json!({"type": "BOOKMARK", "object": {
            "kind": "Pod", "apiVersion": "v1", "metadata": {
                "resourceVersion": version.to_string(),
                "annotations": {"k8s.io/initial-events-end": "true"},
            },
        }});
        out.push(&format!("{bookmark}\n")).await
    }

    async fn push_event(
        &self,
        word: &str,
        (number, version): (usize, u64),
        out: &mut Out,
    ) -> Result<()> {
        out.push(r#"{"type":""#).await?;
        out.push(word).await?;
        out.push(r#"","object":"#).await?;
        self.push_pod(number, version, out).await?;
        out.push("}\n").await
    }

    async fn push_pod(&self, number: usize, version: u64, out: &mut Out) -> Result<()> {
        let (before, after) = &self.pods[number];
        out.push(before).await?;
        out.push(&version.to_string()).await?;
        out.push(after).await
    }
}

impl Request {
    fn parse(line: &str) -> Self {
        let target = line.split(' ').nth(1).unwrap_or_default();
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let number = |name: &str| value(name).and_then(|value| value.parse().ok());
        let is_true = |name: &str| matches!(value(name), Some("true" | "1"));
        if is_true("watch") && is_true("sendInitialEvents") {
            return Self::Watch(Start::InitialEvents);
        }
        if is_true("watch") {
            return Self::Watch(Start::Now);
        }
        // As a server that answers from its watch cache: the limit counts only where the client
        // insists on the newest state.
        let limit = number("limit").filter(|_| value("resourceVersion") != Some("0"));
        Self::List {
            offset: number("continue").unwrap_or(0),
            limit: limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX / 2),
        }
    }
}

/// Answers in chunks.
struct Out {
    socket: OwnedWriteHalf,
    buffer: Vec<u8>,
}

impl Out {
    async fn head(&mut self) -> Result<()> {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
                     Transfer-Encoding: chunked\r\n\r\n";
        Ok(self.socket.write_all(head).await?)
    }

    async fn push(&mut self, text: &str) -> Result<()> {
        self.buffer.extend_from_slice(text.as_bytes());
        if self.buffer.len() >= WRITE_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let size = format!("{:x}\r\n", self.buffer.len());
        self.socket.write_all(size.as_bytes()).await?;
        self.buffer.extend_from_slice(b"\r\n");
        self.socket.write_all(&self.buffer).await?;
        self.buffer.clear();
        Ok(())
    }

    async fn end(&mut self) -> Result<()> {
        self.flush().await?;
        Ok(self.socket.write_all(b"0\r\n\r\n").await?)
    }
}
