//! What the clients of one run share: the server's address, how far the run is, and what they know.

use crate::client::Client;
use listwatch_api::ResourceVersion;
use tokio::sync::watch;

use super::{Plan, ledger::Ledger};

/// What the clients of one run share.
pub(super) struct World {
    pub(super) plan: Plan,
    server: watch::Sender<Server>,
    phase: watch::Sender<Phase>,
    writes: watch::Sender<u64>,
    readers_starting: watch::Sender<usize>,
    pub(super) ledger: Ledger,
}

#[derive(Clone, Debug)]
enum Server {
    Down,
    Up(Box<Client>),
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Writers write.
    Writing,
    /// Nothing changes any more: readers see the rest, up to this version, and end.
    Draining {
        /// The version of the last list.
        through: ResourceVersion,
    },
}

/// Dropped by a reader when it has its place.
pub(super) struct ReaderStart(watch::Sender<usize>);

impl Drop for ReaderStart {
    fn drop(&mut self) {
        self.0.send_modify(|starting| *starting -= 1);
    }
}

impl World {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan,
            server: watch::Sender::new(Server::Down),
            phase: watch::Sender::new(Phase::Writing),
            writes: watch::Sender::new(0),
            readers_starting: watch::Sender::new(0),
            ledger: Ledger::default(),
        }
    }

    pub(super) fn server_is_up(&self, client: Client) {
        self.server.send_replace(Server::Up(Box::new(client)));
    }

    pub(super) fn server_goes_down(&self) {
        self.server.send_replace(Server::Down);
    }

    /// The server, as soon as it is up.
    pub(super) async fn client(&self) -> Client {
        let mut server = self.server.subscribe();
        let up = server
            .wait_for(|server| matches!(server, Server::Up(_)))
            .await;
        match &*up.expect("the world holds the sender") {
            Server::Up(client) => Client::clone(client),
            Server::Down => unreachable!("it was waited for"),
        }
    }

    pub(super) fn expect_reader(&self) -> ReaderStart {
        self.readers_starting.send_modify(|starting| *starting += 1);
        ReaderStart(self.readers_starting.clone())
    }

    pub(super) async fn all_readers_ready(&self) {
        let mut starting = self.readers_starting.subscribe();
        let none = starting.wait_for(|starting| *starting == 0).await;
        none.expect("the world holds the sender");
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Waits until nothing changes any more, and tells the last version.
    pub(super) async fn draining(&self) -> ResourceVersion {
        let mut phase = self.phase.subscribe();
        let past = phase.wait_for(|phase| *phase != Phase::Writing).await;
        match *past.expect("the world holds the sender") {
            Phase::Draining { through } => through,
            Phase::Writing => unreachable!("its end was waited for"),
        }
    }

    pub(super) fn is_writing(&self) -> bool {
        *self.phase.borrow() == Phase::Writing
    }

    pub(super) fn a_write_ended(&self) {
        self.writes.send_modify(|writes| *writes += 1);
    }

    /// Waits until so many writes have ended since the beginning, or the run is past writing.
    pub(super) async fn writes_reach(&self, count: u64) {
        let mut writes = self.writes.subscribe();
        tokio::select! {
            reached = writes.wait_for(|writes| *writes >= count) => {
                reached.expect("the world holds the sender");
            }
            _ = self.draining() => {}
        }
    }

    pub(super) fn writes_so_far(&self) -> u64 {
        *self.writes.borrow()
    }
}
