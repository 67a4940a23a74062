//! How long internal errors of a watch are borne before everything is fetched again.

use std::time::Duration;

use tokio::time::Instant;

use super::phase::Next;

/// After so long without an internal error, patience begins anew.
const RESTORED_AFTER: Duration = Duration::from_secs(60);

/// Runs out when internal errors follow each other for too long.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    errors: Option<Errors>,
}

/// Errors that follow each other.
#[derive(Debug)]
struct Errors {
    first: Instant,
    last: Instant,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            errors: None,
        }
    }

    /// Another watch while patience lasts, then a fill.
    pub(super) fn after_internal_error(&mut self) -> Next {
        let now = Instant::now();
        let before = self.errors.take();
        let recent = before.filter(|errors| now - errors.last < RESTORED_AFTER);
        let first = recent.map_or(now, |errors| errors.first);
        if self.limit.is_zero() || now - first > self.limit {
            return Next::Filling;
        }
        self.errors = Some(Errors { first, last: now });
        Next::Connecting
    }
}
