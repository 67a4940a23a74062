//! Hears that the lease has become free, so that nobody has to wait for the next look at it.
//!
//! It only ends a pause early. What is done then depends on a look, as after any pause.

use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api,
    api::{WatchEvent, WatchParams},
};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Handover, candidate::Record};

type Events = Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<Lease>>> + Send>>;

/// A watch on one lease, kept from pause to pause.
pub(super) struct Vacancy {
    leases: Api<Lease>,
    name: String,
    watch: Watch,
}

enum Watch {
    Open(Events),
    Closed,
    /// Not wanted, or not allowed.
    Never,
}

impl Vacancy {
    pub(super) fn new(leases: Api<Lease>, name: String, handover: Handover) -> Self {
        let watch = match handover {
            Handover::Watched => Watch::Closed,
            Handover::Polled => Watch::Never,
        };
        Self {
            leases,
            name,
            watch,
        }
    }

    /// Waits until then, or until the lease has become free after `version`.
    pub(super) async fn wait(&mut self, deadline: Instant, version: Option<&str>) {
        // A pause that ends while the watch begins is over all the same.
        let _ = timeout_at(deadline, self.open(version)).await;
        let Watch::Open(events) = &mut self.watch else {
            sleep_until(deadline).await;
            return;
        };
        loop {
            match timeout_at(deadline, events.next()).await {
                Ok(Some(Ok(event))) if frees(&event) => return,
                Ok(Some(Ok(
                    WatchEvent::Added(_) | WatchEvent::Modified(_) | WatchEvent::Bookmark(_),
                ))) => {}
                Ok(Some(Ok(WatchEvent::Deleted(_) | WatchEvent::Error(_)) | Err(_)) | None) => {
                    self.close();
                    sleep_until(deadline).await;
                    return;
                }
                Err(_) => return,
            }
        }
    }

    /// Nobody waits any more.
    pub(super) fn close(&mut self) {
        if let Watch::Open(_) = self.watch {
            self.watch = Watch::Closed;
        }
    }

    async fn open(&mut self, version: Option<&str>) {
        let (Watch::Closed, Some(version)) = (&self.watch, version) else {
            return;
        };
        let only_this = format!("metadata.name={}", self.name);
        let options = WatchParams::default().fields(&only_this);
        self.watch = match self.leases.watch(&options, version).await {
            Ok(events) => Watch::Open(Box::pin(events)),
            Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403) => {
                tracing::debug!(lease = self.name, "not allowed to watch, so it is polled");
                Watch::Never
            }
            Err(error) => {
                tracing::debug!(%error, lease = self.name, "cannot watch now");
                Watch::Closed
            }
        };
    }
}

fn frees(event: &WatchEvent<Lease>) -> bool {
    match event {
        WatchEvent::Added(lease) | WatchEvent::Modified(lease) => {
            Record::of(lease).holder.is_none()
        }
        WatchEvent::Deleted(_) => true,
        WatchEvent::Bookmark(_) | WatchEvent::Error(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modified(holder: &str) -> WatchEvent<Lease> {
        let mut lease = Lease::default();
        lease.spec.get_or_insert_default().holder_identity = Some(holder.to_owned());
        WatchEvent::Modified(lease)
    }

    #[test]
    fn a_lease_is_free_when_nobody_holds_it_or_it_is_gone() {
        assert!(frees(&modified("")));
        assert!(!frees(&modified("a")));
        assert!(frees(&WatchEvent::Deleted(Lease::default())));
    }
}
