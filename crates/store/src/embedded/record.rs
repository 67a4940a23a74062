//! Commits as bytes in the log, and back. Knows no files; never trusts what it reads.

use bytes::{Buf, BufMut};

use crate::Revision;

/// Length and checksum, which stand before every body.
pub(crate) const PREFIX_BYTES: usize = 8;

/// Records begin at multiples of this many bytes.
pub(crate) const ALIGNMENT: usize = 8;

/// Revision, revision synced before, time and number of writes.
const HEAD_BYTES: usize = 8 + 8 + 8 + 4;

const KIND_DELETE: u8 = 0;
const KIND_PUT: u8 = 1;
const KIND_PUT_WITH_END: u8 = 2;

/// Kind and length of the key; length of the value; end.
const WRITE_BYTES_MAX: usize = 1 + 4 + 4 + 8;

/// What stands before the writes of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The commit's revision.
    pub(crate) revision: Revision,
    /// The newest revision that was durable when this record was written: proof that it once was.
    pub(crate) synced: Revision,
    /// When the commit was asked for, in milliseconds since 1970.
    pub(crate) time: u64,
}

/// One write, borrowed from where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoggedWrite<'a> {
    Delete {
        key: &'a [u8],
    },
    Put {
        key: &'a [u8],
        value: &'a [u8],
        /// When the value ends, in milliseconds since 1970.
        end: Option<u64>,
    },
}

impl<'a> LoggedWrite<'a> {
    pub(crate) fn key(&self) -> &'a [u8] {
        match self {
            Self::Delete { key } | Self::Put { key, .. } => key,
        }
    }

    /// Appends the write.
    pub(crate) fn encode(&self, buffer: &mut Vec<u8>) {
        match *self {
            Self::Delete { key } => {
                buffer.put_u8(KIND_DELETE);
                buffer.put_u32_le(length_of(key));
                buffer.put_slice(key);
            }
            Self::Put { key, value, end } => {
                let kind = if end.is_some() {
                    KIND_PUT_WITH_END
                } else {
                    KIND_PUT
                };
                buffer.put_u8(kind);
                buffer.put_u32_le(length_of(key));
                buffer.put_u32_le(length_of(value));
                if let Some(end) = end {
                    buffer.put_u64_le(end);
                }
                buffer.put_slice(key);
                buffer.put_slice(value);
            }
        }
    }

    /// Takes one write from the front; `None` when the bytes are none.
    pub(crate) fn decode(bytes: &mut &'a [u8]) -> Option<Self> {
        let kind = bytes.try_get_u8().ok()?;
        let key_length = bytes.try_get_u32_le().ok()?;
        if kind == KIND_DELETE {
            let key = take(bytes, key_length)?;
            return Some(Self::Delete { key });
        }
        let value_length = bytes.try_get_u32_le().ok()?;
        let end = match kind {
            KIND_PUT => None,
            KIND_PUT_WITH_END => Some(bytes.try_get_u64_le().ok()?),
            _ => return None,
        };
        let key = take(bytes, key_length)?;
        let value = take(bytes, value_length)?;
        Some(Self::Put { key, value, end })
    }
}

/// No record of these writes is longer: so much room there must be.
pub(crate) fn record_bytes_max(writes: usize, key_and_value_bytes: usize) -> usize {
    PREFIX_BYTES + HEAD_BYTES + writes * WRITE_BYTES_MAX + key_and_value_bytes + ALIGNMENT
}

/// Appends one record after the other to a buffer.
pub(crate) struct RecordEncoder<'b> {
    buffer: &'b mut Vec<u8>,
    start: usize,
    writes: u32,
}

impl<'b> RecordEncoder<'b> {
    /// Begins a record at the end of the buffer.
    pub(crate) fn begin(buffer: &'b mut Vec<u8>, head: Head) -> Self {
        let start = buffer.len();
        buffer.put_bytes(0, PREFIX_BYTES);
        buffer.put_u64_le(head.revision.get());
        buffer.put_u64_le(head.synced.get());
        buffer.put_u64_le(head.time);
        buffer.put_u32_le(0);
        Self {
            buffer,
            start,
            writes: 0,
        }
    }

