//! The seam to the disk: named files in one flat place, with just what a log and a snapshot need.
//!
//! Nothing written is safe before [`DiskFile::sync`], and no name is safe before
//! [`Disk::sync_names`].

mod directory;
pub mod simulated;

use std::{io, path::PathBuf};

pub use directory::Directory;

/// A place for files.
pub trait Disk: Send + Sync + 'static {
    /// Takes the place for one owner, until the guard is dropped. Fails with
    /// [`io::ErrorKind::WouldBlock`] while there is another.
    fn lock(&self) -> io::Result<DiskLock>;

    /// The names that are there, in any order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// A new and empty file, also when the name was there before.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// A file that is there.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file another name, and ends the file that had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a name. Those who have the file open can still read it.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes all names durable: what was created, renamed and removed.
    fn sync_names(&self) -> io::Result<()>;

    /// Where a file is, for messages; the place itself for an empty name.
    fn path(&self, name: &str) -> PathBuf;
}

/// Holds a [`Disk`] for one owner until it is dropped.
pub struct DiskLock(#[expect(dead_code, reason = "held for its drop")] Box<dyn Send + Sync>);

impl DiskLock {
    /// A lock that lasts as long as the guard.
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self(Box::new(guard))
    }
}

/// A file, written and read by position.
pub trait DiskFile: Send + Sync + 'static {
    /// How many bytes it has.
    fn length(&self) -> io::Result<u64>;

    /// Fills the buffer from the file, or fails.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of the bytes, and extends the file where they reach beyond it.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Cuts the file, or extends it without the promise that there is room.
    fn set_length(&self, length: u64) -> io::Result<()>;

    /// Makes all that was written durable.
    fn sync(&self) -> io::Result<()>;
}

/// The file that a [`Directory`] locks.
pub(crate) const LOCK_NAME: &str = "lock";
