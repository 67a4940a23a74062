//! One leader among many candidates, by a `coordination.k8s.io/v1` Lease that all of them see.
//!
//! The lease never has two holders, and a leader stops before its lease runs out. What a lease
//! cannot do is stop a request that is already under way: see [`FencingToken`]. Candidates are
//! equal: there is no preferred holder and no coordinated election.

mod candidate;
mod health;
mod leadership;
mod seat;
mod settings;
mod vacancy;

pub use health::Overdue;
pub use leadership::{FencingToken, Leadership, Loss, NotReleased};
pub use settings::{ElectionSettings, Handover, InvalidSettings, OnDrop};

use std::{fmt, future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use thiserror::Error;
use tokio::{
    sync::{Mutex, watch},
    time::{Instant, timeout},
};

use crate::Version;
use health::Acting;
use seat::{Attempt, Seat, Won};

/// Takes part in an election: again and again, for as long as it is asked to.
///
/// It needs the rights to `get`, `create` and `update` the lease, and to `watch` it if a lease that
/// was given back is to be taken at once.
///
/// ```no_run
/// # use listwatch::leader_election::{ElectionSettings, LeaderElector};
/// # async fn work(_: listwatch::leader_election::FencingToken) {}
/// # async fn run(client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let leases = kube::Api::namespaced(client, "default");
/// let settings = ElectionSettings::new("pod-7f3a");
/// let elector = LeaderElector::new(leases, "my-controller", settings)?;
/// loop {
///     match elector.run_while_leader(work).await {
///         Ok(()) => break Ok(()),
///         Err(lost) => eprintln!("{lost}; once more"),
///     }
/// }
/// # }
/// ```
pub struct LeaderElector {
    seat: Arc<Mutex<Seat>>,
    leader: watch::Receiver<Option<Arc<str>>>,
    acting: Arc<Acting>,
}

/// Why no leadership can come of a campaign.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CampaignError {
    /// The server's versions have no order, so there would be no fencing token.
    #[error("the lease has version {resource_version:?}, which is not a number")]
    NoFencingToken {
        /// What the server calls the state of the lease.
        resource_version: String,
    },
}

/// Why work did not come to its end.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotFinished {
    /// It never began.
    #[error(transparent)]
    NeverLed(#[from] CampaignError),
    /// It was cancelled because leading was over.
    #[error("leading ended: {0}")]
    Lost(Loss),
}

impl LeaderElector {
    /// A candidate for the lease of this name. Nothing is asked of the server yet.
    pub fn new(
        leases: Api<Lease>,
        name: impl Into<String>,
        settings: ElectionSettings,
    ) -> Result<Self, InvalidSettings> {
        settings.validate()?;
        let name = name.into();
        if name.is_empty() {
            return Err(InvalidSettings::NoName);
        }
        let (sender, leader) = watch::channel(None);
        Ok(Self {
            seat: Arc::new(Mutex::new(Seat::new(leases, name, settings, sender))),
            leader,
            acting: Arc::default(),
        })
    }

    /// Waits until this candidate leads. Errors of the server are logged and tried again.
    ///
    /// While the last [`Leadership`] of this elector is being served or given back, it waits for
    /// that. Dropping the future ends the campaign; if that happens while the winning request is
    /// under way, the lease may stay won until it runs out.
    pub async fn campaign(&self) -> Result<Leadership, CampaignError> {
        let mut seat = Arc::clone(&self.seat).lock_owned().await;
        loop {
            match timeout(seat.settings.renew_deadline, seat.attempt()).await {
                Ok(Ok(Attempt::Won(won))) => {
                    let token = fencing_token(&won)?;
                    let acting = Arc::clone(&self.acting);
                    return Ok(Leadership::begin(seat, won, token, acting));
                }
                Ok(Ok(Attempt::HeldBy(holder))) => {
                    tracing::debug!(lease = seat.name, holder, "another leads");
                }
                Ok(Ok(Attempt::Beaten)) => tracing::debug!(lease = seat.name, "another was faster"),
                Ok(Err(error)) => tracing::warn!(%error, lease = seat.name, "cannot campaign"),
                Err(_) => tracing::warn!(lease = seat.name, "no answer to a campaign"),
            }
            seat.pause().await;
        }
    }

    /// Campaigns, then runs the work until it ends or leading does, then gives the lease back.
    ///
    /// When leading ends, the work's future is dropped: it goes no further than its last `await`.
    /// Tasks that it has spawned are its own to end.
    pub async fn run_while_leader<W: Future>(
        &self,
        work: impl FnOnce(FencingToken) -> W,
    ) -> Result<W::Output, NotFinished> {
        let leadership = self.campaign().await?;
        let outcome = {
            let mut work = pin!(work(leadership.fencing_token()));
            // A timer may be late, so the clock is asked before each step of the work.
            let guarded = poll_fn(|context| {
                if leadership.is_leading() {
                    work.as_mut().poll(context)
                } else {
                    Poll::Pending
                }
            });
            tokio::select! {
                biased;
                loss = leadership.lost() => Err(NotFinished::Lost(loss)),
                output = guarded => Ok(output),
            }
        };
        if let Err(error) = leadership.release().await {
            tracing::warn!(%error, "others have to wait for the lease to run out");
        }
        outcome
    }

    /// Who leads, as last seen by this elector while it campaigns or leads; `None` for nobody.
    pub fn leader(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.leader.clone()
    }

    /// Fails when somebody still has a [`Leadership`] in hand this long after its lease ran out:
    /// a liveness probe that restarts a process that cannot stop leading.
    pub fn check_health(&self, tolerance: Duration) -> Result<(), Overdue> {
        self.acting.check(Instant::now(), tolerance)
    }
}

fn fencing_token(won: &Won) -> Result<FencingToken, CampaignError> {
    match Version::parse(&won.resource_version) {
        Some(Version::Number(number)) => Ok(FencingToken::new(number)),
        Some(Version::Text(_)) | None => Err(CampaignError::NoFencingToken {
            resource_version: won.resource_version.clone(),
        }),
    }
}

impl fmt::Debug for LeaderElector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LeaderElector")
            .field("leader", &*self.leader.borrow())
            .finish_non_exhaustive()
    }
}