    /// Adds a write.
    pub(crate) fn push(&mut self, write: LoggedWrite<'_>) {
        write.encode(self.buffer);
        self.writes += 1;
    }

    /// Ends the record: count, length, checksum, and zeros up to the next place for one.
    pub(crate) fn finish(self, seed: u32) {
        let body = self.start + PREFIX_BYTES;
        let count = body + HEAD_BYTES - 4;
        self.buffer[count..count + 4].copy_from_slice(&self.writes.to_le_bytes());
        let length = length_of(&self.buffer[body..]).to_le_bytes();
        let checksum = checksum(seed, length, &self.buffer[body..]).to_le_bytes();
        self.buffer[self.start..self.start + 4].copy_from_slice(&length);
        self.buffer[self.start + 4..body].copy_from_slice(&checksum);
        let written = self.buffer.len() - self.start;
        let padding = written.next_multiple_of(ALIGNMENT) - written;
        self.buffer.put_bytes(0, padding);
    }

    /// Takes back a record of which nothing was written.
    pub(crate) fn abandon(self) {
        self.buffer.truncate(self.start);
    }
}

/// What stands at the beginning of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A whole record.
    Record(Record<'a>),
    /// Zeros, where the next record will be written.
    Nothing,
    /// Bytes that are no record, or not the whole of it.
    Garbage,
}

/// A commit in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) head: Head,
    writes: &'a [u8],
}

impl<'a> Record<'a> {
    /// How many bytes the record at the beginning of the bytes takes up, if there is one.
    pub(crate) fn extent(bytes: &[u8]) -> usize {
        let length = prefix_of(bytes).map_or(0, |(length, _)| u32::from_le_bytes(length));
        (PREFIX_BYTES + length as usize).next_multiple_of(ALIGNMENT)
    }

    /// The record at the beginning of the bytes.
    pub(crate) fn find(bytes: &'a [u8], seed: u32) -> Found<'a> {
        let Some((length, stored)) = prefix_of(bytes) else {
            return Found::Garbage;
        };
        if length == [0; 4] && stored == 0 {
            return Found::Nothing;
        }
        let end = PREFIX_BYTES + u32::from_le_bytes(length) as usize;
        let Some(body) = bytes.get(PREFIX_BYTES..end) else {
            return Found::Garbage;
        };
        if checksum(seed, length, body) != stored {
            return Found::Garbage;
        }
        match Self::decode(body) {
            Some(record) => Found::Record(record),
            None => Found::Garbage,
        }
    }

    fn decode(body: &'a [u8]) -> Option<Self> {
        let (head, writes) = head_of(body)?;
        let mut rest = &body[HEAD_BYTES..];
        for _ in 0..writes {
            LoggedWrite::decode(&mut rest)?;
        }
        let writes = &body[HEAD_BYTES..];
        rest.is_empty().then_some(Self { head, writes })
    }

    /// How many bytes its writes take up.
    pub(crate) fn bytes(&self) -> usize {
        self.writes.len()
    }

    /// The writes of the commit, in its order.
    pub(crate) fn writes(&self) -> impl Iterator<Item = LoggedWrite<'a>> + use<'a> {
        writes_in(self.writes)
    }

    /// The same as they lie in the log.
    pub(crate) fn encoded_writes(&self) -> &'a [u8] {
        self.writes
    }
}

/// The writes in the bytes of a record, in the order of its commit.
pub(crate) fn writes_in(mut encoded: &[u8]) -> impl Iterator<Item = LoggedWrite<'_>> {
    std::iter::from_fn(move || LoggedWrite::decode(&mut encoded))
}

/// The revisions of a head that may stand at the beginning of the bytes, not yet proven.
pub(crate) fn glimpse(bytes: &[u8]) -> Option<Head> {
    let (head, _) = head_of(bytes.get(PREFIX_BYTES..)?)?;
    Some(head)
}

