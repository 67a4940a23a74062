//! A plain TCP balancer: each connection goes to the next server that accepts one.

use std::{
    io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Context, Result};

/// Connections at one time. Those beyond are closed at once.
const CONNECTIONS_MAX: usize = 256;

/// Ends with its connections when it is dropped, once the servers are gone.
pub(super) struct Balancer {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

struct Servers {
    addresses: Vec<SocketAddr>,
    next: AtomicUsize,
    open: AtomicUsize,
}

impl Balancer {
    pub(super) fn start(addresses: Vec<SocketAddr>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port for the balancer")?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let servers = Arc::new(Servers {
            addresses,
            next: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
        });
        let told = Arc::clone(&ended);
        thread::spawn(move || {
            for client in listener.incoming() {
                if told.load(Ordering::Relaxed) {
                    return;
                }
                let servers = Arc::clone(&servers);
                thread::spawn(move || client.and_then(|client| servers.connect(&client)));
            }
        });
        Ok(Self { address, ended })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the one that waits for connections; if it is gone, so be it.
        TcpStream::connect(self.address).ok();
    }
}

impl Servers {
    fn connect(&self, client: &TcpStream) -> io::Result<()> {
        if self.open.fetch_add(1, Ordering::Relaxed) < CONNECTIONS_MAX {
            self.pass(client).ok();
        }
        self.open.fetch_sub(1, Ordering::Relaxed);
        client.shutdown(Shutdown::Both)
    }

    /// Passes bytes both ways until both sides have ended.
    fn pass(&self, client: &TcpStream) -> io::Result<()> {
        let server = self.choose()?;
        thread::scope(|scope| {
            scope.spawn(|| copy(client, &server));
            copy(&server, client);
        });
        Ok(())
    }

    fn choose(&self) -> io::Result<TcpStream> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let order = (0..self.addresses.len()).map(|index| first.wrapping_add(index));
        let mut order = order.map(|index| self.addresses[index % self.addresses.len()]);
        let found = order.find_map(|address| TcpStream::connect(address).ok());
        found.ok_or_else(|| io::ErrorKind::ConnectionRefused.into())
    }
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let copied = io::copy(&mut from, &mut to);
    // An end in good order is one of this direction; a break is one of both.
    let how = match copied {
        Ok(_) => Shutdown::Write,
        Err(_) => Shutdown::Both,
    };
    to.shutdown(how).ok();
}
