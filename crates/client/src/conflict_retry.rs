//! Read, change, write, and once more if somebody else wrote in between.

use std::time::Duration;

/// How often to try, and how long to pause between two tries.
#[derive(Clone, Debug)]
pub struct RetryPauses {
    /// Tries in all, the first one included. At the bound the last conflict is returned.
    pub attempts_max: u32,
    /// The pause after the first try.
    pub first: Duration,
    /// How much longer each pause is than the one before.
    pub factor: f64,
    /// By how much of itself a pause may be longer, by chance.
    pub jitter: f64,
    /// Where chance comes from.
    pub random: fastrand::Rng,
}

/// An error that may say: somebody else wrote first, so read again.
pub trait Conflict {
    /// Whether this is what it says.
    fn is_conflict(&self) -> bool;
}

impl RetryPauses {
    /// Five tries, 10 ms apart: for an object that another program writes now and then.
    pub fn even() -> Self {
        Self {
            attempts_max: 5,
            first: Duration::from_millis(10),
            factor: 1.0,
            jitter: 0.1,
            random: fastrand::Rng::new(),
        }
    }

    /// Four tries, 10, 50 and 250 ms apart: for an object that many programs write all the time.
    pub fn growing() -> Self {
        Self {
            attempts_max: 4,
            factor: 5.0,
            ..Self::even()
        }
    }

    fn pause(&mut self, attempts: u32) -> Duration {
        let exponent = i32::try_from(attempts - 1).unwrap_or(i32::MAX);
        let stretch = self.factor.powi(exponent) * (1.0 + self.jitter * self.random.f64());
        let pause = Duration::try_from_secs_f64(self.first.as_secs_f64() * stretch);
        pause.unwrap_or(Duration::MAX)
    }
}

/// Runs `operation` until it ends with anything but a conflict, or the tries are used up: then the
/// last conflict is returned.
///
/// The operation must read the object anew each time: writing the same thing again meets the same
/// conflict again.
///
/// ```
/// # use listwatch::conflict_retry::{Conflict, RetryPauses, retry_on_conflict};
/// # #[derive(Debug)] struct Taken;
/// # impl Conflict for Taken { fn is_conflict(&self) -> bool { true } }
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let mut version = 6;
/// let written = retry_on_conflict(RetryPauses::even(), || {
///     version += 1; // stands for reading the object anew
///     async move { if version < 8 { Err(Taken) } else { Ok(version) } }
/// });
/// assert_eq!(written.await.unwrap(), 8);
/// # });
/// ```
pub async fn retry_on_conflict<T, E, F>(
    mut pauses: RetryPauses,
    mut operation: impl FnMut() -> F,
) -> Result<T, E>
where
    E: Conflict,
    F: Future<Output = Result<T, E>>,
{
    let mut attempts = 1;
    loop {
        match operation().await {
            Err(error) if error.is_conflict() && attempts < pauses.attempts_max => {
                tokio::time::sleep(pauses.pause(attempts)).await;
                attempts += 1;
            }
            outcome => return outcome,
        }
    }
}

#[cfg(feature = "kubernetes")]
impl Conflict for kube::Error {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Api(status) if status.is_conflict())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    enum Failure {
        Conflict(u32),
        Broken,
    }

    impl Conflict for Failure {
        fn is_conflict(&self) -> bool {
            matches!(self, Self::Conflict(_))
        }
    }

    fn exact(pauses: RetryPauses) -> RetryPauses {
        RetryPauses {
            jitter: 0.0,
            ..pauses
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_conflict_is_returned_when_the_tries_are_used_up() {
        for (pauses, tries, pause) in [
            (RetryPauses::even(), 5, 40),
            (RetryPauses::growing(), 4, 310),
        ] {
            let began = Instant::now();
            let mut count = 0;
            let outcome: Result<(), _> = retry_on_conflict(exact(pauses), || {
                count += 1;
                std::future::ready(Err(Failure::Conflict(count)))
            })
            .await;
            assert_eq!(outcome, Err(Failure::Conflict(tries)));
            assert_eq!(began.elapsed(), Duration::from_millis(pause));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_conflict_is_tried_again_and_anything_else_is_returned_at_once() {
        let mut outcomes = vec![Err(Failure::Broken), Ok(7), Err(Failure::Conflict(1))];
        let mut next = || std::future::ready(outcomes.pop().unwrap());
        assert_eq!(
            retry_on_conflict(RetryPauses::even(), &mut next).await,
            Ok(7)
        );
        assert_eq!(
            retry_on_conflict(RetryPauses::even(), &mut next).await,
            Err(Failure::Broken)
        );
        assert!(outcomes.is_empty());
    }

    #[test]
    fn a_pause_is_stretched_by_its_jitter_at_most() {
        let mut pauses = RetryPauses {
            random: fastrand::Rng::with_seed(1),
            ..RetryPauses::growing()
        };
        for _ in 0..100 {
            let pause = pauses.pause(2);
            assert!((50..=55).contains(&pause.as_millis()), "{pause:?}");
        }
    }

    #[cfg(feature = "kubernetes")]
    #[test]
    fn the_api_servers_conflict_is_one_and_an_existing_name_is_not() {
        let error = |reason| {
            let status = kube::core::Status::failure("no", reason).with_code(409);
            kube::Error::Api(status.boxed())
        };
        assert!(error("Conflict").is_conflict());
        assert!(!error("AlreadyExists").is_conflict());
    }
}
