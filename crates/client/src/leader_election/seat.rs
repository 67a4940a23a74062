//! The lease on the server: winning, renewing and giving back, one attempt at a time.

use std::sync::Arc;

use k8s_openapi::{api::coordination::v1::Lease, apimachinery::pkg::apis::meta::v1::MicroTime};
use kube::{Api, api::PostParams};
use tokio::{sync::watch, time::Instant};

use super::{
    ElectionSettings, Loss,
    candidate::{Bid, Candidate, Record},
    vacancy::Vacancy,
};
use crate::conflict_retry::Conflict;

/// What one elector has to do with its lease. Whoever has it campaigns or leads, so an elector
/// never does both, nor either twice.
pub(super) struct Seat {
    pub(super) settings: ElectionSettings,
    pub(super) name: String,
    leases: Api<Lease>,
    candidate: Candidate,
    vacancy: Vacancy,
    leader: watch::Sender<Option<Arc<str>>>,
}

/// How one try to win ended.
pub(super) enum Attempt {
    Won(Won),
    HeldBy(String),
    /// Another was faster.
    Beaten,
}

/// What is known of a lease that was just won.
pub(super) struct Won {
    /// When the request was sent: others count from a later moment.
    pub(super) sent: Instant,
    pub(super) acquired: MicroTime,
    pub(super) transitions: i32,
    pub(super) resource_version: String,
}

/// How one try to renew ended.
pub(super) enum Renewal {
    /// The request that did it was sent then.
    Renewed {
        sent: Instant,
    },
    Lost(Loss),
}

impl Seat {
    pub(super) fn new(
        leases: Api<Lease>,
        name: String,
        settings: ElectionSettings,
        leader: watch::Sender<Option<Arc<str>>>,
    ) -> Self {
        let lease_seconds = settings.lease_seconds();
        Self {
            vacancy: Vacancy::new(leases.clone(), name.clone(), settings.handover),
            candidate: Candidate::new(name.clone(), settings.identity.clone(), lease_seconds),
            settings,
            name,
            leases,
            leader,
        }
    }

    /// Looks at the lease, and takes it if it is to be had.
    pub(super) async fn attempt(&mut self) -> Result<Attempt, kube::Error> {
        self.look().await?;
        let sent = Instant::now();
        let options = PostParams::default();
        let written = match self.candidate.bid(sent, self.settings.wall_clock.now()) {
            Bid::Create(lease) => self.leases.create(&options, &lease).await,
            Bid::Replace(lease) => self.leases.replace(&self.name, &options, &lease).await,
            Bid::Wait { holder, .. } => return Ok(Attempt::HeldBy(holder)),
        };
        match written {
            Ok(lease) => Ok(Attempt::Won(self.win(sent, lease))),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Attempt::Beaten),
            Err(error) => Err(error),
        }
    }

    /// Waits before the next attempt, but no longer than until the lease is free.
    pub(super) async fn pause(&mut self) {
        let deadline = Instant::now() + self.settings.pause();
        let version = self.candidate.resource_version();
        self.vacancy.wait(deadline, version).await;
    }

    /// Renews what was won at `acquired`: with one request when nobody else wrote.
    pub(super) async fn renew(&mut self, acquired: &MicroTime) -> Result<Renewal, kube::Error> {
        if let Err(loss) = self.candidate.still_ours(acquired) {
            return Ok(Renewal::Lost(loss));
        }
        let sent = Instant::now();
        let renewal = self.candidate.renewal(self.settings.wall_clock.now());
        match self.replace(renewal).await {
            Ok(()) => Ok(Renewal::Renewed { sent }),
            Err(error) => {
                metrics::counter!("listwatch_leader_election_slow_renewals_total").increment(1);
                tracing::debug!(%error, lease = self.name, "renewing needs another look");
                self.renew_after_a_look(acquired).await
            }
        }
    }

    /// Gives the lease back, if it is still what was won at `acquired`.
    pub(super) async fn release(&mut self, acquired: &MicroTime) -> Result<(), kube::Error> {
        while self.candidate.still_ours(acquired).is_ok() {
            let released = self.candidate.release(self.settings.wall_clock.now());
            match self.replace(released).await {
                Err(error) if error.is_conflict() => self.look().await?,
                outcome => return outcome,
            }
        }
        Ok(())
    }

    /// Reads the lease, since what was last seen may be of yesterday.
    pub(super) async fn look(&mut self) -> Result<(), kube::Error> {
        let lease = self.leases.get_opt(&self.name).await?;
        self.observe(lease);
        Ok(())
    }

    async fn renew_after_a_look(&mut self, acquired: &MicroTime) -> Result<Renewal, kube::Error> {
        self.look().await?;
        if let Err(loss) = self.candidate.still_ours(acquired) {
            return Ok(Renewal::Lost(loss));
        }
        let sent = Instant::now();
        let renewal = self.candidate.renewal(self.settings.wall_clock.now());
        self.replace(renewal).await?;
        Ok(Renewal::Renewed { sent })
    }

    async fn replace(&mut self, lease: Option<Box<Lease>>) -> Result<(), kube::Error> {
        if let Some(lease) = lease {
            let options = PostParams::default();
            let written = self.leases.replace(&self.name, &options, &lease).await?;
            self.observe(Some(written));
        }
        Ok(())
    }

    fn win(&mut self, sent: Instant, lease: Lease) -> Won {
        self.vacancy.close();
        let record = Record::of(&lease);
        let won = Won {
            sent,
            acquired: record.acquired.expect("we wrote when it was acquired"),
            transitions: record.transitions,
            resource_version: lease.metadata.resource_version.clone().unwrap_or_default(),
        };
        self.observe(Some(lease));
        won
    }

    fn observe(&mut self, lease: Option<Lease>) {
        self.candidate.observe(lease, Instant::now());
        let leader = self.candidate.leader();
        self.leader.send_if_modified(|known| {
            let changed = known.as_deref() != leader;
            if changed {
                *known = leader.map(Arc::from);
            }
            changed
        });
    }
}
