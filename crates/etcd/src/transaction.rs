//! Several reads and writes as one, if conditions hold.

use bytes::Bytes;

use crate::{
    Client, Delete, DeleteAnswer, Error, Header, LeaseId, Put, PutAnswer, Range, RangeAnswer,
    client::Repeat, wire,
};

const TXN: &str = "/etcdserverpb.KV/Txn";

/// What to do if all conditions hold, and what if one does not. All of it is one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// The conditions.
    pub when: Vec<Condition>,
    /// What to do if they hold.
    pub then: Vec<Operation>,
    /// What to do otherwise.
    pub otherwise: Vec<Operation>,
}

/// A condition on one key. A key that is not there has 0 for every number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    key: Bytes,
    comparison: Comparison,
    operand: Operand,
}

/// How the key's number or value has to stand to the one given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same.
    Equal,
    /// More.
    Greater,
    /// Less.
    Less,
    /// Not the same.
    NotEqual,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operand {
    Version(u64),
    CreateRevision(u64),
    ModRevision(u64),
    Value(Bytes),
    Lease(LeaseId),
}

/// One thing to do in a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read.
    Range(Range),
    /// Write.
    Put(Put),
    /// Delete.
    Delete(Delete),
}

/// What a transaction was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionAnswer {
    /// Its revision is that of the writes, or the present one if there were none.
    pub header: Header,
    /// Which of the two lists was carried out.
    pub outcome: Outcome,
    /// One answer for each operation of that list.
    pub answers: Vec<OperationAnswer>,
}

/// Whether the conditions held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// They did, and [`Transaction::then`] was carried out.
    Held,
    /// One did not, and [`Transaction::otherwise`] was carried out.
    Failed,
}

/// What one operation was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationAnswer {
    /// Of a read.
    Range(RangeAnswer),
    /// Of a write.
    Put(PutAnswer),
    /// Of a delete.
    Delete(DeleteAnswer),
}

impl Condition {
    /// On how often the key was written since it came into being.
    pub fn version(key: impl Into<Bytes>, comparison: Comparison, version: u64) -> Self {
        Self::new(key, comparison, Operand::Version(version))
    }

    /// On when the key came into being.
    pub fn create_revision(key: impl Into<Bytes>, comparison: Comparison, revision: u64) -> Self {
        Self::new(key, comparison, Operand::CreateRevision(revision))
    }

    /// On when the key was last written.
    pub fn mod_revision(key: impl Into<Bytes>, comparison: Comparison, revision: u64) -> Self {
        Self::new(key, comparison, Operand::ModRevision(revision))
    }

    /// On the key's value. It never holds for a key that is not there.
    pub fn value(key: impl Into<Bytes>, comparison: Comparison, value: impl Into<Bytes>) -> Self {
        Self::new(key, comparison, Operand::Value(value.into()))
    }

    /// That the key lives by this lease.
    pub fn lives_by(key: impl Into<Bytes>, lease: LeaseId) -> Self {
        Self::new(key, Comparison::Equal, Operand::Lease(lease))
    }

    /// That the key is not there.
    pub fn absent(key: impl Into<Bytes>) -> Self {
        Self::mod_revision(key, Comparison::Equal, 0)
    }

    /// That the key is as it was at its last change then.
    pub fn unchanged(key: impl Into<Bytes>, mod_revision: u64) -> Self {
        Self::mod_revision(key, Comparison::Equal, mod_revision)
    }

    fn new(key: impl Into<Bytes>, comparison: Comparison, operand: Operand) -> Self {
        Self {
            key: key.into(),
            comparison,
            operand,
        }
    }

    fn into_wire(self) -> wire::Compare {
        let (target, operand) = match self.operand {
            Operand::Version(version) => (0, wire::CompareUnion::Version(version)),
            Operand::CreateRevision(revision) => (1, wire::CompareUnion::CreateRevision(revision)),
            Operand::ModRevision(revision) => (2, wire::CompareUnion::ModRevision(revision)),
            Operand::Value(value) => (3, wire::CompareUnion::Value(value)),
            Operand::Lease(lease) => (4, wire::CompareUnion::Lease(lease.get())),
        };
        wire::Compare {
            result: match self.comparison {
                Comparison::Equal => 0,
                Comparison::Greater => 1,
                Comparison::Less => 2,
                Comparison::NotEqual => 3,
            },
            target,
            key: self.key,
            target_union: Some(operand),
        }
    }
}

impl Operation {
    fn into_wire(self) -> wire::RequestOp {
        let request = match self {
            Self::Range(range) => wire::RequestUnion::Range(range.into_wire()),
            Self::Put(put) => wire::RequestUnion::Put(put.into_wire()),
            Self::Delete(delete) => wire::RequestUnion::DeleteRange(delete.into_wire()),
        };
        wire::RequestOp {
            request: Some(request),
        }
    }
}

impl Transaction {
    fn into_wire(self) -> wire::TxnRequest {
        let operations = |operations: Vec<Operation>| {
            let operations = operations.into_iter();
            operations.map(Operation::into_wire).collect()
        };
        wire::TxnRequest {
            compare: self.when.into_iter().map(Condition::into_wire).collect(),
            success: operations(self.then),
            failure: operations(self.otherwise),
        }
    }

    /// Whether it writes nothing, whatever happens.
    fn only_reads(&self) -> bool {
        let reads = |operation: &Operation| matches!(operation, Operation::Range(_));
        self.then.iter().chain(&self.otherwise).all(reads)
    }
}

impl OperationAnswer {
    /// Answers within a transaction may come without a header; the transaction's is theirs.
    fn from_wire(answer: wire::ResponseOp, header: wire::ResponseHeader) -> Result<Self, Error> {
        let answer = answer
            .response
            .ok_or_else(|| Error::missing("the answer to an operation"))?;
        Ok(match answer {
            wire::ResponseUnion::Range(mut answer) => {
                answer.header.get_or_insert(header);
                Self::Range(answer.try_into()?)
            }
            wire::ResponseUnion::Put(mut answer) => {
                answer.header.get_or_insert(header);
                Self::Put(answer.try_into()?)
            }
            wire::ResponseUnion::DeleteRange(mut answer) => {
                answer.header.get_or_insert(header);
                Self::Delete(answer.try_into()?)
            }
        })
    }
}

impl Client {
    /// Carries out a transaction.
    pub async fn transact(&self, transaction: Transaction) -> Result<TransactionAnswer, Error> {
        let repeat = match transaction.only_reads() {
            true => Repeat::Harmless,
            false => Repeat::OnlyIfUnsent,
        };
        let answer: wire::TxnResponse = self.call(TXN, transaction.into_wire(), repeat).await?;
        let header = answer.header.ok_or_else(|| Error::missing("the header"))?;
        let answers = answer.responses.into_iter();
        Ok(TransactionAnswer {
            header: Some(header).try_into()?,
            outcome: match answer.succeeded {
                true => Outcome::Held,
                false => Outcome::Failed,
            },
            answers: answers
                .map(|answer| OperationAnswer::from_wire(answer, header))
                .collect::<Result<_, _>>()?,
        })
    }
}
