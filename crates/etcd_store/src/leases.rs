//! Values that end by themselves.
//!
//! Values written at about the same time share a lease. Who granted it deletes them when their time
//! has come, each at a revision of its own, so that a follower may resume between any two. If that
//! process is gone by then, etcd ends the lease a little later, and they go together.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use listwatch_etcd::{Condition, Delete, Error, KeyRange, LeaseId, Operation, Transaction};
use tokio::{
    sync::{Mutex, mpsc},
    time::{Instant, sleep_until},
};

use crate::cluster::Cluster;

/// Values that share a lease come at most this long after the first, or this part of their life.
const SHARING_MAX: (Duration, u32) = (Duration::from_secs(4), 20);
/// Values that share a lease, at the most.
const SHARERS_MAX: u32 = 1_000;
/// How much longer than its values a lease lasts, for who granted it to delete them one by one.
const GRACE: Duration = Duration::from_secs(10);
/// Different lifetimes that are shared at one time; at the bound all begin anew.
const LIFETIMES_MAX: usize = 64;
/// Leases granted that the reaper has not heard of. At the bound etcd ends them.
const UNHEARD_MAX: usize = 1_024;
/// Leases that wait for their end. At the bound etcd ends them.
const LEASES_MAX: usize = 100_000;
/// The pause before an end is tried again that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Grants leases.
pub(crate) struct Leases {
    cluster: Arc<Cluster>,
    shared: Mutex<HashMap<Duration, Shared>>,
    ends: mpsc::Sender<End>,
}

/// A lease that more values may share.
struct Shared {
    lease: LeaseId,
    closes: Instant,
    sharers: u32,
}

/// When the values of a lease end.
struct End {
    at: Instant,
    lease: LeaseId,
}

impl Leases {
    /// Grants leases; the reaper, which must run, ends them.
    pub(crate) fn new(cluster: Arc<Cluster>) -> (Self, Reaper) {
        let (ends, granted) = mpsc::channel(UNHEARD_MAX);
        let reaper = Reaper {
            cluster: Arc::clone(&cluster),
            granted,
            waiting: BTreeMap::new(),
        };
        let leases = Self {
            cluster,
            shared: Mutex::default(),
            ends,
        };
        (leases, reaper)
    }

    /// A lease for a value that is written right now.
    pub(crate) async fn lease(&self, lifetime: Duration) -> Result<LeaseId, Error> {
        let mut shared = self.shared.lock().await;
        let now = Instant::now();
        let open = shared
            .get_mut(&lifetime)
            .filter(|it| now < it.closes && it.sharers < SHARERS_MAX);
        if let Some(open) = open {
            open.sharers += 1;
            return Ok(open.lease);
        }
        let sharing = SHARING_MAX.0.min(lifetime / SHARING_MAX.1);
        // The write itself takes time after its lease is chosen, and its value lives from then on.
        let writing = lifetime.min(self.cluster.client.settings().request_timeout);
        let life = lifetime + sharing + writing;
        let granted = self.cluster.client.grant_lease(life + GRACE).await?;
        // Counted from after the grant: nothing ends early.
        let granted_at = Instant::now();
        let end = End {
            at: granted_at + life,
            lease: granted.id,
        };
        // A reaper that has too much to do leaves it to etcd.
        let _left_to_etcd = self.ends.try_send(end);
        if shared.len() >= LIFETIMES_MAX {
            shared.clear();
        }
        let new = Shared {
            lease: granted.id,
            closes: granted_at + sharing,
            sharers: 1,
        };
        shared.insert(lifetime, new);
        Ok(granted.id)
    }

    /// Shares these leases no more: they have ended.
    pub(crate) async fn forget(&self, ended: &[LeaseId]) {
        let mut shared = self.shared.lock().await;
        shared.retain(|_, it| !ended.contains(&it.lease));
    }
}

/// Deletes values whose time has come.
pub(crate) struct Reaper {
    cluster: Arc<Cluster>,
    granted: mpsc::Receiver<End>,
    waiting: BTreeMap<(Instant, i64), LeaseId>,
}

impl Reaper {
    /// Runs until no more leases can be granted.
    pub(crate) async fn run(mut self) {
        loop {
            let next = self.waiting.first_key_value();
            let due = next.map(|((at, _), _)| *at);
            let wait = async {
                match due {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                end = self.granted.recv() => match end {
                    Some(end) => self.wait_for(end),
                    None => return,
                },
                () = wait => self.end_first().await,
            }
        }
    }

    fn wait_for(&mut self, end: End) {
        if self.waiting.len() < LEASES_MAX {
            self.waiting.insert((end.at, end.lease.get()), end.lease);
        }
    }

    async fn end_first(&mut self) {
        let Some((_, lease)) = self.waiting.pop_first() else {
            return;
        };
        match self.end(lease).await {
            Ok(()) | Err(Error::LeaseNotFound) => {}
            Err(error) => {
                tracing::debug!(%error, "values whose time has come could not be deleted yet");
                let at = Instant::now() + RETRY_PAUSE;
                self.wait_for(End { at, lease });
            }
        }
    }

    async fn end(&self, lease: LeaseId) -> Result<(), Error> {
        for key in self.cluster.client.lease_keys(lease).await? {
            self.cluster.ask(self.delete(key, lease)).await?;
        }
        self.cluster.client.revoke_lease(lease).await
    }

    /// Deletes a key, unless it has been written again since.
    fn delete(
        &self,
        key: Bytes,
        lease: LeaseId,
    ) -> impl Future<Output = Result<listwatch_etcd::TransactionAnswer, Error>> {
        self.cluster.client.transact(Transaction {
            when: vec![Condition::lives_by(key.clone(), lease)],
            then: vec![Operation::Delete(Delete::new(KeyRange::one(key)))],
            otherwise: Vec::new(),
        })
    }
}
