//! A disk in memory that fails as real ones do: it loses what was not synced, tears writes, rots,
//! runs full, and dies at a chosen operation. All chance comes from its seed.

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

use super::{Disk, DiskFile, DiskLock};
use crate::random::Random;

/// What a disk writes at once or not at all, in bytes.
const SECTOR_BYTES: usize = 512;

/// A simulated disk. Its clones are the same disk.
#[derive(Clone)]
pub struct SimulatedDisk(Arc<Mutex<Platter>>);

impl SimulatedDisk {
    /// An empty disk with power.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Platter {
            random: Random::new(seed),
            power: Power::On,
            life: 0,
            operations: 0,
            bytes_read: 0,
            cut: None,
            capacity: Capacity::Bytes(u64::MAX),
            syncs: Syncs::Work,
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending_names: Vec::new(),
            lock: Weak::new(),
        })))
    }

    /// How many operations have changed something or made something durable.
    pub fn operations(&self) -> u64 {
        self.0.lock().operations
    }

    /// How many bytes have been read.
    pub fn bytes_read(&self) -> u64 {
        self.0.lock().bytes_read
    }

    /// Cuts the power during the operation with this number, which then happens in part.
    pub fn cut_at(&self, operation: u64) {
        self.0.lock().cut = Some(operation);
    }

    /// Cuts the power now, where it is still on, and puts it on again.
    ///
    /// Of all that was not synced some sectors survive and some do not. Files that were open fail
    /// from now on.
    pub fn restart(&self) {
        self.0.lock().restart();
    }

    /// Ends all locks and opened files as the end of a process does. Nothing is lost: a cut before
    /// this was only the moment at which the process ended.
    pub fn end_process(&self) {
        let mut platter = self.0.lock();
        platter.begin_life();
    }

    /// Lets the disk hold this many bytes in all.
    pub fn set_capacity(&self, bytes: u64) {
        self.0.lock().capacity = Capacity::Bytes(bytes);
    }

    /// Lets every write fail in part, until a capacity is set: on a full file system that never
    /// overwrites, even what is there cannot be written again.
    pub fn refuse_writes(&self) {
        self.0.lock().capacity = Capacity::Exhausted;
    }

    /// How many bytes the files have.
    pub fn used(&self) -> u64 {
        self.0.lock().used()
    }

    /// Lets every sync fail from now on.
    pub fn fail_syncs(&self) {
        self.0.lock().syncs = Syncs::Fail;
    }

    /// The names that are there, in order.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().names.keys().cloned().collect()
    }

    /// What a file holds.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let platter = self.0.lock();
        let file = platter.names.get(name)?;
        Some(file.lock().bytes.clone())
    }

    /// Replaces what a file holds, or makes it, durably: bit rot, or a hand in the wrong place.
    pub fn replace(&self, name: &str, bytes: Vec<u8>) {
        let mut platter = self.0.lock();
        let file = Arc::new(Mutex::new(Contents {
            durable: bytes.clone(),
            bytes,
            pending: Vec::new(),
        }));
        platter.names.insert(name.into(), Arc::clone(&file));
        platter.durable_names.insert(name.into(), file);
    }

    /// Flips one bit of a file, also for those who have it open.
    pub fn flip_bit(&self, name: &str, byte: usize, bit: u32) {
        let file = self.0.lock().names.get(name).cloned();
        if let Some(file) = file {
            let mut contents = file.lock();
            let Contents { bytes, durable, .. } = &mut *contents;
            for copy in [bytes, durable] {
                if let Some(byte) = copy.get_mut(byte) {
                    *byte ^= 1 << (bit % 8);
                }
            }
        }
    }
}

type FileHandle = Arc<Mutex<Contents>>;

/// The sectors that make up a file now, and those that a power cut would leave.
#[derive(Default)]
struct Contents {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Pending>,
}

