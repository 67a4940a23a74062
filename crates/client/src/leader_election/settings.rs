//! How an election is held, and which ways of holding one make no sense.

use std::time::Duration;

use thiserror::Error;

use crate::wall_clock::WallClock;

/// The longest pause between two tries to win, as a multiple of [`ElectionSettings::retry_period`].
pub(super) const RETRY_STRETCH_MAX: f64 = 2.2;

/// How much shorter than the renew deadline the retry period must be, so that one failed renewal
/// leaves time for another.
const RETRIES_BEFORE_DEADLINE: f64 = 1.2;

/// The longest lease that can be written down.
const LEASE_DURATION_MAX: Duration = Duration::from_secs(i32::MAX as u64);

/// How an election is held. All candidates should agree on the three durations.
#[derive(Clone, Debug)]
pub struct ElectionSettings {
    /// Names this candidate. Two with one name take the lease from each other, so use something
    /// that is never used twice at once, such as the pod's name and a random number.
    pub identity: String,
    /// How long the others wait after the last renewal they saw. Kubernetes counts whole seconds:
    /// a fraction is rounded up.
    pub lease_duration: Duration,
    /// How long a leader goes on without a renewal. The rest of the lease is the time in which its
    /// work must end.
    pub renew_deadline: Duration,
    /// The pause between two renewals, and the shortest between two tries to win.
    pub retry_period: Duration,
    /// What becomes of the lease when a [`Leadership`](super::Leadership) is dropped.
    pub on_drop: OnDrop,
    /// How a candidate learns that the lease was given back.
    pub handover: Handover,
    /// Where the times come from that are written into the lease.
    pub wall_clock: WallClock,
    /// Where chance comes from.
    pub random: fastrand::Rng,
}

/// What becomes of the lease when a [`Leadership`](super::Leadership) is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDrop {
    /// It is given back in the background, so that another can lead at once.
    Release,
    /// It is no longer renewed: another leads when it has run out. For work that may still be
    /// going on when the leadership is dropped.
    LetExpire,
}

/// How a candidate learns that the lease was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// By a watch, and so at once. Where the right to `watch` is missing, by looking.
    Watched,
    /// By looking: after one to 2.2 retry periods.
    Polled,
}

/// Why an election cannot be held like this.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidSettings {
    /// Nobody could tell who leads.
    #[error("the identity is empty")]
    NoIdentity,
    /// Kubernetes would refuse the lease.
    #[error("the name of the lease is empty")]
    NoName,
    /// Renewing would never pause.
    #[error("the retry period is zero")]
    NoRetryPeriod,
    /// Kubernetes has no number for it.
    #[error("the lease duration exceeds {} seconds", i32::MAX)]
    LeaseTooLong,
    /// The old leader would go on while the new one begins.
    #[error("lease duration {lease_duration:?} must exceed renew deadline {renew_deadline:?}")]
    LeaseTooShort {
        /// What was asked for.
        lease_duration: Duration,
        /// What it must exceed.
        renew_deadline: Duration,
    },
    /// One failed renewal would cost the leadership.
    #[error("renew deadline {renew_deadline:?} must exceed 1.2 times {retry_period:?}")]
    DeadlineTooShort {
        /// What was asked for.
        renew_deadline: Duration,
        /// Of which it must exceed 1.2 times.
        retry_period: Duration,
    },
}

impl ElectionSettings {
    /// A lease of 15 s, given up after 10 s without renewal, renewed every 2 s.
    pub fn new(identity: impl Into<String>) -> Self {
        Self {
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            on_drop: OnDrop::Release,
            handover: Handover::Watched,
            wall_clock: WallClock::system(),
            random: fastrand::Rng::new(),
        }
    }

