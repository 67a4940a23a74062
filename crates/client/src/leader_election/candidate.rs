//! What a candidate knows of the lease, and what that lets it do. Pure: it asks nobody anything.

use std::time::Duration;

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use tokio::time::Instant;

use super::Loss;

/// How long a released lease lasts on paper: nobody waits for it, since nobody holds it.
const RELEASED_SECONDS: i32 = 1;

/// One candidate's view of the lease.
///
/// A lease that another holds ends `lease duration` after *we* first saw its present state. The
/// times written in it are never compared with our clock, so clocks that disagree do no harm.
pub(super) struct Candidate {
    identity: String,
    lease_seconds: i32,
    name: String,
    observed: Option<Observed>,
}

struct Observed {
    lease: Lease,
    record: Record,
    /// When the record was first seen as it is.
    since: Instant,
}

/// What a lease says about its holder.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    pub(super) holder: Option<String>,
    pub(super) lease_seconds: i32,
    pub(super) acquired: Option<MicroTime>,
    pub(super) renewed: Option<MicroTime>,
    pub(super) transitions: i32,
}

/// What to do in order to lead.
#[derive(Debug, PartialEq)]
pub(super) enum Bid {
    /// There is no lease: make one.
    Create(Box<Lease>),
    /// Nobody holds the lease, or nobody does any more, or we do: write this over it.
    Replace(Box<Lease>),
    /// Another holds it, at least until then.
    Wait { holder: String, until: Instant },
}

impl Candidate {
    pub(super) fn new(name: String, identity: String, lease_seconds: i32) -> Self {
        Self {
            identity,
            lease_seconds,
            name,
            observed: None,
        }
    }

    /// Takes note of the lease as the server has it, or of its absence.
    pub(super) fn observe(&mut self, lease: Option<Lease>, now: Instant) {
        self.observed = lease.map(|lease| {
            let record = Record::of(&lease);
            let before = self.observed.take();
            let unchanged = before.filter(|before| before.record == record);
            Observed {
                since: unchanged.map_or(now, |before| before.since),
                lease,
                record,
            }
        });
    }

    /// Who leads, as far as we have seen.
    pub(super) fn leader(&self) -> Option<&str> {
        self.observed.as_ref()?.record.holder.as_deref()
    }

    /// The version of the lease as last seen.
    pub(super) fn resource_version(&self) -> Option<&str> {
        let metadata = &self.observed.as_ref()?.lease.metadata;
        metadata.resource_version.as_deref()
    }

    /// How to win, from what was observed.
    pub(super) fn bid(&self, now: Instant, wall: MicroTime) -> Bid {
        let Some(observed) = &self.observed else {
            let mut lease = Lease::default();
            lease.metadata.name = Some(self.name.clone());
            self.won(wall, 0).write_to(&mut lease);
            return Bid::Create(Box::new(lease));
        };
        let record = &observed.record;
        let transitions = match &record.holder {
            Some(holder) if *holder == self.identity => record.transitions,
            Some(holder) if now < observed.ends() => {
                return Bid::Wait {
                    holder: holder.clone(),
                    until: observed.ends(),
                };
            }
            Some(_) | None => record.transitions.saturating_add(1),
        };
        Bid::Replace(observed.with(&self.won(wall, transitions)))
    }

    /// Whether the lease is still what we won at `acquired`. Another with our name would have
    /// won it at another time.
    pub(super) fn still_ours(&self, acquired: &MicroTime) -> Result<(), Loss> {
        let Some(Observed { record, .. }) = &self.observed else {
            return Err(Loss::Removed);
        };
        match &record.holder {
            None => Err(Loss::Removed),
            Some(holder)
                if *holder != self.identity || record.acquired.as_ref() != Some(acquired) =>
            {
                Err(Loss::Taken {
                    holder: holder.clone(),
                })
            }
            Some(_) => Ok(()),
        }
    }

    /// The lease as last seen, renewed; `None` if there was none.
    pub(super) fn renewal(&self, wall: MicroTime) -> Option<Box<Lease>> {
        let observed = self.observed.as_ref()?;
        Some(observed.with(&Record {
            lease_seconds: self.lease_seconds,
            renewed: Some(wall),
            ..observed.record.clone()
        }))
    }

    /// The lease as last seen, given back; `None` if there was none.
    pub(super) fn release(&self, wall: MicroTime) -> Option<Box<Lease>> {
        let observed = self.observed.as_ref()?;
        Some(observed.with(&Record {
            holder: None,
            lease_seconds: RELEASED_SECONDS,
            acquired: Some(wall.clone()),
            renewed: Some(wall),
            transitions: observed.record.transitions,
        }))
    }

    fn won(&self, wall: MicroTime, transitions: i32) -> Record {
        Record {
            holder: Some(self.identity.clone()),
            lease_seconds: self.lease_seconds,
            acquired: Some(wall.clone()),
            renewed: Some(wall),
            transitions,
        }
    }
}

impl Observed {
    fn ends(&self) -> Instant {
        let seconds = u64::try_from(self.record.lease_seconds).unwrap_or(0);
        self.since + Duration::from_secs(seconds)
    }

    /// The lease with another record; all that others wrote into it stays, and so does the
    /// resourceVersion, which lets the server refuse it if somebody was faster.
    fn with(&self, record: &Record) -> Box<Lease> {
        let mut lease = self.lease.clone();
        record.write_to(&mut lease);
        Box::new(lease)
    }
}

impl Record {
    pub(super) fn of(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        Self {
            holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
            lease_seconds: spec.lease_duration_seconds.unwrap_or(0),
            acquired: spec.acquire_time,
            renewed: spec.renew_time,
            transitions: spec.lease_transitions.unwrap_or(0),
        }
    }

    pub(super) fn write_to(&self, lease: &mut Lease) {
        let spec: &mut LeaseSpec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(self.holder.clone().unwrap_or_default());
        spec.lease_duration_seconds = Some(self.lease_seconds);
        spec.acquire_time = self.acquired.clone();
        spec.renew_time = self.renewed.clone();
        spec.lease_transitions = Some(self.transitions);
    }
}

#[cfg(test)]
mod tests;
