//! The writing end of a copy: commits of bounded size, each with the marker.

use std::collections::BTreeMap;

use listwatch_store::{
    Commit, CommitError, Condition, Key, Operation, Put, Revision, Store, Write,
};

use super::{
    error::CopyError,
    marker::{MARKER_KEY, Marker},
    patience::{Waiting, patiently},
};

/// What one commit may hold. A larger object goes alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitBounds {
    /// Objects.
    pub(crate) objects_max: usize,
    /// Keys and values.
    pub(crate) bytes_max: usize,
}

/// Writes that go together. The last write of a key counts.
pub(crate) struct Batch {
    bounds: CommitBounds,
    writes: BTreeMap<Key, Write>,
    bytes: usize,
}

impl Batch {
    pub(crate) fn new(bounds: CommitBounds) -> Self {
        Self {
            bounds,
            writes: BTreeMap::new(),
            bytes: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Whether it must be written before this goes in.
    pub(crate) fn is_too_full_for(&self, key: &Key, write: &Write) -> bool {
        let bytes = self.bytes + size(key, write);
        let full = self.writes.len() >= self.bounds.objects_max || bytes > self.bounds.bytes_max;
        full && !self.is_empty()
    }

    pub(crate) fn push(&mut self, key: Key, write: Write) {
        self.bytes += size(&key, &write);
        self.writes.insert(key, write);
    }

    fn take(&mut self) -> BTreeMap<Key, Write> {
        self.bytes = 0;
        std::mem::take(&mut self.writes)
    }
}

fn size(key: &Key, write: &Write) -> usize {
    let value = match write {
        Write::Put(put) => put.value.len(),
        Write::Delete => 0,
    };
    key.as_bytes().len() + value
}

/// The store that is written. The marker keeps every other writer out.
pub(crate) struct Target<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) waiting: &'a Waiting,
    /// What must hold of the marker for the next commit.
    pub(crate) marker: Condition,
}

impl Target<'_> {
    /// Writes a batch and how far the copy is with it.
    pub(crate) async fn write(
        &mut self,
        batch: &mut Batch,
        marker: &Marker,
    ) -> Result<(), CopyError> {
        let writes = batch.take().into_iter();
        let mut operations: Vec<_> = writes.map(|(key, write)| any(key, write)).collect();
        let put = Put {
            value: marker.bytes(),
            lifetime: None,
        };
        operations.push(self.marker_operation(Write::Put(put.clone())));
        let commit = Commit::together(operations);
        let committed = self.commit(&commit).await;
        let revision = match committed {
            Ok(revision) => revision,
            // An earlier try, of which nobody told us, has succeeded.
            Err(CommitError::Conflict {
                current: Some(current),
                ..
            }) if current.value == put.value => current.revision,
            Err(error) => return Err(CopyError::write(error, &commit)),
        };
        self.marker = Condition::Unchanged(revision);
        Ok(())
    }

    /// Removes the marker; the copy is finished.
    pub(crate) async fn finish(&mut self) -> Result<Revision, CopyError> {
        let operations = vec![self.marker_operation(Write::Delete)];
        let commit = Commit::together(operations);
        match self.commit(&commit).await {
            Ok(revision) => Ok(revision),
            Err(CommitError::Conflict { current: None, .. }) => {
                let read = listwatch_store::Read::revision_only();
                let page = super::entries::read_patiently(self.store, self.waiting, &read).await;
                Ok(page.map_err(CopyError::ReadTarget)?.revision)
            }
            Err(error) => Err(CopyError::write(error, &commit)),
        }
    }

    fn marker_operation(&self, write: Write) -> Operation {
        Operation {
            key: MARKER_KEY.into(),
            condition: self.marker,
            write,
        }
    }

    /// May be tried again after any failure: the condition on the marker lets it happen once.
    async fn commit(&self, commit: &Commit) -> Result<Revision, CommitError> {
        let passing = |error: &CommitError| match error {
            CommitError::Overloaded { .. }
            | CommitError::Unavailable { .. }
            | CommitError::Unknown { .. } => true,
            CommitError::Conflict { .. }
            | CommitError::Invalid { .. }
            | CommitError::Full { .. } => false,
        };
        let store = self.store;
        patiently(self.waiting, passing, async || {
            store.commit(commit.clone()).await
        })
        .await
    }
}

fn any(key: Key, write: Write) -> Operation {
    Operation {
        key,
        condition: Condition::Any,
        write,
    }
}
