//! The state at the floor as a file: sorted entries in checksummed blocks. Written once, then only
//! read. What it replaces stays until it is durable under its name.

use std::{io, path::PathBuf};

use bytes::{Buf, BufMut, Bytes};

use super::{
    error::OpenError,
    record::{LoggedWrite, checksum},
};
use crate::{
    Key, Revision,
    disk::{Disk, DiskFile},
};

/// The name under which a base is written before it is whole.
pub(crate) const NEW_BASE_NAME: &str = "base.new";

const MAGIC: &[u8; 8] = b"LWBASE01";
const HEADER_BYTES: usize = 64;

/// Length and checksum of a block.
const BLOCK_PREFIX_BYTES: usize = 8;

/// A block ends with the entry that reaches this size.
const BLOCK_BYTES: usize = 32 * 1024;

/// Written and read at once.
const CHUNK_BYTES: usize = 1024 * 1024;

/// No block is larger: it would have to hold more than the largest commit.
const BLOCK_BYTES_MAX: usize = BLOCK_BYTES + 2 * crate::COMMIT_BYTES_MAX;

/// The state at one revision, in a file.
pub(crate) struct Base {
    pub(crate) header: BaseHeader,
    /// The size of the file.
    pub(crate) bytes: u64,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    blocks: Vec<Block>,
}

/// What a base says about itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BaseHeader {
    /// Which store it is of.
    pub(crate) identity: u64,
    /// The revision of the state: the floor.
    pub(crate) revision: Revision,
    /// The segment that holds the next revision.
    pub(crate) log_sequence: u64,
}

struct Block {
    first: Key,
    offset: u64,
    bytes: usize,
}

/// An entry in a base.
pub(crate) struct BaseEntry<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) revision: Revision,
    pub(crate) value: &'a [u8],
    pub(crate) end: Option<u64>,
}

/// The name of the base at a revision.
pub(crate) fn base_name(revision: Revision) -> String {
    format!("base-{:020}", revision.get())
}

/// The revision in the name of a base.
pub(crate) fn base_revision(name: &str) -> Option<Revision> {
    let digits = name.strip_prefix("base-")?;
    let number = digits.parse().ok().filter(|_| digits.len() == 20);
    number.map(Revision::new)
}

impl Base {
    /// Opens the base at a revision and gives each of its entries to `each`, in order.
    pub(crate) fn open(
        disk: &dyn Disk,
        revision: Revision,
        mut each: impl FnMut(BaseEntry<'_>),
    ) -> Result<Self, OpenError> {
        let name = base_name(revision);
        let file = disk.open(&name).map_err(OpenError::io(disk, &name))?;
        let mut reader = BaseReader {
            path: disk.path(&name),
            length: file.length().map_err(OpenError::io(disk, &name))?,
            file,
            offset: 0,
            buffer: Vec::new(),
            start: 0,
        };
        let (header, count) = reader.header(disk, &name)?;
        if header.revision != revision {
            let reason = format!("it was written as {}", base_name(header.revision));
            return Err(OpenError::foreign(disk, &name, reason));
        }
        let mut blocks = Vec::new();
        let mut found = 0;
        while let Some((block, entries)) = reader.block(&mut each)? {
            blocks.push(block);
            found += entries;
        }
        if found != count {
            let reason = format!("it has {found} of {count} entries");
            return Err(reader.corrupt(reason));
        }
        Ok(Self {
            header,
            bytes: reader.length,
            path: reader.path,
            file: reader.file,
            blocks,
        })
    }

    /// The value of a key in the state of the base.
    pub(crate) fn value_of(&self, key: &[u8]) -> Result<Bytes, OpenError> {
        let after = self
            .blocks
            .partition_point(|one| one.first.as_bytes() <= key);
        let missing = |offset| {
            let reason = "an entry that was there before cannot be read";
            OpenError::corrupt(self.path.clone(), offset, reason)
        };
        let Some(block) = after.checked_sub(1).map(|index| &self.blocks[index]) else {
            return Err(missing(0));
        };
        let mut bytes = vec![0; block.bytes];
        let read = self.file.read_at(&mut bytes, block.offset);
        read.map_err(|source| OpenError::Io {
            path: self.path.clone(),
            source,
        })?;
        let entries = checked_block(&bytes).ok_or_else(|| missing(block.offset))?;
        let mut entries = entries_of(entries);
        let found = entries.find_map(|entry| entry.filter(|entry| entry.key == key));
        let found = found.ok_or_else(|| missing(block.offset))?;
        Ok(Bytes::copy_from_slice(found.value))
    }
}

/// Writes a base, entry after entry, under [`NEW_BASE_NAME`].
pub(crate) struct BaseWriter<'a> {
    disk: &'a dyn Disk,
    header: BaseHeader,
    file: Box<dyn DiskFile>,
    offset: u64,
    /// Whole blocks that are not written yet, and the one that is being filled.
    buffer: Vec<u8>,
    block_start: usize,
    block_first: Option<Key>,
    blocks: Vec<Block>,
    count: u64,
}

