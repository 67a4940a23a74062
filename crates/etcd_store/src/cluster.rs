//! The cluster, and what everybody here knows of it: how far it is, and whether it is itself.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use listwatch_etcd::{
    Client, Content, Error, Header, KeyRange, Range, RangeAnswer, TransactionAnswer, WatchRequest,
};
use listwatch_store::Revision;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use crate::{KeyMount, breaker::Breaker, own_keys};

/// A request that somebody stopped waiting for after this long counts as not answered.
const SILENCE: Duration = Duration::from_secs(1);

/// The largest revision that etcd can be asked about.
pub(crate) const NUMBER_MAX: u64 = i64::MAX as u64;

/// One etcd cluster and the keys of it that are ours.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) mount: KeyMount,
    /// What is added to a revision of etcd to get one of the store.
    offset: u64,
    /// The newest revision of etcd that anybody here has heard of.
    known: watch::Sender<u64>,
    /// The newest revision of etcd that anybody here has been told of, by a watch too. Whoever asks
    /// from now on must not be told less.
    seen: AtomicU64,
    /// The oldest revision of etcd that is kept, as far as anybody here has heard.
    floor: AtomicU64,
    /// Why nothing can go on here, if so.
    lost: watch::Sender<Option<String>>,
    breaker: Breaker,
}

/// An answer that says how far etcd was.
pub(crate) trait Answered {
    /// What it begins with.
    fn header(&self) -> Header;
}

impl Answered for Header {
    fn header(&self) -> Header {
        *self
    }
}

impl Answered for RangeAnswer {
    fn header(&self) -> Header {
        self.header
    }
}

impl Answered for TransactionAnswer {
    fn header(&self) -> Header {
        self.header
    }
}

impl Cluster {
    pub(crate) fn new(client: Client, mount: KeyMount, offset: u64) -> Self {
        Self {
            client,
            mount,
            offset,
            known: watch::Sender::new(0),
            seen: AtomicU64::new(0),
            floor: AtomicU64::new(0),
            lost: watch::Sender::new(None),
            breaker: Breaker::default(),
        }
    }

    /// Sends a request whose answer sees every write acknowledged before, unless it is known to be
    /// in vain.
    pub(crate) async fn ask<A: Answered>(
        &self,
        request: impl Future<Output = Result<A, Error>>,
    ) -> Result<A, Error> {
        let refused = |reason: String| Error::Unreachable { reason };
        if let Some(reason) = self.lost.borrow().clone() {
            return Err(refused(reason));
        }
        self.breaker.pass().map_err(refused)?;
        let seen = self.seen.load(Ordering::Relaxed);
        let waiting = Waiting {
            breaker: &self.breaker,
            since: Instant::now(),
        };
        let answer = request.await;
        std::mem::forget(waiting);
        match &answer {
            Ok(answer) => {
                self.breaker.answered();
                self.hear(seen, answer.header())?;
            }
            Err(Error::Unreachable { reason } | Error::Interrupted { reason }) => {
                self.breaker.failed(reason.clone());
            }
            Err(_) => self.breaker.answered(),
        }
        answer
    }

    /// The newest revision of etcd.
    pub(crate) async fn newest(&self) -> Result<u64, Error> {
        let range = Range {
            content: Content::Count,
            ..Range::new(KeyRange::one(self.mount.own(own_keys::NOTHING)))
        };
        Ok(self.ask(self.client.range(range)).await?.header.revision)
    }

    /// The oldest revision of etcd that is kept, after etcd said that an older one is not. It tells
    /// which one only to a watch on the past.
    pub(crate) async fn find_oldest(&self) -> u64 {
        let nothing = KeyRange::one(self.mount.own(own_keys::NOTHING));
        let request = WatchRequest::from_revision(nothing, 1);
        let refused = async {
            match self.client.watch(request).await {
                Ok(mut watch) => watch.next().await.err(),
                Err(error) => Some(error),
            }
        };
        if let Ok(Some(Error::Compacted {
            oldest: Some(oldest),
        })) = timeout(SILENCE, refused).await
        {
            self.compacted(oldest);
        }
        self.oldest()
    }

    /// The oldest revision of etcd that is kept, as far as is known here.
    pub(crate) fn oldest(&self) -> u64 {
        self.floor.load(Ordering::Relaxed).max(1)
    }

    /// Notes up to where the past has been forgotten.
    pub(crate) fn compacted(&self, floor: u64) {
        self.floor.fetch_max(floor, Ordering::Relaxed);
    }

    /// The store's revision for one of etcd.
    pub(crate) fn revision(&self, number: u64) -> Revision {
        Revision::new(number + self.offset)
    }

    /// The revision of etcd for one of the store; `None` for one from before these keys were here.
    pub(crate) fn number(&self, revision: Revision) -> Option<u64> {
        match (revision.get().checked_sub(self.offset), self.offset) {
            // Nothing ever was at etcd's first revision.
            (Some(0), 0) => Some(1),
            (Some(0) | None, _) => None,
            // etcd counts with a sign; nothing is ever as far as that.
            (Some(number), _) => Some(number.min(NUMBER_MAX)),
        }
    }

    /// The newest revision of etcd that anybody here has heard of, as it grows.
    pub(crate) fn known(&self) -> watch::Receiver<u64> {
        self.known.subscribe()
    }

    /// Ends all work here: what is known here no longer fits what etcd holds.
    pub(crate) fn lose(&self, reason: String) {
        tracing::error!(reason, "the store cannot go on");
        self.lost.send_replace(Some(reason));
    }

    /// Waits until nothing can go on here, and tells why.
    pub(crate) async fn lost(&self) -> String {
        let mut lost = self.lost.subscribe();
        let reason = lost.wait_for(Option::is_some).await;
        let reason = reason.ok().and_then(|reason| reason.clone());
        match reason {
            Some(reason) => reason,
            None => std::future::pending().await,
        }
    }

    /// Notes that a watch told of a revision.
    pub(crate) fn saw(&self, number: u64) {
        self.seen.fetch_max(number, Ordering::Relaxed);
    }

    /// Notes how far etcd is. It must not be less than what had been seen when it was asked.
    fn hear(&self, seen: u64, header: Header) -> Result<(), Error> {
        let number = header.revision;
        if number < seen {
            let reason = format!(
                "etcd went back from revision {seen} to {number}: it was restored from an older \
                 backup. Start this server again, and restore with a raised revision next time"
            );
            self.lose(reason.clone());
            return Err(Error::Unreachable { reason });
        }
        self.saw(number);
        self.known.send_if_modified(|known| {
            let grows = number > *known;
            *known = number.max(*known);
            grows
        });
        Ok(())
    }
}

/// A request that is under way. Dropped when somebody stops waiting for it.
struct Waiting<'a> {
    breaker: &'a Breaker,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let elapsed = self.since.elapsed();
        if elapsed >= SILENCE {
            self.breaker
                .failed(format!("no answer from etcd within {elapsed:?}"));
        }
    }
}
