//! A network between informers and the server that loses, delays and breaks, by chance from a seed.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::watch,
    time::sleep,
};

use crate::relay::Relay;

/// Bytes that are passed on at once.
const CHUNK_BYTES: usize = 32 * 1024;

/// The longest silence of a connection that stalls: longer than an informer waits for a watch.
const STALL_MAX: Duration = Duration::from_secs(6);

/// Passes connections on to wherever the server is.
pub(super) struct Network {
    line: Arc<Line>,
    relay: Relay,
}

struct Line {
    /// Where the server is; `None` while it is down.
    upstream: watch::Sender<Option<SocketAddr>>,
    weather: watch::Sender<Weather>,
    random: Mutex<Rng>,
    connections: AtomicU64,
    broken: AtomicU64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Weather {
    /// Connections break by chance; each storm breaks half of those that are open.
    Rough { storms: u64 },
    /// Whatever is sent over a new connection arrives.
    Calm,
}

/// What will happen to a connection.
struct Fate {
    /// It breaks after so many bytes of answers.
    breaks_after: Option<u64>,
    /// It falls silent for this long after so many bytes of answers.
    stalls: Option<(u64, Duration)>,
    /// How long each piece takes on its way.
    delay: Duration,
    ending: Ending,
}

/// How a connection ends when it breaks.
#[derive(Clone, Copy)]
enum Ending {
    /// In good order, as far as TCP knows.
    Closed,
    /// With a reset.
    Reset,
}

impl Network {
    pub(super) async fn start(random: Rng) -> anyhow::Result<Self> {
        let line = Arc::new(Line {
            upstream: watch::Sender::new(None),
            weather: watch::Sender::new(Weather::Rough { storms: 0 }),
            random: Mutex::new(random),
            connections: AtomicU64::new(0),
            broken: AtomicU64::new(0),
        });
        let serving = Arc::clone(&line);
        let relay = Relay::start(move |client| {
            serving.connections.fetch_add(1, Ordering::Relaxed);
            let line = Arc::clone(&serving);
            async move { line.serve(client).await }
        });
        let relay = relay.await?;
        Ok(Self { line, relay })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.relay.address()
    }

    /// Leads to this server from now on, or nowhere. What leads elsewhere breaks.
    pub(super) fn leads_to(&self, upstream: Option<SocketAddr>) {
        self.line.upstream.send_replace(upstream);
    }

    /// Breaks about half of the open connections.
    pub(super) fn storm(&self) {
        self.line.weather.send_modify(|weather| {
            if let Weather::Rough { storms } = weather {
                *storms += 1;
            }
        });
    }

    /// No storms any more, and whoever connects from now on is safe.
    pub(super) fn calm(&self) {
        self.line.weather.send_replace(Weather::Calm);
    }

    /// How many connections there were.
    pub(super) fn connections(&self) -> u64 {
        self.line.connections.load(Ordering::Relaxed)
    }

    /// How many of them the network refused or broke.
    pub(super) fn broken(&self) -> u64 {
        self.line.broken.load(Ordering::Relaxed)
    }
}

impl Line {
    async fn serve(&self, client: TcpStream) {
        let Some(fate) = self.fate() else {
            self.end(&client, Ending::Reset);
            return;
        };
        let mut upstreams = self.upstream.subscribe();
        let upstream = *upstreams.borrow_and_update();
        let Some(upstream) = upstream else { return };
        let Ok(server) = TcpStream::connect(upstream).await else {
            return;
        };
        let _ = client.set_nodelay(true);
        let _ = server.set_nodelay(true);
        let mut connection = Connection { client, server };
        let broken = tokio::select! {
            ended = connection.carry(&fate) => ended,
            () = self.struck() => Passed::Broken,
            _ = upstreams.changed() => Passed::Broken,
        };
        if let Passed::Broken = broken {
            self.end(&connection.client, fate.ending);
        }
    }

    /// What happens to the next connection; `None` if it is refused.
    fn fate(&self) -> Option<Fate> {
        let mut random = self.random.lock();
        let ending = match random.bool() {
            true => Ending::Closed,
            false => Ending::Reset,
        };
        if *self.weather.borrow() == Weather::Calm {
            return Some(Fate {
                breaks_after: None,
                stalls: None,
                delay: Duration::ZERO,
                ending,
            });
        }
        let mut one_in = |count: u8| random.u8(0..count) == 0;
        let (refused, breaks, stalls, slow) = (one_in(20), one_in(4), one_in(12), one_in(8));
        let mut bytes = |most: u32| 1_u64 << random.u32(6..most);
        let (breaks_after, stalls_after) = (bytes(22), bytes(20));
        let pause = STALL_MAX.mul_f64(random.f64());
        (!refused).then(|| Fate {
            breaks_after: breaks.then_some(breaks_after),
            stalls: stalls.then_some((stalls_after, pause)),
            delay: Duration::from_millis(if slow { random.u64(1..20) } else { 0 }),
            ending,
        })
    }

    /// Waits for a storm that hits this connection.
    async fn struck(&self) {
        let mut weather = self.weather.subscribe();
        loop {
            if weather.changed().await.is_err() {
                return;
            }
            let is_storm = *weather.borrow_and_update() != Weather::Calm;
            if is_storm && self.random.lock().bool() {
                return;
            }
        }
    }

    fn end(&self, client: &TcpStream, ending: Ending) {
        self.broken.fetch_add(1, Ordering::Relaxed);
        if let Ending::Reset = ending {
            // A socket that is gone already needs no reset.
            let _ = client.set_zero_linger();
        }
    }
}

struct Connection {
    client: TcpStream,
    server: TcpStream,
}

/// Why a connection carries nothing any more.
enum Passed {
    /// One of its ends closed it.
    ByItself,
    /// The network broke it.
    Broken,
}

impl Connection {
    async fn carry(&mut self, fate: &Fate) -> Passed {
        let mut asked = vec![0; CHUNK_BYTES];
        let mut answered = vec![0; CHUNK_BYTES];
        let mut passed = 0_u64;
        let mut stall = fate.stalls;
        loop {
            tokio::select! {
                read = self.client.read(&mut asked) => {
                    let Ok(count @ 1..) = read else { return Passed::ByItself };
                    if self.server.write_all(&asked[..count]).await.is_err() {
                        return Passed::ByItself;
                    }
                }
                read = self.server.read(&mut answered) => {
                    let Ok(count @ 1..) = read else { return Passed::ByItself };
                    sleep(fate.delay).await;
                    if let Some((_, pause)) = stall.take_if(|(after, _)| passed >= *after) {
                        sleep(pause).await;
                    }
                    let left = fate.breaks_after.map(|most| most.saturating_sub(passed));
                    let whole = usize::try_from(left.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
                    let part = &answered[..count.min(whole)];
                    if self.client.write_all(part).await.is_err() {
                        return Passed::ByItself;
                    }
                    passed += count as u64;
                    if part.len() < count {
                        return Passed::Broken;
                    }
                }
            }
        }
    }
}
