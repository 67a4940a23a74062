//! The time, as finely as most fields have it.

use std::time::Duration;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{MicroTime, Time},
    jiff::Timestamp,
};

/// The second in which something happens.
pub(crate) fn second(now: &MicroTime) -> Time {
    let second = Timestamp::from_second(now.0.as_second());
    Time(second.expect("whole seconds stay in range"))
}

/// How long it is until so many seconds after a time; `None` once they have passed.
pub(crate) fn left(since: &Time, seconds: i64, now: &MicroTime) -> Option<Duration> {
    let end = since.0.as_second().saturating_add(seconds);
    let left = end.saturating_mul(1000) - now.0.as_millisecond();
    let left = u64::try_from(left).ok().filter(|left| *left > 0)?;
    Some(Duration::from_millis(left))
}