enum Pending {
    Write { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

enum NameChange {
    Insert(String, FileHandle),
    Remove(String),
    Rename(String, String),
}

#[derive(PartialEq)]
enum Power {
    On,
    Off,
}

#[derive(Clone, Copy)]
enum Capacity {
    Bytes(u64),
    Exhausted,
}

enum Syncs {
    Work,
    Fail,
}

struct Platter {
    random: Random,
    power: Power,
    /// Grows at each restart; files opened in an earlier life fail.
    life: u64,
    operations: u64,
    bytes_read: u64,
    cut: Option<u64>,
    capacity: Capacity,
    syncs: Syncs,
    names: BTreeMap<String, FileHandle>,
    durable_names: BTreeMap<String, FileHandle>,
    pending_names: Vec<NameChange>,
    lock: Weak<()>,
}

/// What becomes of an operation.
#[derive(PartialEq)]
enum Outcome {
    Whole,
    /// The power goes off meanwhile.
    InPart,
}

impl Platter {
    fn check(&self, life: u64) -> io::Result<()> {
        if self.power == Power::Off || self.life != life {
            return Err(io::Error::other("the power is off"));
        }
        Ok(())
    }

    /// Counts an operation that a cut may hit.
    fn operate(&mut self, life: u64) -> io::Result<Outcome> {
        self.check(life)?;
        self.operations += 1;
        if self.cut == Some(self.operations) {
            self.power = Power::Off;
            return Ok(Outcome::InPart);
        }
        Ok(Outcome::Whole)
    }

    fn change_name(&mut self, change: NameChange) -> io::Result<()> {
        let outcome = self.operate(self.life)?;
        change.apply(&mut self.names);
        self.pending_names.push(change);
        outcome.finish()
    }

    fn used(&self) -> u64 {
        let lengths = self.names.values();
        lengths.map(|file| file.lock().bytes.len() as u64).sum()
    }

    /// How many of some bytes can be written at a place in a file of this length.
    fn fitting(&mut self, length: usize, start: usize, bytes: usize) -> usize {
        match self.capacity {
            Capacity::Exhausted => self.random.below(bytes as u64) as usize,
            Capacity::Bytes(capacity) => {
                let room = capacity.saturating_sub(self.used());
                let room = usize::try_from(room).unwrap_or(usize::MAX);
                bytes.min(length.saturating_add(room).saturating_sub(start))
            }
        }
    }

    fn restart(&mut self) {
        // Names are journalled by file systems: of those not synced, the first few survive.
        let survivors = self.random.below(self.pending_names.len() as u64 + 1);
        for change in self.pending_names.drain(..).take(survivors as usize) {
            change.apply(&mut self.durable_names);
        }
        self.names = self.durable_names.clone();
        for file in self.names.values() {
            file.lock().lose_unsynced(&mut self.random);
        }
        self.begin_life();
    }

    fn begin_life(&mut self) {
        self.power = Power::On;
        self.cut = None;
        self.syncs = Syncs::Work;
        self.life += 1;
        self.lock = Weak::new();
    }
}

impl Outcome {
    fn finish(self) -> io::Result<()> {
        match self {
            Self::Whole => Ok(()),
            Self::InPart => Err(io::Error::other("the power went off")),
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, FileHandle>) {
        match self {
            Self::Insert(name, file) => {
                names.insert(name.clone(), Arc::clone(file));
            }
            Self::Remove(name) => {
                names.remove(name);
            }
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
        }
    }
}

impl Contents {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        write_into(&mut self.bytes, offset, bytes);
        self.pending.push(Pending::Write {
            offset,
            bytes: bytes.to_vec(),
        });
    }

    fn sync(&mut self) {
        for pending in self.pending.drain(..) {
            match pending {
                Pending::Length(length) => self.durable.resize(length, 0),
                Pending::Write { offset, bytes } => write_into(&mut self.durable, offset, &bytes),
            }
        }
    }

    fn lose_unsynced(&mut self, random: &mut Random) {
        let mut bytes = std::mem::take(&mut self.durable);
        for pending in self.pending.drain(..) {
            match pending {
                Pending::Length(length) if random.once_in(2) => bytes.resize(length, 0),
                Pending::Length(_) => {}
                Pending::Write {
                    offset,
                    bytes: written,
                } => write_some_sectors(&mut bytes, offset, &written, random),
            }
        }
        self.bytes.clone_from(&bytes);
        self.durable = bytes;
    }
}

fn write_into(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}

/// All, none, a beginning, or any of the sectors that a write touched.
fn write_some_sectors(file: &mut Vec<u8>, offset: usize, bytes: &[u8], random: &mut Random) {
    let style = random.below(4);
    let beginning = random.below(bytes.len() as u64 / SECTOR_BYTES as u64 + 2);
    let (mut start, mut number) = (0, 0);
    while start < bytes.len() {
        let place = offset + start;
        let sector_end = (place / SECTOR_BYTES + 1) * SECTOR_BYTES - offset;
        let end = sector_end.min(bytes.len());
        let survives = match style {
            0 => true,
            1 => false,
            2 => number < beginning,
            _ => random.once_in(2),
        };
        if survives {
            write_into(file, place, &bytes[start..end]);
        }
        (start, number) = (end, number + 1);
    }
}

impl Disk for SimulatedDisk {
    fn lock(&self) -> io::Result<DiskLock> {
        let mut platter = self.0.lock();
        platter.check(platter.life)?;
        if platter.lock.strong_count() > 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let guard = Arc::new(());
        platter.lock = Arc::downgrade(&guard);
        Ok(DiskLock::new(guard))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let platter = self.0.lock();
        platter.check(platter.life)?;
        Ok(platter.names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut platter = self.0.lock();
        let contents = FileHandle::default();
        platter.change_name(NameChange::Insert(name.into(), Arc::clone(&contents)))?;
        Ok(self.file(contents, &platter))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let platter = self.0.lock();
        platter.check(platter.life)?;
        let contents = platter.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.file(Arc::clone(contents), &platter))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut platter = self.0.lock();
        platter.change_name(NameChange::Rename(from.into(), to.into()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.lock().change_name(NameChange::Remove(name.into()))
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut platter = self.0.lock();
        let life = platter.life;
        platter.operate(life)?.finish()?;
        if let Syncs::Fail = platter.syncs {
            return Err(io::Error::other("the disk does not answer"));
        }
        platter.durable_names = platter.names.clone();
        platter.pending_names.clear();
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("simulated").join(name)
    }
}

impl SimulatedDisk {
    fn file(&self, contents: FileHandle, platter: &Platter) -> Box<dyn DiskFile> {
        Box::new(SimulatedFile {
            disk: self.clone(),
            life: platter.life,
            contents,
        })
    }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    life: u64,
    contents: FileHandle,
}

impl DiskFile for SimulatedFile {
    fn length(&self) -> io::Result<u64> {
        self.disk.0.lock().check(self.life)?;
        Ok(self.contents.lock().bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut platter = self.disk.0.lock();
        platter.check(self.life)?;
        platter.bytes_read += buffer.len() as u64;
        let contents = self.contents.lock();
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let found = contents
            .bytes
            .get(start..start.saturating_add(buffer.len()));
        buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut platter = self.disk.0.lock();
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let outcome = platter.operate(self.life)?;
        let length = self.contents.lock().bytes.len();
        let fitting = platter.fitting(length, start, bytes.len());
        self.contents.lock().write(start, &bytes[..fitting]);
        if fitting < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        outcome.finish()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let outcome = self.disk.0.lock().operate(self.life)?;
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut contents = self.contents.lock();
        contents.bytes.resize(length, 0);
        contents.pending.push(Pending::Length(length));
        outcome.finish()
    }

    fn sync(&self) -> io::Result<()> {
        let mut platter = self.disk.0.lock();
        let outcome = platter.operate(self.life)?;
        if let Syncs::Fail = platter.syncs {
            return Err(io::Error::other("the disk does not answer"));
        }
        // A cut during a sync finds everything done or, as after a cut before it, in part.
        if outcome == Outcome::Whole || platter.random.once_in(2) {
            self.contents.lock().sync();
        }
        outcome.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_synced_survives_a_restart() {
        for seed in 0..50 {
            let disk = SimulatedDisk::new(seed);
            let file = disk.create("a").unwrap();
            file.write_at(&[1; 5000], 0).unwrap();
            file.sync().unwrap();
            disk.sync_names().unwrap();
            file.write_at(&[2; 5000], 5000).unwrap();
            disk.restart();
            assert!(file.length().is_err());
            let bytes = disk.contents("a").unwrap();
            assert_eq!(bytes[..5000], [1; 5000]);
        }
    }

    #[test]
    fn what_was_not_synced_survives_in_every_way() {
        let mut found = [false; 3];
        for seed in 0..50 {
            let disk = SimulatedDisk::new(seed);
            let file = disk.create("a").unwrap();
            file.sync().unwrap();
            disk.sync_names().unwrap();
            file.write_at(&[2; 5000], 0).unwrap();
            disk.restart();
            let bytes = disk.contents("a").unwrap();
            let kept = bytes.iter().filter(|byte| **byte == 2).count();
            found[if kept == 0 {
                0
            } else if kept == 5000 {
                2
            } else {
                1
            }] = true;
        }
        assert_eq!(found, [true; 3]);
    }

    #[test]
    fn a_name_that_was_not_synced_may_be_lost() {
        let survives = |seed| {
            let disk = SimulatedDisk::new(seed);
            disk.create("a").unwrap();
            disk.restart();
            disk.contents("a").is_some()
        };
        assert!((0..20).any(survives) && !(0..20).all(survives));
    }

    #[test]
    fn a_cut_ends_everything_until_the_restart() {
        let disk = SimulatedDisk::new(1);
        let file = disk.create("a").unwrap();
        disk.cut_at(disk.operations() + 1);
        assert!(file.write_at(b"x", 0).is_err());
        assert!(disk.list().is_err());
        disk.restart();
        assert!(disk.list().is_ok());
    }

    #[test]
    fn a_full_disk_refuses_to_grow() {
        let disk = SimulatedDisk::new(1);
        disk.set_capacity(10);
        let file = disk.create("a").unwrap();
        file.write_at(&[1; 10], 0).unwrap();
        let refused = file.write_at(&[1; 1], 10).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
        file.write_at(&[2; 10], 0).unwrap();
    }
}
