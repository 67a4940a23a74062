//! Notices work that goes on after its leadership has ended.

use std::{collections::BTreeMap, time::Duration};

use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

use super::FencingToken;

/// The leaderships that somebody still has in hand, and when the lease of each runs out.
#[derive(Debug, Default)]
pub(super) struct Acting(Mutex<BTreeMap<FencingToken, Instant>>);

/// Somebody acts as leader although the lease has run out: the process should be restarted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("acting as leader {overdue:?} after the lease with token {token} ran out")]
pub struct Overdue {
    /// The leadership that should have ended.
    pub token: FencingToken,
    /// How long ago it should have.
    pub overdue: Duration,
}

impl Acting {
    /// A leadership began.
    pub(super) fn until(&self, token: FencingToken, lease_end: Instant) {
        self.0.lock().insert(token, lease_end);
    }

    /// The lease was renewed; whoever has dropped the leadership meanwhile stays forgotten.
    pub(super) fn renewed(&self, token: FencingToken, lease_end: Instant) {
        if let Some(known) = self.0.lock().get_mut(&token) {
            *known = lease_end;
        }
    }

    /// Nobody has the leadership in hand any more.
    pub(super) fn over(&self, token: FencingToken) {
        self.0.lock().remove(&token);
    }

    pub(super) fn check(&self, now: Instant, tolerance: Duration) -> Result<(), Overdue> {
        let acting = self.0.lock();
        let late = |(token, lease_end): (&FencingToken, &Instant)| Overdue {
            token: *token,
            overdue: now.saturating_duration_since(*lease_end),
        };
        match acting
            .iter()
            .map(late)
            .find(|late| late.overdue > tolerance)
        {
            Some(late) => Err(late),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: FencingToken = FencingToken::new(7);

    #[tokio::test(start_paused = true)]
    async fn who_acts_long_after_the_lease_ran_out_is_unhealthy() {
        let acting = Acting::default();
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        let check = |seconds| acting.check(after(seconds), Duration::from_secs(20));
        assert_eq!(check(1000), Ok(()));
        acting.until(TOKEN, after(10));
        assert_eq!(check(30), Ok(()));
        let overdue = Overdue {
            token: TOKEN,
            overdue: Duration::from_secs(21),
        };
        assert_eq!(check(31), Err(overdue));
        acting.renewed(TOKEN, after(20));
        assert_eq!(check(31), Ok(()));
        acting.over(TOKEN);
        acting.renewed(TOKEN, after(20));
        assert_eq!(check(1000), Ok(()));
    }
}
