//! Why a copy did not finish, in words that say what to do.

use listwatch_store::{ChangesError, Commit, CommitError, Key, ReadError, Revision, Write};

use super::{entries::PairError, marker::MARKER_KEY};

/// Why a copy did not finish.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    /// It holds objects, and was not to.
    #[error(
        "the target is not empty: it holds {objects} objects, such as {example:?}. Copy into a new \
         place, or say --merge: then objects with the same key are replaced, and the others stay"
    )]
    NotEmpty {
        /// How many.
        objects: usize,
        /// The first of them.
        example: Key,
    },
    /// Another copy was begun there.
    #[error(
        "the target holds an unfinished copy from {source_name}. Run that one again, with the same \
         --from, to finish it; or copy into another place"
    )]
    OtherSource {
        /// Where that copy comes from.
        source_name: String,
    },
    /// The marker cannot be read.
    #[error(
        "the target holds an unfinished copy by another version of listwatch, which cannot be gone \
         on with; copy into another place"
    )]
    OtherVersion,
    /// The source is itself the target of a copy.
    #[error("the source is an unfinished copy itself; finish that one first")]
    SourceUnfinished,
    /// Its objects would get resourceVersions that clients of the source have seen already.
    #[error(
        "the target is at resourceVersion {target}, the source at {source_revision}: what is \
         copied would seem older than it is. Copy into a new place, which begins after the source"
    )]
    Behind {
        /// The newest of the target.
        target: Revision,
        /// The newest of the source.
        source_revision: Revision,
    },
    /// Somebody else copies into the same target.
    #[error("another `listwatch copy` is writing into the same target; let one of them finish")]
    OtherRun,
    /// The revision that is being copied can no longer be read. Starting over helps.
    #[error("the source has forgotten the revision that was being copied")]
    Forgotten,
    /// Starting over did not help, again and again.
    #[error(
        "the source forgets its revisions faster than they can be copied; stop the servers that \
         write to it, and run the same command again"
    )]
    ForgetsTooFast,
    /// What was copied is not what is there.
    #[error(
        "the target differs from the source: {key:?} {how}. Is somebody else writing to it? Run \
         the same command again: it compares everything and puts it right"
    )]
    Differs {
        /// The first key that differs.
        key: Key,
        /// In which way.
        how: Difference,
    },
    /// The source did not answer.
    #[error("the source cannot be read: {0}. Run the same command again to go on")]
    ReadSource(#[source] ReadError),
    /// The source did not tell its changes.
    #[error("the source cannot be followed: {0}. Run the same command again to go on")]
    FollowSource(#[source] ChangesError),
    /// The target did not answer.
    #[error("the target cannot be read: {0}. Run the same command again to go on")]
    ReadTarget(#[source] ReadError),
    /// The target refused an object for good.
    #[error("the target refuses {key:?} ({bytes} bytes): {reason}")]
    Refused {
        /// The largest object of the commit.
        key: Key,
        /// Its size.
        bytes: usize,
        /// What the target said.
        reason: String,
    },
    /// The target did not write.
    #[error("the target cannot be written: {0}. Run the same command again to go on")]
    WriteTarget(#[source] CommitError),
}

/// How a key differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Difference {
    /// Only the source has it.
    #[error("is missing")]
    Missing,
    /// Only the target has it.
    #[error("is not in the source")]
    Extra,
    /// The values are not the same, or the target's was there before.
    #[error("has another value")]
    Value,
}

impl CopyError {
    /// What a commit's failure means.
    pub(crate) fn write(error: CommitError, commit: &Commit) -> Self {
        match error {
            CommitError::Conflict { .. } => Self::OtherRun,
            CommitError::Invalid { reason } => Self::refused(commit, reason),
            error => Self::WriteTarget(error),
        }
    }

    fn refused(commit: &Commit, reason: String) -> Self {
        let size = |write: &Write| match write {
            Write::Put(put) => put.value.len(),
            Write::Delete => 0,
        };
        let sizes = commit.operations.iter();
        let sizes = sizes.map(|one| (size(&one.write), &one.key));
        let objects = sizes.filter(|(_, key)| key.as_bytes() != MARKER_KEY.as_bytes());
        let marker = Key::from(MARKER_KEY);
        let (bytes, key) = objects.max().unwrap_or((0, &marker));
        Self::Refused {
            key: key.clone(),
            bytes,
            reason,
        }
    }

    /// What a failure to read the source means.
    pub(crate) fn read_source(error: ReadError) -> Self {
        match error {
            ReadError::Compacted { .. } | ReadError::Future { .. } => Self::Forgotten,
            error => Self::ReadSource(error),
        }
    }

    /// What a failure to follow the source means.
    pub(crate) fn follow_source(error: ChangesError) -> Self {
        match error {
            ChangesError::Compacted { .. } => Self::Forgotten,
            error @ ChangesError::Unavailable { .. } => Self::FollowSource(error),
        }
    }
}

impl From<PairError> for CopyError {
    fn from(error: PairError) -> Self {
        match error {
            PairError::Source(error) => Self::read_source(error),
            PairError::Target(error) => Self::ReadTarget(error),
        }
    }
}