/// Checks the length together with the body, so that neither can change alone.
pub(crate) fn checksum(seed: u32, length: [u8; 4], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(seed, &length), body)
}

fn prefix_of(bytes: &[u8]) -> Option<([u8; 4], u32)> {
    let length = bytes.get(..4)?.try_into().ok()?;
    let stored = bytes.get(4..8)?.try_into().ok()?;
    Some((length, u32::from_le_bytes(stored)))
}

fn head_of(mut body: &[u8]) -> Option<(Head, u32)> {
    let head = Head {
        revision: Revision::new(body.try_get_u64_le().ok()?),
        synced: Revision::new(body.try_get_u64_le().ok()?),
        time: body.try_get_u64_le().ok()?,
    };
    Some((head, body.try_get_u32_le().ok()?))
}

fn take<'a>(bytes: &mut &'a [u8], length: u32) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length as usize)?;
    *bytes = rest;
    Some(taken)
}

fn length_of(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("a commit is smaller than COMMIT_BYTES_MAX")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: Head = Head {
        revision: Revision::new(7),
        synced: Revision::new(6),
        time: 1_000,
    };

    const WRITES: [LoggedWrite<'_>; 3] = [
        LoggedWrite::Delete { key: b"gone" },
        LoggedWrite::Put {
            key: b"a",
            value: b"hello",
            end: None,
        },
        LoggedWrite::Put {
            key: b"b",
            value: b"",
            end: Some(9),
        },
    ];

    fn encoded(seed: u32) -> Vec<u8> {
        let mut buffer = Vec::new();
        let mut encoder = RecordEncoder::begin(&mut buffer, HEAD);
        for write in WRITES {
            encoder.push(write);
        }
        encoder.finish(seed);
        buffer
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let bytes = encoded(5);
        let Found::Record(record) = Record::find(&bytes, 5) else {
            panic!("there is a record");
        };
        assert_eq!(record.head, HEAD);
        assert_eq!(Record::extent(&bytes), bytes.len());
        assert_eq!(record.writes().collect::<Vec<_>>(), WRITES);
        let key_and_value_bytes = 4 + 6 + 1;
        assert!(bytes.len() <= record_bytes_max(3, key_and_value_bytes));
    }

    #[test]
    fn a_record_of_another_segment_is_none() {
        assert_eq!(Record::find(&encoded(5), 6), Found::Garbage);
    }

    #[test]
    fn a_flipped_bit_is_noticed_wherever_it_is() {
        let bytes = encoded(5);
        let length = PREFIX_BYTES + u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        for bit in 0..length * 8 {
            let mut mangled = bytes.clone();
            mangled[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Record::find(&mangled, 5), Found::Garbage, "bit {bit}");
        }
    }

    #[test]
    fn a_record_cut_short_is_none() {
        let bytes = encoded(5);
        let length = PREFIX_BYTES + u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        for cut in 0..length {
            assert_eq!(
                Record::find(&bytes[..cut], 5),
                Found::Garbage,
                "cut at {cut}"
            );
        }
        assert_eq!(Record::find(&[0; 64], 5), Found::Nothing);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, seed: u32) {
            prop_assert!(!matches!(Record::find(&bytes, seed), Found::Record(_)));
            Record::extent(&bytes);
            glimpse(&bytes);
            let mut rest = bytes.as_slice();
            while LoggedWrite::decode(&mut rest).is_some() {}
        }

        #[test]
        fn a_body_with_a_right_checksum_is_read_without_a_panic(body: Vec<u8>, seed: u32) {
            let length = (body.len() as u32).to_le_bytes();
            let checksum = checksum(seed, length, &body).to_le_bytes();
            let bytes = [&length[..], &checksum, &body].concat();
            if let Found::Record(record) = Record::find(&bytes, seed) {
                record.writes().count();
            }
        }
    }
}
