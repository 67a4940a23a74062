//! A network between client and server that can break, or fall silent, and that remembers what was
//! asked.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinSet,
};

/// Passes bytes on, or holds them back.
pub(crate) struct Proxy {
    address: SocketAddr,
    line: Arc<Line>,
    connections: JoinSet<()>,
}

struct Line {
    state: watch::Sender<State>,
    cuts: watch::Sender<u64>,
    requests: Mutex<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Silent,
}

impl Proxy {
    pub(crate) async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let line = Arc::new(Line {
            state: watch::Sender::new(State::Open),
            cuts: watch::Sender::new(0),
            requests: Mutex::default(),
        });
        let mut connections = JoinSet::new();
        connections.spawn(accept(listener, upstream, Arc::clone(&line)));
        Self {
            address,
            line,
            connections,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Nothing arrives any more, and no connection breaks.
    pub(crate) fn fall_silent(&self) {
        self.line.state.send_replace(State::Silent);
    }

    /// Everything that was held back arrives.
    pub(crate) fn resume(&self) {
        self.line.state.send_replace(State::Open);
    }

    /// Breaks every connection. New ones are taken.
    pub(crate) fn cut(&self) {
        self.line.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// `GET /path` of every request so far, without query.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.line.requests.lock().clone()
    }

    /// Forgets the requests so far.
    pub(crate) fn forget(&self) {
        self.line.requests.lock().clear();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.connections.abort_all();
    }
}

async fn accept(listener: TcpListener, upstream: SocketAddr, line: Arc<Line>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(upstream).await else {
            continue;
        };
        let (client_read, client_write) = client.into_split();
        let (server_read, server_write) = server.into_split();
        connections.spawn(pass(
            client_read,
            server_write,
            Arc::clone(&line),
            Line::remember,
        ));
        connections.spawn(pass(
            server_read,
            client_write,
            Arc::clone(&line),
            |_, _| {},
        ));
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    line: Arc<Line>,
    look: fn(&Line, &[u8]),
) {
    let mut state = line.state.subscribe();
    let mut cuts = line.cuts.subscribe();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = tokio::select! {
            _ = cuts.changed() => return,
            read = from.read(&mut buffer) => match read {
                Ok(count @ 1..) => count,
                Ok(_) | Err(_) => return,
            },
        };
        look(&line, &buffer[..count]);
        let ended = state.wait_for(|state| *state == State::Open).await.is_err();
        if ended || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

impl Line {
    fn remember(&self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        for found in text.lines().filter(|found| found.ends_with(" HTTP/1.1")) {
            let asked = found.trim_end_matches(" HTTP/1.1");
            let asked = asked.split('?').next().unwrap_or(asked);
            self.requests.lock().push(asked.to_owned());
        }
    }
}
