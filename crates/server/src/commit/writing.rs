//! One write under way: what it starts from, tried until it is the one that was applied.
//!
//! Whoever writes decides between two tries what is to follow, in as many steps and with as much
//! waiting as that takes. What is written alongside an object is written with it or not at all.

use listwatch_api::{
    Status,
    object::{Draft, StoredObject},
};
use listwatch_store::{
    Commit, CommitError, Condition, Entry, Key, Operation, Requirement, Revision, Store, Write,
};
use tokio::time::{Instant, timeout_at};

use super::{
    Changed, Destination, Outcome, Stored, Trust, WRITE_TIMEOUT, commit_failed, read_failed,
};
use crate::admission::Home;

/// What a change makes of what is stored.
#[derive(Debug)]
pub(crate) enum Next {
    /// This object.
    Put(Draft),
    /// Nothing: it is removed. The object is what the client is told.
    Remove(Draft),
    /// Nothing: a value that nobody can read is removed.
    Discard,
    /// It stays as it is.
    Keep,
}

/// What is to follow, and what is written with it.
#[derive(Debug)]
pub(crate) struct Proposal {
    /// What becomes of the object.
    pub next: Next,
    /// Writes to other keys: done together with that of the object, or not at all.
    pub alongside: Vec<Operation>,
}

impl From<Next> for Proposal {
    fn from(next: Next) -> Self {
        Self {
            next,
            alongside: Vec::new(),
        }
    }
}

/// What came of a try.
#[derive(Debug)]
pub(crate) enum Settled {
    /// It is done.
    Done(Changed),
    /// What is stored has changed meanwhile. It has to be decided again.
    Again,
    /// This key, which was to be written alongside, is not as it was thought to be. It has to be
    /// decided again.
    Elsewhere(Key),
}

/// A write under way.
pub(crate) struct Writing<'a> {
    store: &'a dyn Store,
    destination: &'a Destination,
    deadline: Instant,
    stored: Stored,
    trust: Trust,
}

impl<'a> Writing<'a> {
    pub(super) fn new(
        store: &'a dyn Store,
        destination: &'a Destination,
        (stored, trust): (Stored, Trust),
    ) -> Self {
        Self {
            store,
            destination,
            deadline: Instant::now() + WRITE_TIMEOUT,
            stored,
            trust,
        }
    }

    /// What is stored, as far as is known.
    pub(crate) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Makes `proposal` follow what is stored, if that is still what was looked at. Nothing is
    /// refused, and nothing left as it is, on the word of the cache alone. What is created is
    /// created in its home, if its kind has one.
    pub(crate) async fn settle(
        &mut self,
        home: Option<&Home<'_>>,
        proposal: Result<Proposal, Status>,
    ) -> Result<Settled, Status> {
        let plan = proposal.map(|proposal| self.plan(proposal));
        let is_proven_by_commit =
            matches!(plan, Ok(Plan::Write(_))) && self.destination.is_durable();
        if self.trust == Trust::Stale && !is_proven_by_commit {
            let fresh = self.read().await?;
            self.trust = Trust::Fresh;
            if fresh.revision() != self.stored.revision() {
                self.stored = fresh;
                return Ok(Settled::Again);
            }
        }
        match plan? {
            Plan::Keep(changed) => Ok(Settled::Done(changed)),
            Plan::Write(planned) => self.attempt(home, planned).await,
        }
    }

    async fn read(&self) -> Result<Stored, Status> {
        let Destination { cache, key, .. } = self.destination;
        super::read(self.store, cache, key)
            .await
            .map_err(|error| read_failed(&error))
    }

    /// What has to be written so that `next` follows what is stored.
    fn plan(&self, Proposal { next, alongside }: Proposal) -> Plan {
        let current = match &self.stored {
            Stored::Object(current) => Some(current),
            Stored::Absent | Stored::Unreadable(_) => None,
        };
        let write = |write, object, outcome| {
            Plan::Write(Planned {
                write,
                object,
                outcome,
                alongside,
            })
        };
        match (next, current) {
            (Next::Keep, Some(current)) => Plan::Keep(current.unchanged()),
            (Next::Keep, None) => unreachable!("a change that keeps nothing is refused earlier"),
            (Next::Remove(object), _) => write(Write::Delete, object.encode(), Outcome::Removed),
            (Next::Discard, _) => {
                let nothing = Draft::default().encode();
                write(Write::Delete, nothing, Outcome::Discarded)
            }
            (Next::Put(object), current) => {
                let object = object.encode();
                let outcome = match current {
                    Some(current) if current.is_stored_as(object.value()) => {
                        return Plan::Keep(current.unchanged());
                    }
                    Some(_) => Outcome::Updated,
                    None => Outcome::Created,
                };
                let put = self.destination.put(object.value().clone());
                write(put, object, outcome)
            }
        }
    }

