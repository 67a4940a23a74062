//! One way to one etcd member over loopback, which can be cut for each of those who take it.
//!
//! Members say who they are in the head of every request to each other, so that the way between
//! two of them can be cut while others pass.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

use crate::relay::Relay;

/// Bytes that are passed on at once.
const CHUNK_BYTES: usize = 32 * 1024;

/// What a member puts before its own number, in hexadecimal, in each request to another.
const MEMBER_HEADER: &str = "x-server-from:";

/// The longest head of a request in which the header is looked for, and the number after it.
const HEAD_BYTES_MAX: usize = 4096;

/// What a line lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// Everything.
    Open,
    /// Nothing, and nobody is told: what is sent waits, as for packets that are lost.
    Silent,
    /// Nothing: connections break, and new ones too.
    Closed,
}

/// Who takes a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Caller {
    /// The one server that the line is for.
    Server,
    /// The member of this number.
    Member(u64),
}

/// How a line knows who takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    ByServer,
    ByMembers,
}

/// A way to one etcd member.
pub(super) struct Line {
    relay: Relay,
    gates: Arc<Gates>,
}

struct Gates {
    taken: Taken,
    upstream: Mutex<Option<SocketAddr>>,
    passages: Mutex<BTreeMap<Caller, watch::Sender<Passage>>>,
}

type Gate = watch::Receiver<Passage>;

impl Line {
    /// A way that leads nowhere yet.
    pub(super) async fn start(taken: Taken) -> anyhow::Result<Self> {
        let gates = Arc::new(Gates {
            taken,
            upstream: Mutex::default(),
            passages: Mutex::default(),
        });
        let serving = Arc::clone(&gates);
        let relay = Relay::start(move |client| {
            let gates = Arc::clone(&serving);
            async move { gates.serve(client).await }
        });
        let relay = relay.await?;
        Ok(Self { relay, gates })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.relay.address()
    }

    pub(super) fn leads_to(&self, upstream: SocketAddr) {
        *self.gates.upstream.lock() = Some(upstream);
    }

    /// Lets this through of what the caller sends and is sent.
    pub(super) fn set(&self, caller: Caller, passage: Passage) {
        self.gates.of(caller, |gate| {
            gate.send_replace(passage);
        });
    }
}

impl Gates {
    fn of<T>(&self, caller: Caller, act: impl FnOnce(&watch::Sender<Passage>) -> T) -> T {
        let mut passages = self.passages.lock();
        let gate = passages
            .entry(caller)
            .or_insert_with(|| watch::Sender::new(Passage::Open));
        act(gate)
    }

    async fn serve(&self, client: TcpStream) {
        let Some(upstream) = *self.upstream.lock() else {
            return;
        };
        let known = match self.taken {
            Taken::ByServer => Some(self.of(Caller::Server, watch::Sender::subscribe)),
            Taken::ByMembers => None,
        };
        if let Some(gate) = known.clone()
            && passes(gate).await.is_err()
        {
            return;
        }
        let gate = watch::Sender::new(known);
        let Ok(server) = TcpStream::connect(upstream).await else {
            return;
        };
        let _ = client.set_nodelay(true);
        let _ = server.set_nodelay(true);
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let asked = Direction {
            from: from_client,
            to: to_server,
            gate: gate.clone(),
        };
        let answered = Direction {
            from: from_server,
            to: to_client,
            gate: gate.clone(),
        };
        tokio::select! {
            () = closed(gate.subscribe()) => {}
            () = self.carry_questions(asked) => {}
            () = answered.carry() => {}
        }
    }

    /// Carries what the caller sends, and finds out on the way who it is.
    async fn carry_questions(&self, mut asked: Direction) {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut head = Vec::new();
        while asked.gate.borrow().is_none() {
            let Some(count) = asked.read(&mut chunk).await else {
                return;
            };
            head.extend_from_slice(&chunk[..count]);
            if let Some(number) = member_number(&head) {
                let gate = self.of(Caller::Member(number), watch::Sender::subscribe);
                asked.gate.send_replace(Some(gate));
            }
            head.drain(..head.len().saturating_sub(HEAD_BYTES_MAX));
            if asked.write(&chunk[..count]).await.is_none() {
                return;
            }
        }
        asked.carry().await;
    }
}

/// One direction of a connection.
struct Direction {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    /// The gate on its way, once it is known who takes it.
    gate: watch::Sender<Option<Gate>>,
}