impl<'a> BaseWriter<'a> {
    /// Begins a base.
    pub(crate) fn begin(disk: &'a dyn Disk, header: BaseHeader) -> io::Result<Self> {
        Ok(Self {
            disk,
            header,
            file: disk.create(NEW_BASE_NAME)?,
            offset: HEADER_BYTES as u64,
            buffer: Vec::new(),
            block_start: 0,
            block_first: None,
            blocks: Vec::new(),
            count: 0,
        })
    }

    /// Adds an entry; keys come in order.
    pub(crate) fn push(&mut self, entry: &BaseEntry<'_>) -> io::Result<()> {
        if self.block_first.is_none() {
            self.block_start = self.buffer.len();
            self.buffer.put_bytes(0, BLOCK_PREFIX_BYTES);
            self.block_first = Some(Key::new(entry.key));
        }
        self.buffer.put_u64_le(entry.revision.get());
        let write = LoggedWrite::Put {
            key: entry.key,
            value: entry.value,
            end: entry.end,
        };
        write.encode(&mut self.buffer);
        self.count += 1;
        if self.buffer.len() - self.block_start >= BLOCK_BYTES {
            self.end_block();
        }
        if self.buffer.len() >= CHUNK_BYTES && self.block_first.is_none() {
            self.write_chunk()?;
        }
        Ok(())
    }

    fn end_block(&mut self) {
        let Some(first) = self.block_first.take() else {
            return;
        };
        let block = &mut self.buffer[self.block_start..];
        let (prefix, body) = block.split_at_mut(BLOCK_PREFIX_BYTES);
        let length = u32::try_from(body.len()).expect("a block is smaller than BLOCK_BYTES_MAX");
        let length = length.to_le_bytes();
        prefix[..4].copy_from_slice(&length);
        prefix[4..].copy_from_slice(&checksum(0, length, body).to_le_bytes());
        self.blocks.push(Block {
            first,
            offset: self.offset + self.block_start as u64,
            bytes: block.len(),
        });
    }

    fn write_chunk(&mut self) -> io::Result<()> {
        self.file.write_at(&self.buffer, self.offset)?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Makes the base durable under its own name.
    pub(crate) fn finish(mut self) -> io::Result<Base> {
        self.end_block();
        self.write_chunk()?;
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.put_slice(MAGIC);
        header.put_u64_le(self.header.identity);
        header.put_u64_le(self.header.revision.get());
        header.put_u64_le(self.header.log_sequence);
        header.put_u64_le(self.count);
        header.put_u32_le(crc32c::crc32c(&header));
        header.resize(HEADER_BYTES, 0);
        self.file.write_at(&header, 0)?;
        self.file.sync()?;
        let name = base_name(self.header.revision);
        self.disk.rename(NEW_BASE_NAME, &name)?;
        self.disk.sync_names()?;
        Ok(Base {
            header: self.header,
            bytes: self.offset,
            path: self.disk.path(&name),
            file: self.file,
            blocks: self.blocks,
        })
    }
}

/// Reads a base from its beginning to its end.
struct BaseReader {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    length: u64,
    /// The bytes of the file from `offset` on begin at `start`.
    offset: u64,
    buffer: Vec<u8>,
    start: usize,
}

impl BaseReader {
    fn header(&mut self, disk: &dyn Disk, name: &str) -> Result<(BaseHeader, u64), OpenError> {
        if !self.fill(HEADER_BYTES)? {
            return Err(self.corrupt("it is too short for a header"));
        }
        let header = &self.buffer[..HEADER_BYTES];
        if !header.starts_with(MAGIC) {
            let reason = "it does not begin as a base of this version does";
            return Err(OpenError::foreign(disk, name, reason));
        }
        let mut rest = &header[MAGIC.len()..];
        let found = BaseHeader {
            identity: rest.get_u64_le(),
            revision: Revision::new(rest.get_u64_le()),
            log_sequence: rest.get_u64_le(),
        };
        let count = rest.get_u64_le();
        if rest.get_u32_le() != crc32c::crc32c(&header[..40]) {
            return Err(self.corrupt("the checksum of the header is wrong"));
        }
        self.advance(HEADER_BYTES);
        Ok((found, count))
    }

