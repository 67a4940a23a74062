//! A commit is one transaction, compared on the revisions that last wrote its keys.

use bytes::Bytes;
use listwatch_etcd::{
    self as etcd, Delete, Error, KeyRange, LeaseId, OperationAnswer, Outcome, Range, Transaction,
    TransactionAnswer,
};
use listwatch_store::{Commit, CommitError, Condition, Entry, Key, Revision, Write};

use crate::{
    cluster::{Cluster, NUMBER_MAX},
    failure::commit_error,
    leases::Leases,
    read::entry,
};

/// What a commit needs.
pub(crate) struct Committing<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) leases: &'a Leases,
}

impl Committing<'_> {
    /// Carries out a valid commit.
    pub(crate) async fn commit(&self, commit: Commit) -> Result<Revision, CommitError> {
        loop {
            let transaction = self.transaction(&commit).await?;
            let leases = leases_of(&transaction);
            let request = self.cluster.client.transact(transaction);
            match self.cluster.ask(request).await {
                Ok(answer) => return self.judge(&commit, &answer),
                // The lease ended since it was granted; a new one is asked for.
                Err(Error::LeaseNotFound) if !leases.is_empty() => {
                    self.leases.forget(&leases).await;
                }
                Err(error) => return Err(commit_error(error)),
            }
        }
    }

    async fn transaction(&self, commit: &Commit) -> Result<Transaction, CommitError> {
        let mut transaction = Transaction::default();
        for (key, condition) in commit.conditions() {
            let key = self.place(key)?;
            if let Some(condition) = self.condition(&key, condition) {
                transaction.when.push(condition);
                let range = Range::new(KeyRange::one(key));
                transaction.otherwise.push(etcd::Operation::Range(range));
            }
        }
        for operation in &commit.operations {
            let key = self.place(&operation.key)?;
            let write = self.write(key, &operation.write).await?;
            transaction.then.push(write);
        }
        Ok(transaction)
    }

    fn place(&self, key: &Key) -> Result<Bytes, CommitError> {
        let place = self.cluster.mount.stored(key.as_bytes());
        place.ok_or_else(|| CommitError::Invalid {
            reason: format!("{key:?} has no place in etcd"),
        })
    }

    fn condition(&self, key: &Bytes, condition: Condition) -> Option<etcd::Condition> {
        match condition {
            Condition::Any => None,
            Condition::Absent => Some(etcd::Condition::absent(key.clone())),
            Condition::Unchanged(revision) => Some(match self.cluster.number(revision) {
                Some(number) => etcd::Condition::unchanged(key.clone(), number),
                // Nothing here was written then: a condition that never holds.
                None => etcd::Condition::unchanged(key.clone(), NUMBER_MAX),
            }),
        }
    }

    async fn write(&self, key: Bytes, write: &Write) -> Result<etcd::Operation, CommitError> {
        let put = match write {
            Write::Delete => return Ok(etcd::Operation::Delete(Delete::new(KeyRange::one(key)))),
            Write::Put(put) => put,
        };
        let lease = match put.lifetime {
            Some(lifetime) => Some(self.leases.lease(lifetime).await.map_err(ungranted)?),
            None => None,
        };
        Ok(etcd::Operation::Put(etcd::Put {
            lease,
            ..etcd::Put::new(key, put.value.clone())
        }))
    }

    fn judge(&self, commit: &Commit, answer: &TransactionAnswer) -> Result<Revision, CommitError> {
        if answer.outcome == Outcome::Held {
            return Ok(self.cluster.revision(answer.header.revision));
        }
        let judged = commit.conditions();
        let judged = judged.filter(|(_, condition)| *condition != Condition::Any);
        for ((key, condition), answer) in judged.zip(&answer.answers) {
            let current = self.found(answer);
            let revision = current.as_ref().map(|entry| entry.revision);
            if !condition.holds(revision) {
                let key = key.clone();
                return Err(CommitError::Conflict { key, current });
            }
        }
        Err(CommitError::Unavailable {
            reason: "etcd says that a condition failed, and all of them hold".to_owned(),
        })
    }

    fn found(&self, answer: &OperationAnswer) -> Option<Entry> {
        match answer {
            OperationAnswer::Range(range) => entry(self.cluster, range.key_values.first()?),
            OperationAnswer::Put(_) | OperationAnswer::Delete(_) => None,
        }
    }
}

/// Without a lease nothing has been written, whatever became of the request for it.
fn ungranted(error: Error) -> CommitError {
    match commit_error(error) {
        CommitError::Unknown { reason } => CommitError::Unavailable { reason },
        other => other,
    }
}

fn leases_of(transaction: &Transaction) -> Vec<LeaseId> {
    let leases = transaction
        .then
        .iter()
        .filter_map(|operation| match operation {
            etcd::Operation::Put(put) => put.lease,
            etcd::Operation::Range(_) | etcd::Operation::Delete(_) => None,
        });
    leases.collect()
}
