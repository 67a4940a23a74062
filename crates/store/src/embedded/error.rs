//! Why a directory cannot be used as a store.

use std::{io, path::PathBuf};

use crate::disk::Disk;

/// Why a store did not open. Nothing was changed; the text says which file and what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Somebody has it open.
    #[error(
        "{} is in use by another process; stop that process or choose another directory",
        directory.display()
    )]
    InUse {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// The directory holds other things.
    #[error(
        "{} holds other files (such as {found}) and no store; choose a directory that is empty or \
         new",
        directory.display()
    )]
    NotAStore {
        /// The directory.
        directory: PathBuf,
        /// One of the names in it.
        found: String,
    },
    /// There is no store, and none was to be made.
    #[error("{} holds no store; is it the right directory?", directory.display())]
    NoStore {
        /// The directory.
        directory: PathBuf,
    },
    /// There is a store that has been written, and a new one was to be made.
    #[error(
        "{} holds a store that has been written already; choose a directory that is empty or new",
        directory.display()
    )]
    AlreadyWritten {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// The file has the name of a store's file, but is not one of this store.
    #[error(
        "{} does not belong to this store: {reason}; move it out of the directory if it came \
         there by mistake, or restore the directory from a backup",
        file.display()
    )]
    Foreign {
        /// The file.
        file: PathBuf,
        /// How that shows.
        reason: String,
    },
    /// The file is not as it was written.
    #[error(
        "{} is damaged at byte {offset}: {reason}; restore the directory from a backup",
        file.display()
    )]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A file that must be there is not.
    #[error(
        "{} is missing; put it back, or restore the directory from a backup",
        file.display()
    )]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl OpenError {
    pub(super) fn io(disk: &dyn Disk, name: &str) -> impl FnOnce(io::Error) -> Self {
        let path = disk.path(name);
        move |source| Self::Io { path, source }
    }

    pub(super) fn foreign(disk: &dyn Disk, name: &str, reason: impl Into<String>) -> Self {
        Self::Foreign {
            file: disk.path(name),
            reason: reason.into(),
        }
    }

    pub(super) fn corrupt(file: PathBuf, offset: u64, reason: impl Into<String>) -> Self {
        Self::Corrupt {
            file,
            offset,
            reason: reason.into(),
        }
    }
}
