//! What the clients of a run share: the servers, the time, what they know, and how they fared.

use std::{sync::Arc, time::Duration};

use listwatch_api::ResourceVersion;
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::plan::ClusterPlan;
use crate::{
    client::{Client, RequestError},
    history::Answerer,
    workload::ledger::Ledger,
};

/// How late a step may be done. What comes later is left out, so that the others keep their time.
const LATE_MAX: Duration = Duration::from_millis(500);

/// What the clients of a run share.
pub(super) struct Stage {
    pub(super) plan: ClusterPlan,
    pub(super) ledger: Arc<Ledger>,
    servers: Vec<Client>,
    began: Instant,
    last: watch::Sender<Option<ResourceVersion>>,
    fared: Mutex<Fared>,
}

/// How the clients fared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fared {
    pub(super) writes: Gaps,
    pub(super) reads: Gaps,
    /// Steps left out because the client was still busy.
    pub(super) left_out: usize,
    /// Requests that went to another server after one had failed.
    pub(super) moves: usize,
}

/// How long it took at most from one success to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    last: Instant,
    pub(super) longest: Duration,
}

impl Gaps {
    fn succeeded(&mut self) {
        self.longest = self.longest.max(self.last.elapsed());
        self.last = Instant::now();
    }
}

/// The server that a client turns to, until that one fails it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    current: usize,
}

impl Route {
    pub(super) fn to(server: usize) -> Self {
        Self { current: server }
    }

    /// To the server after this one.
    pub(super) fn next(self) -> Self {
        Self::to(self.current + 1)
    }
}

/// Whether a step is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    TooLate,
}

impl Stage {
    pub(super) fn new(plan: ClusterPlan, servers: Vec<Client>) -> Self {
        let gaps = Gaps {
            last: Instant::now(),
            longest: Duration::ZERO,
        };
        Self {
            plan,
            ledger: Arc::default(),
            servers,
            began: Instant::now(),
            last: watch::Sender::new(None),
            fared: Mutex::new(Fared {
                writes: gaps,
                reads: gaps,
                left_out: 0,
                moves: 0,
            }),
        }
    }

    /// The moment that is so long after the beginning.
    pub(super) fn moment(&self, offset: Duration) -> Instant {
        self.began + offset
    }

    /// Waits for the time of a step.
    pub(super) async fn turn(&self, offset: Duration) -> Turn {
        let moment = self.moment(offset);
        if moment.elapsed() > LATE_MAX {
            self.fared.lock().left_out += 1;
            return Turn::TooLate;
        }
        sleep_until(moment).await;
        Turn::Now
    }

    /// The server that a client turns to now.
    pub(super) fn server(&self, route: Route) -> (&Client, Answerer) {
        let number = route.current % self.servers.len();
        (&self.servers[number], Answerer::Server(number))
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = Route> {
        (0..self.servers.len()).map(Route::to)
    }

    /// Turns to the next server.
    pub(super) fn move_on(&self, route: &mut Route) {
        self.fared.lock().moves += 1;
        *route = route.next();
    }

    /// Turns to the next server if the answer says that this one is of no use now.
    pub(super) fn move_on_after(&self, error: &RequestError, route: &mut Route) {
        match error {
            RequestError::Unreachable { .. }
            | RequestError::Disconnected { .. }
            | RequestError::TooManyRequests { .. }
            | RequestError::NotYetReached { .. }
            | RequestError::ServerFault(_) => self.move_on(route),
            RequestError::Expired(_)
            | RequestError::Conflict(_)
            | RequestError::AlreadyExists(_)
            | RequestError::NotFound(_)
            | RequestError::Refused(_)
            | RequestError::Unreadable { .. } => {}
        }
    }

    pub(super) fn a_write_succeeded(&self) {
        self.fared.lock().writes.succeeded();
    }

    pub(super) fn a_consistent_read_succeeded(&self) {
        self.fared.lock().reads.succeeded();
    }

    /// How the clients have fared until now.
    pub(super) fn fared(&self) -> Fared {
        let mut fared = *self.fared.lock();
        fared.writes.longest = fared.writes.longest.max(fared.writes.last.elapsed());
        fared.reads.longest = fared.reads.longest.max(fared.reads.last.elapsed());
        fared
    }

    /// Nothing changes any more after this version.
    pub(super) fn ends_with(&self, version: ResourceVersion) {
        self.last.send_replace(Some(version));
    }

    /// Waits until nothing changes any more, and tells the last version.
    pub(super) async fn last_version(&self) -> ResourceVersion {
        let mut last = self.last.subscribe();
        let known = last.wait_for(Option::is_some).await;
        known
            .expect("the stage holds the sender")
            .expect("it was waited for")
    }
}