    /// Reads one block; `None` at the end of the file.
    fn block(
        &mut self,
        each: &mut impl FnMut(BaseEntry<'_>),
    ) -> Result<Option<(Block, u64)>, OpenError> {
        if self.offset == self.length {
            return Ok(None);
        }
        let wrong = "the checksum of a block is wrong";
        if !self.fill(BLOCK_PREFIX_BYTES)? {
            return Err(self.corrupt(wrong));
        }
        let length = (&self.buffer[self.start..]).get_u32_le() as usize;
        let bytes = BLOCK_PREFIX_BYTES + length;
        if length > BLOCK_BYTES_MAX || !self.fill(bytes)? {
            return Err(self.corrupt(wrong));
        }
        let block = &self.buffer[self.start..self.start + bytes];
        let Some(entries) = checked_block(block) else {
            return Err(self.corrupt(wrong));
        };
        let (mut first, mut count) = (None, 0);
        for entry in entries_of(entries) {
            let Some(entry) = entry else {
                return Err(self.corrupt("a block cannot be read"));
            };
            first.get_or_insert_with(|| Key::new(entry.key));
            count += 1;
            each(entry);
        }
        let offset = self.offset;
        let Some(first) = first else {
            return Err(self.corrupt("a block is empty"));
        };
        self.advance(bytes);
        let block = Block {
            first,
            offset,
            bytes,
        };
        Ok(Some((block, count)))
    }

    /// Has this many bytes in the buffer; false when the file has not.
    fn fill(&mut self, bytes: usize) -> Result<bool, OpenError> {
        let held = self.buffer.len() - self.start;
        if held >= bytes {
            return Ok(true);
        }
        let left = self.length - self.offset - held as u64;
        if ((bytes - held) as u64) > left {
            return Ok(false);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let wanted = ((bytes - held).max(CHUNK_BYTES) as u64).min(left);
        self.buffer.resize(held + wanted as usize, 0);
        let read_from = self.offset + held as u64;
        let read = self.file.read_at(&mut self.buffer[held..], read_from);
        read.map_err(|source| OpenError::Io {
            path: self.path.clone(),
            source,
        })?;
        Ok(true)
    }

    fn advance(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    fn corrupt(&self, reason: impl Into<String>) -> OpenError {
        OpenError::corrupt(self.path.clone(), self.offset, reason)
    }
}

/// The entries of a block whose checksum is right.
fn checked_block(block: &[u8]) -> Option<&[u8]> {
    let (prefix, body) = block.split_at_checked(BLOCK_PREFIX_BYTES)?;
    let length = prefix[..4].try_into().ok()?;
    let stored = prefix[4..].try_into().ok()?;
    (checksum(0, length, body) == u32::from_le_bytes(stored)).then_some(body)
}

/// The entries of a block; `None` in place of what is no entry, after which nothing comes.
fn entries_of(mut bytes: &[u8]) -> impl Iterator<Item = Option<BaseEntry<'_>>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let entry = entry_of(&mut bytes);
        if entry.is_none() {
            bytes = &[];
        }
        Some(entry)
    })
}

fn entry_of<'a>(bytes: &mut &'a [u8]) -> Option<BaseEntry<'a>> {
    let revision = Revision::new(bytes.try_get_u64_le().ok()?);
    match LoggedWrite::decode(bytes)? {
        LoggedWrite::Put { key, value, end } => Some(BaseEntry {
            key,
            revision,
            value,
            end,
        }),
        LoggedWrite::Delete { .. } => None,
    }
}