impl Direction {
    async fn carry(mut self) {
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Some(count) = self.read(&mut chunk).await {
            if self.write(&chunk[..count]).await.is_none() {
                return;
            }
        }
    }

    async fn read(&mut self, chunk: &mut [u8]) -> Option<usize> {
        let count = self.from.read(chunk).await.ok();
        count.filter(|count| *count > 0)
    }

    async fn write(&mut self, chunk: &[u8]) -> Option<()> {
        let gate = self.gate.borrow().clone();
        if let Some(gate) = gate {
            passes(gate).await.ok()?;
        }
        self.to.write_all(chunk).await.ok()
    }
}

/// The way has been closed.
struct Closed;

/// Waits until the gate is open.
async fn passes(mut gate: Gate) -> Result<(), Closed> {
    let decided = gate.wait_for(|passage| *passage != Passage::Silent).await;
    match decided.as_deref() {
        Ok(Passage::Open) => Ok(()),
        Ok(Passage::Silent | Passage::Closed) | Err(_) => Err(Closed),
    }
}

/// Waits until the gate, once known, is closed.
async fn closed(mut gate: watch::Receiver<Option<Gate>>) {
    let known = gate.wait_for(Option::is_some).await;
    let known = known.ok().and_then(|known| known.clone());
    if let Some(mut known) = known {
        let _ = known.wait_for(|passage| *passage == Passage::Closed).await;
    }
}

/// The member that sent this, if a request head in it says so.
fn member_number(sent: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(sent).to_ascii_lowercase();
    let (_, after) = text.split_once(MEMBER_HEADER)?;
    let (number, _) = after.split_once('\r')?;
    u64::from_str_radix(number.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    const HEAD: &str = "GET /raft/stream HTTP/1.1\r\nX-Server-From: 8e9e05c52164694d\r\n\r\n";

    #[test]
    fn a_member_is_known_by_the_head_of_its_request() {
        assert_eq!(member_number(HEAD.as_bytes()), Some(0x8e9e_05c5_2164_694d));
        assert_eq!(member_number(&HEAD.as_bytes()[..50]), None);
        assert_eq!(member_number(b"GET /raft/probing HTTP/1.1\r\n\r\n"), None);
    }

    /// A connection over a line, and its two ends.
    async fn connection(line: &Line) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        line.leads_to(listener.local_addr().unwrap());
        let client = TcpStream::connect(line.address()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (client, server)
    }

    async fn pass(from: &mut TcpStream, to: &mut TcpStream, text: &str) {
        from.write_all(text.as_bytes()).await.unwrap();
        let mut arrived = vec![0; text.len()];
        to.read_exact(&mut arrived).await.unwrap();
        assert_eq!(arrived, text.as_bytes());
    }

    #[tokio::test]
    async fn a_closed_line_breaks_what_is_on_it() {
        let line = Line::start(Taken::ByServer).await.unwrap();
        let (mut client, mut server) = connection(&line).await;
        pass(&mut client, &mut server, "question").await;
        pass(&mut server, &mut client, "answer").await;
        line.set(Caller::Server, Passage::Closed);
        let ended = client.read(&mut [0; 8]).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }

    #[tokio::test]
    async fn what_is_sent_over_a_silent_line_waits() {
        let line = Line::start(Taken::ByServer).await.unwrap();
        let (mut client, mut server) = connection(&line).await;
        pass(&mut client, &mut server, "question").await;
        line.set(Caller::Server, Passage::Silent);
        client.write_all(b"held").await.unwrap();
        let mut arrived = [0; 4];
        let nothing = server.try_read(&mut arrived);
        assert!(nothing.is_err(), "{nothing:?}");
        line.set(Caller::Server, Passage::Open);
        server.read_exact(&mut arrived).await.unwrap();
        assert_eq!(&arrived, b"held");
    }

    #[tokio::test]
    async fn one_member_is_cut_off_while_another_passes() {
        let line = Line::start(Taken::ByMembers).await.unwrap();
        let (mut first, mut first_end) = connection(&line).await;
        let (mut second, mut second_end) = connection(&line).await;
        pass(&mut first, &mut first_end, HEAD).await;
        pass(&mut second, &mut second_end, &HEAD.replace("8e", "9e")).await;
        line.set(Caller::Member(0x8e9e_05c5_2164_694d), Passage::Closed);
        let ended = first.read(&mut [0; 8]).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
        pass(&mut second, &mut second_end, "more").await;
    }
}
