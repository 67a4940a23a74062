//! The time in which one elector leads.

use std::{fmt, sync::Arc};

use thiserror::Error;
use tokio::{
    sync::{OwnedMutexGuard, oneshot, watch},
    task::JoinHandle,
    time::{Instant, sleep, sleep_until, timeout_at},
};

use super::{
    OnDrop,
    health::Acting,
    seat::{Renewal, Seat, Won},
};

/// A number that is greater for every later leader.
///
/// No lease can stop a leader that was suspended, or whose request was under way, at the moment it
/// lost: it may still write. So let it pass its token along with each write, and let whatever is
/// written to keep the greatest token it has seen and refuse a smaller one.
///
/// It is the version of the lease with which leading began. Unlike `leaseTransitions` it grows also
/// when the lease is deleted and made anew, or won again under the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(u64);

/// Proof of leading, for as long as it is not [`lost`](Self::lost).
///
/// The lease is renewed in the background. Dropping this gives the lease back, or lets it run out:
/// see [`OnDrop`]. Either way, end the work first.
pub struct Leadership {
    token: FencingToken,
    transitions: i32,
    standing: Arc<Standing>,
    stop: Option<oneshot::Sender<OnDrop>>,
    serving: JoinHandle<Result<(), NotReleased>>,
    acting: Arc<Acting>,
}

/// Why an elector leads no longer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Loss {
    /// The lease could not be renewed in time. Another may lead soon.
    #[error("the lease was not renewed in time")]
    NotRenewed,
    /// Another leads, or another of the same name.
    #[error("the lease was taken by {holder}")]
    Taken {
        /// The other's name.
        holder: String,
    },
    /// The lease was deleted or cleared by hand.
    #[error("the lease was taken away")]
    Removed,
}

/// The lease could not be given back. Others wait until it runs out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the lease was not given back: {reason}")]
pub struct NotReleased {
    /// What went wrong, for a person.
    pub reason: String,
}

/// Whether the leader still leads. What was lost stays lost, whoever notices first.
struct Standing(watch::Sender<State>);

#[derive(Clone, PartialEq, Eq)]
enum State {
    Leading { until: Instant },
    Lost(Loss),
}

impl FencingToken {
    pub(super) const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number to pass along.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Leadership {
    pub(super) fn begin(
        seat: OwnedMutexGuard<Seat>,
        won: Won,
        token: FencingToken,
        acting: Arc<Acting>,
    ) -> Self {
        let until = won.sent + seat.settings.renew_deadline;
        let standing = Arc::new(Standing(watch::Sender::new(State::Leading { until })));
        acting.until(token, won.sent + seat.settings.lease_duration);
        let (stop, stopped) = oneshot::channel();
        let transitions = won.transitions;
        let term = Term {
            seat,
            won,
            token,
            standing: Arc::clone(&standing),
            acting: Arc::clone(&acting),
        };
        Self {
            token,
            transitions,
            standing,
            stop: Some(stop),
            serving: tokio::spawn(term.serve(stopped)),
            acting,
        }
    }

    /// The number to pass along with each write made as leader.
    pub fn fencing_token(&self) -> FencingToken {
        self.token
    }

    /// How often the lease has passed from one holder to another.
    pub fn transitions(&self) -> i32 {
        self.transitions
    }

    /// Whether the lease was renewed recently enough, asked of the clock at this moment.
    pub fn is_leading(&self) -> bool {
        match self.standing.judge() {
            State::Leading { .. } => true,
            State::Lost(_) => false,
        }
    }

    /// Waits until leading is over. Answers again and again.
    pub async fn lost(&self) -> Loss {
        let mut changes = self.standing.0.subscribe();
        loop {
            changes.mark_unchanged();
            let until = match self.standing.judge() {
                State::Leading { until } => until,
                State::Lost(loss) => return loss,
            };
            tokio::select! {
                biased;
                _ = changes.changed() => {}
                () = sleep_until(until) => {}
            }
        }
    }

    /// Gives the lease back and waits until that is done, so that another can lead at once. Gives
    /// up when the lease would have run out anyway.
    ///
    /// Nothing is left to give back when leading was lost before.
    pub async fn release(mut self) -> Result<(), NotReleased> {
        if let Some(stop) = self.stop.take() {
            // Nobody listens any more when leading was lost before.
            let _ = stop.send(OnDrop::Release);
        }
        match (&mut self.serving).await {
            Ok(outcome) => outcome,
            Err(error) => Err(NotReleased {
                reason: error.to_string(),
            }),
        }
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.acting.over(self.token);
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Leadership")
            .field("token", &self.token)
            .field("transitions", &self.transitions)
            .finish_non_exhaustive()
    }
}

impl Standing {
    /// The state at this moment; a deadline that has passed is a loss from then on.
    fn judge(&self) -> State {
        self.0.send_if_modified(|state| match state {
            State::Leading { until } if *until <= Instant::now() => {
                *state = State::Lost(Loss::NotRenewed);
                true
            }
            State::Leading { .. } | State::Lost(_) => false,
        });
        self.0.borrow().clone()
    }

