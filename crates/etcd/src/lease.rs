//! Keys that go away by themselves unless somebody keeps them alive.

use std::time::Duration;

use bytes::Bytes;

use crate::{Client, Error, client::Repeat, wire};

const GRANT: &str = "/etcdserverpb.Lease/LeaseGrant";
const REVOKE: &str = "/etcdserverpb.Lease/LeaseRevoke";
const TIME_TO_LIVE: &str = "/etcdserverpb.Lease/LeaseTimeToLive";
const KEEP_ALIVE: &str = "/etcdserverpb.Lease/LeaseKeepAlive";

/// Names a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseId(i64);

/// A lease as etcd granted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its name.
    pub id: LeaseId,
    /// How long it lasts when nobody keeps it alive; etcd may have chosen more than was asked.
    pub time_to_live: Duration,
}

impl LeaseId {
    /// The lease with this number; `None` for 0, which stands for no lease.
    pub fn new(number: i64) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }

    /// The number.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl Client {
    /// Makes a lease that lasts this long, counted in whole seconds and rounded up.
    pub async fn grant_lease(&self, time_to_live: Duration) -> Result<Lease, Error> {
        let question = wire::LeaseGrantRequest {
            ttl: whole_seconds(time_to_live),
        };
        // A lease too many expires by itself.
        let answer: wire::LeaseGrantResponse = self.call(GRANT, question, Repeat::Harmless).await?;
        Ok(Lease {
            id: LeaseId::new(answer.id).ok_or_else(|| Error::missing("the lease's number"))?,
            time_to_live: Duration::from_secs(answer.ttl),
        })
    }

    /// Lets a lease begin anew, and tells how long it lasts from now.
    pub async fn keep_lease_alive(&self, lease: LeaseId) -> Result<Duration, Error> {
        let question = wire::LeaseRequest { id: lease.get() };
        let answer: wire::LeaseKeepAliveResponse = self.exchange(KEEP_ALIVE, question).await?;
        match u64::try_from(answer.ttl) {
            Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds)),
            Ok(0) | Err(_) => Err(Error::LeaseNotFound),
        }
    }

    /// The keys that live by a lease.
    pub async fn lease_keys(&self, lease: LeaseId) -> Result<Vec<Bytes>, Error> {
        let question = wire::LeaseTimeToLiveRequest {
            id: lease.get(),
            keys: true,
        };
        let answer: wire::LeaseTimeToLiveResponse =
            self.call(TIME_TO_LIVE, question, Repeat::Harmless).await?;
        match answer.ttl {
            ..0 => Err(Error::LeaseNotFound),
            0.. => Ok(answer.keys),
        }
    }

    /// Ends a lease: all keys that live by it go away at one revision.
    pub async fn revoke_lease(&self, lease: LeaseId) -> Result<(), Error> {
        let question = wire::LeaseRequest { id: lease.get() };
        let answer: Result<wire::HeaderResponse, Error> =
            self.call(REVOKE, question, Repeat::OnlyIfUnsent).await;
        answer.map(drop)
    }
}

fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_never_lasts_less_than_was_asked() {
        assert_eq!(whole_seconds(Duration::from_millis(1)), 1);
        assert_eq!(whole_seconds(Duration::from_secs(5)), 5);
        assert_eq!(whole_seconds(Duration::from_millis(5001)), 6);
    }
}