    async fn attempt(
        &mut self,
        home: Option<&Home<'_>>,
        planned: Planned,
    ) -> Result<Settled, Status> {
        let revision = self.stored.revision();
        let outcome = planned.outcome;
        let object = planned.object.clone();
        let done = |revision| {
            Settled::Done(Changed {
                object,
                revision,
                outcome,
            })
        };
        if !self.destination.is_durable() {
            return Ok(done(revision));
        }
        match self.commit_at(home, planned).await {
            Ok(_) if matches!(outcome, Outcome::Removed | Outcome::Discarded) => Ok(done(revision)),
            Ok(written) => Ok(done(Some(written))),
            Err(Uncommitted::Conflict { key, .. }) if key != self.destination.key => {
                Ok(Settled::Elsewhere(key))
            }
            Err(Uncommitted::Conflict { current, .. }) => {
                self.stored = Stored::decode(&self.destination.cache, current);
                self.trust = Trust::Fresh;
                Ok(Settled::Again)
            }
            Err(Uncommitted::Failed(status)) => Err(status),
        }
    }

    /// Commits; what is created as long as its home is fit to live in, whatever else changes.
    async fn commit_at(
        &self,
        home: Option<&Home<'_>>,
        planned: Planned,
    ) -> Result<Revision, Uncommitted> {
        let revision = self.stored.revision();
        let condition = revision.map_or(Condition::Absent, Condition::Unchanged);
        let key = &self.destination.key;
        let home = match planned.outcome {
            Outcome::Created => home,
            _ => None,
        };
        let Some(home) = home else {
            return self
                .commit(planned.commit(key, condition, Vec::new()))
                .await;
        };
        let mut seen = home.seen();
        loop {
            let requirement = Requirement {
                key: home.key().clone(),
                condition: Condition::Unchanged(seen),
            };
            let commit = planned.commit(key, condition, vec![requirement]);
            match self.commit(commit).await {
                Err(Uncommitted::Conflict { key, current }) if key == *home.key() => {
                    seen = home.judge_entry(current).map_err(Uncommitted::Failed)?;
                }
                committed => return committed,
            }
        }
    }

    async fn commit(&self, commit: Commit) -> Result<Revision, Uncommitted> {
        let committed = timeout_at(self.deadline, self.store.commit(commit)).await;
        match committed.unwrap_or_else(|_| Err(too_slow())) {
            Ok(written) => Ok(written),
            Err(CommitError::Conflict { key, current }) => {
                Err(Uncommitted::Conflict { key, current })
            }
            Err(error) => Err(Uncommitted::Failed(commit_failed(&error))),
        }
    }
}

/// What a change comes down to.
enum Plan {
    /// All is well as it is.
    Keep(Changed),
    /// This is to be written, and told.
    Write(Planned),
}

struct Planned {
    write: Write,
    object: StoredObject,
    outcome: Outcome,
    alongside: Vec<Operation>,
}

impl Planned {
    fn commit(&self, key: &Key, condition: Condition, requirements: Vec<Requirement>) -> Commit {
        let mut operations = Vec::with_capacity(1 + self.alongside.len());
        operations.push(Operation {
            key: key.clone(),
            condition,
            write: self.write.clone(),
        });
        operations.extend(self.alongside.iter().cloned());
        Commit {
            operations,
            requirements,
        }
    }
}

/// Why an attempt wrote nothing.
enum Uncommitted {
    /// A condition did not hold of this key, under which stands this.
    Conflict {
        key: Key,
        current: Option<Entry>,
    },
    Failed(Status),
}

fn too_slow() -> CommitError {
    CommitError::Unknown {
        reason: format!("nothing came within {WRITE_TIMEOUT:?}"),
    }
}
