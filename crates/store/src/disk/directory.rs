//! A directory of the file system as a [`Disk`].

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use super::{Disk, DiskFile, DiskLock, LOCK_NAME};

/// Files in a directory.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Uses a directory; makes it, and what leads to it, durably when it is not there.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let missing: Vec<_> = path.ancestors().take_while(|one| !one.exists()).collect();
        fs::create_dir_all(&path)?;
        for parent in missing.iter().filter_map(|made| made.parent()) {
            File::open(parent)?.sync_all()?;
        }
        Ok(Self { path })
    }
}

impl Disk for Directory {
    fn lock(&self) -> io::Result<DiskLock> {
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true);
        let file = file.open(self.path(LOCK_NAME))?;
        match file.try_lock() {
            Ok(()) => Ok(DiskLock::new(file)),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(&self.path)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).read(true).write(true);
        Ok(Box::new(options.open(self.path(name))?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(self.path(name))?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            return self.path.clone();
        }
        self.path.join(name)
    }
}

impl DiskFile for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_directory_is_refused_until_the_lock_is_dropped() {
        let place = tempfile::tempdir().unwrap();
        let first = Directory::create(place.path()).unwrap();
        let second = Directory::create(place.path()).unwrap();
        let lock = first.lock().unwrap();
        let refused = second.lock().err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        drop(lock);
        assert!(second.lock().is_ok());
    }

    #[test]
    fn a_removed_file_can_be_read_by_those_who_have_it_open() {
        let place = tempfile::tempdir().unwrap();
        let disk = Directory::create(place.path().join("made/on/the/way")).unwrap();
        let file = disk.create("a").unwrap();
        file.write_at(b"hello", 3).unwrap();
        disk.rename("a", "b").unwrap();
        assert_eq!(disk.list().unwrap(), ["b"]);
        disk.remove("b").unwrap();
        let mut buffer = [0; 8];
        file.read_at(&mut buffer, 0).unwrap();
        assert_eq!(&buffer, b"\0\0\0hello");
    }
}