    /// Moves the deadline, unless it has passed.
    fn extend(&self, until: Instant) -> State {
        self.judge();
        self.0.send_if_modified(|state| match state {
            State::Leading { until: known } if *known > Instant::now() => {
                *known = until;
                true
            }
            State::Leading { .. } | State::Lost(_) => false,
        });
        self.judge()
    }

    fn lose(&self, loss: Loss) {
        self.0.send_if_modified(|state| match state {
            State::Leading { .. } => {
                *state = State::Lost(loss);
                true
            }
            State::Lost(_) => false,
        });
    }
}

/// What renews the lease in the background.
struct Term {
    seat: OwnedMutexGuard<Seat>,
    won: Won,
    token: FencingToken,
    standing: Arc<Standing>,
    acting: Arc<Acting>,
}

impl Term {
    async fn serve(mut self, mut stopped: oneshot::Receiver<OnDrop>) -> Result<(), NotReleased> {
        let leading =
            metrics::gauge!("listwatch_leader_election_leading", "lease" => self.seat.name.clone());
        leading.set(1);
        tracing::info!(lease = self.seat.name, token = %self.token, "leading");
        let order = tokio::select! {
            biased;
            order = &mut stopped => Some(order.unwrap_or(self.seat.settings.on_drop)),
            loss = self.renew() => {
                tracing::warn!(lease = self.seat.name, token = %self.token, %loss, "lost");
                self.standing.lose(loss);
                None
            }
        };
        leading.set(0);
        match order {
            Some(OnDrop::Release) => self.release().await,
            Some(OnDrop::LetExpire) | None => Ok(()),
        }
    }

    /// Renews until that is no longer possible.
    async fn renew(&mut self) -> Loss {
        loop {
            sleep(self.seat.settings.retry_period).await;
            let until = match self.standing.judge() {
                State::Leading { until } => until,
                State::Lost(loss) => return loss,
            };
            match timeout_at(until, self.seat.renew(&self.won.acquired)).await {
                Ok(Ok(Renewal::Renewed { sent })) => self.extend(sent),
                Ok(Ok(Renewal::Lost(loss))) => return loss,
                Ok(Err(error)) => {
                    tracing::warn!(%error, lease = self.seat.name, "the lease was not renewed");
                }
                Err(_) => {}
            }
        }
    }

    fn extend(&self, sent: Instant) {
        self.standing
            .extend(sent + self.seat.settings.renew_deadline);
        self.acting
            .renewed(self.token, sent + self.seat.settings.lease_duration);
    }

    /// Tries until the lease would have run out anyway.
    async fn release(&mut self) -> Result<(), NotReleased> {
        let deadline = Instant::now() + self.seat.settings.lease_duration;
        let released = timeout_at(deadline, async {
            loop {
                match self.seat.release(&self.won.acquired).await {
                    Ok(()) => return,
                    Err(error) => {
                        tracing::warn!(%error, lease = self.seat.name, "not given back yet");
                        sleep(self.seat.settings.retry_period).await;
                    }
                }
            }
        });
        released.await.map_err(|_| NotReleased {
            reason: "no answer in time".to_owned(),
        })
    }
}