    /// Refuses what cannot work.
    pub(super) fn validate(&self) -> Result<(), InvalidSettings> {
        if self.identity.is_empty() {
            return Err(InvalidSettings::NoIdentity);
        }
        if self.retry_period.is_zero() {
            return Err(InvalidSettings::NoRetryPeriod);
        }
        if self.lease_duration > LEASE_DURATION_MAX {
            return Err(InvalidSettings::LeaseTooLong);
        }
        if self.lease_duration <= self.renew_deadline {
            return Err(InvalidSettings::LeaseTooShort {
                lease_duration: self.lease_duration,
                renew_deadline: self.renew_deadline,
            });
        }
        let shortest = self.retry_period.as_secs_f64() * RETRIES_BEFORE_DEADLINE;
        if self.renew_deadline.as_secs_f64() <= shortest {
            return Err(InvalidSettings::DeadlineTooShort {
                renew_deadline: self.renew_deadline,
                retry_period: self.retry_period,
            });
        }
        Ok(())
    }

    /// The lease duration in whole seconds, rounded up.
    pub(super) fn lease_seconds(&self) -> i32 {
        let fraction = u64::from(self.lease_duration.subsec_nanos() > 0);
        i32::try_from(self.lease_duration.as_secs() + fraction).unwrap_or(i32::MAX)
    }

    /// A pause that candidates do not share, so that they do not all ask at the same moment.
    pub(super) fn pause(&mut self) -> Duration {
        let stretch = 1.0 + (RETRY_STRETCH_MAX - 1.0) * self.random.f64();
        self.retry_period.mul_f64(stretch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(lease: u64, renew: u64, retry: u64) -> ElectionSettings {
        ElectionSettings {
            lease_duration: Duration::from_millis(lease),
            renew_deadline: Duration::from_millis(renew),
            retry_period: Duration::from_millis(retry),
            ..ElectionSettings::new("me")
        }
    }

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(ElectionSettings::new("me").validate(), Ok(()));
        assert_eq!(ElectionSettings::new("me").lease_seconds(), 15);
    }

    #[test]
    fn a_candidate_needs_a_name() {
        let refused = ElectionSettings::new("").validate();
        assert_eq!(refused, Err(InvalidSettings::NoIdentity));
    }

    #[test]
    fn the_lease_outlasts_the_deadline_and_the_deadline_a_failed_renewal() {
        use InvalidSettings::{DeadlineTooShort, LeaseTooLong, LeaseTooShort, NoRetryPeriod};
        assert_eq!(settings(1001, 1000, 833).validate(), Ok(()));
        let refused = |lease, renew, retry| settings(lease, renew, retry).validate().unwrap_err();
        assert!(matches!(refused(1000, 1000, 100), LeaseTooShort { .. }));
        assert!(matches!(refused(2000, 1200, 1000), DeadlineTooShort { .. }));
        assert!(matches!(refused(0, 0, 100), LeaseTooShort { .. }));
        assert_eq!(refused(2000, 1200, 0), NoRetryPeriod);
        assert_eq!(refused(u64::MAX, 1200, 100), LeaseTooLong);
        assert!(matches!(
            refused(2000, 1200, u64::MAX),
            DeadlineTooShort { .. }
        ));
    }

    #[test]
    fn the_lease_is_written_in_whole_seconds_and_never_shorter_than_meant() {
        assert_eq!(settings(1001, 1000, 1).lease_seconds(), 2);
        assert_eq!(settings(2000, 1000, 1).lease_seconds(), 2);
    }

    #[test]
    fn a_pause_is_one_to_two_point_two_retry_periods() {
        let mut settings = settings(5000, 3000, 1000);
        settings.random = fastrand::Rng::with_seed(7);
        let pauses: Vec<_> = (0..1000).map(|_| settings.pause().as_millis()).collect();
        assert!(pauses.iter().all(|pause| (1000..=2200).contains(pause)));
        assert!(pauses.iter().any(|pause| *pause < 1100));
        assert!(pauses.iter().any(|pause| *pause > 2100));
    }
}
