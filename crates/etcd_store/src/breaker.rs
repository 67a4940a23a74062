//! Keeps requests from waiting for a cluster that is known to be gone.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Failures in a row after which the cluster counts as gone.
const FAILURES_MAX: u32 = 3;
/// While it is gone, one request in this time is let through to find out.
const TRIAL_INTERVAL: Duration = Duration::from_millis(250);

/// Lets requests pass while they succeed.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
enum State {
    /// The last request was answered.
    #[default]
    Well,
    /// The last ones failed.
    Failing { times: u32 },
    /// So many failed that only one now and then is tried.
    Gone { reason: String, next_trial: Instant },
}

impl Breaker {
    /// Whether a request may be sent now; if not, why the last one failed.
    pub(crate) fn pass(&self) -> Result<(), String> {
        match &mut *self.state.lock() {
            State::Gone { reason, next_trial } => {
                let now = Instant::now();
                if now < *next_trial {
                    return Err(reason.clone());
                }
                *next_trial = now + TRIAL_INTERVAL;
                Ok(())
            }
            State::Well | State::Failing { .. } => Ok(()),
        }
    }

    /// A request was answered, in whatever way.
    pub(crate) fn answered(&self) {
        let mut state = self.state.lock();
        if let State::Gone { .. } = *state {
            tracing::info!("etcd answers again");
        }
        *state = State::Well;
    }

    /// A request got no answer.
    pub(crate) fn failed(&self, reason: String) {
        let mut state = self.state.lock();
        let times = match *state {
            State::Well => 1,
            State::Failing { times } => times + 1,
            State::Gone { .. } => FAILURES_MAX,
        };
        if times < FAILURES_MAX {
            *state = State::Failing { times };
            return;
        }
        if !matches!(*state, State::Gone { .. }) {
            tracing::warn!(
                reason,
                "etcd does not answer; requests that need it are refused"
            );
        }
        let next_trial = Instant::now() + TRIAL_INTERVAL;
        *state = State::Gone { reason, next_trial };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone() -> Breaker {
        let breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            assert_eq!(breaker.pass(), Ok(()));
            breaker.failed("nobody there".to_owned());
        }
        breaker
    }

    #[tokio::test(start_paused = true)]
    async fn after_failures_in_a_row_one_request_at_a_time_finds_out() {
        let breaker = gone();
        assert_eq!(breaker.pass(), Err("nobody there".to_owned()));
        tokio::time::advance(TRIAL_INTERVAL).await;
        assert_eq!(breaker.pass(), Ok(()));
        assert!(breaker.pass().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn one_answer_ends_it() {
        let breaker = gone();
        breaker.answered();
        assert_eq!(breaker.pass(), Ok(()));
        breaker.failed("once".to_owned());
        assert_eq!(breaker.pass(), Ok(()));
    }
}
