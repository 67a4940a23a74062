//! One stored object and how it is given out.

use std::{num::NonZeroU32, ops::Range};

use bytes::{BufMut, Bytes};

use super::scanner;
use crate::ResourceVersion;

/// The members to descend to a field, such as `spec`, `nodeName`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberPath(Box<[Box<str>]>);

impl MemberPath {
    /// The path through these members.
    pub fn new(members: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        Self(members.into_iter().map(Into::into).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn member(&self, depth: usize) -> Option<&[u8]> {
        self.0.get(depth).map(|member| member.as_bytes())
    }
}

/// An object's canonical bytes and where its parts are in them: 64 bytes beside the value, and 8
/// for each label and selectable field.
///
/// ```text
/// {"kind":"Pod","apiVersion":"v1","metadata":{"uid":"u","labels":{"app":"web"}},"spec":…}
///                                 ^ header_end         ^ version_at ^^^   ^^^   ^ metadata_end
/// ```
#[derive(Clone, Debug)]
pub struct StoredObject {
    value: Bytes,
    /// Labels first, then one for each field asked for, up to the last that is there.
    spans: Box<[Option<Span>]>,
    version_at: u32,
    metadata_end: u32,
    header_end: u16,
    label_count: u16,
}

/// Where a label or a field is. Nothing is at offset zero, so an absent one costs no more.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: NonZeroU32,
    /// Of a field the length, of a label those of its key and its value, in 16 bits each.
    length: u32,
}

/// Where the parts of an object are that every answer needs.
pub(super) struct Layout {
    /// The begin of `"metadata"`.
    pub(super) header_end: usize,
    /// Where a resourceVersion belongs.
    pub(super) version_at: usize,
    /// Behind the brace that closes the metadata.
    pub(super) metadata_end: usize,
}

/// What of `kind` and `apiVersion` to give with an object.
#[derive(Clone, Copy, Debug)]
pub enum Header<'a> {
    /// As they are stored.
    Stored,
    /// Neither, as in the items of a list.
    Omitted,
    /// These members instead, such as `"kind":"Event","apiVersion":"v1"`.
    Replaced(&'a [u8]),
}

/// Why bytes are not a stored object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Not JSON, or not as [`super::to_canonical`] writes it.
    #[error("the stored bytes are not a canonical object at offset {offset}")]
    NotCanonical {
        /// The first byte that fits nothing.
        offset: usize,
    },
    /// Something else than `kind` and `apiVersion` stands before `metadata`.
    #[error("the stored object does not begin with its metadata")]
    MetadataNotFirst,
    /// More brackets inside one another than any parser here takes.
    #[error("the stored object is nested too deep")]
    TooDeep,
    /// A part is longer than its offsets can say.
    #[error("a part of the stored object is too long")]
    TooLong,
}

impl StoredObject {
    /// Finds the parts of canonical bytes and the values of these fields.
    pub fn scan(value: Bytes, fields: &[MemberPath]) -> Result<Self, LayoutError> {
        let places = scanner::scan(&value, fields)?;
        let last = places.fields.iter().rposition(Option::is_some);
        let present = last.map_or(0, |last| last + 1);
        let mut spans = Vec::with_capacity(places.labels.len() + present);
        for label in &places.labels {
            spans.push(Some(Span::label(label)?));
        }
        for field in &places.fields[..present] {
            spans.push(field.as_ref().map(Span::field).transpose()?);
        }
        Ok(Self {
            spans: spans.into(),
            version_at: narrow(places.version_at)?,
            metadata_end: narrow(places.metadata_end)?,
            header_end: narrow(places.header_end)?,
            label_count: narrow(places.labels.len())?,
            value,
        })
    }

    /// The parts of bytes of which it is known where they lie, without labels and fields.
    pub(super) fn laid_out(value: Bytes, layout: &Layout) -> Result<Self, LayoutError> {
        Ok(Self {
            spans: Box::default(),
            version_at: narrow(layout.version_at)?,
            metadata_end: narrow(layout.metadata_end)?,
            header_end: narrow(layout.header_end)?,
            label_count: 0,
            value,
        })
    }

    /// The text before the metadata, the metadata, and the text behind them.
    pub(super) fn sections(&self) -> (&str, &str, &str) {
        let metadata_at = usize::from(self.header_end) + "\"metadata\":".len();
        let metadata_end = self.metadata_end as usize;
        (
            self.text(0..usize::from(self.header_end)),
            self.text(metadata_at..metadata_end),
            self.text(metadata_end..self.value.len()),
        )
    }

    /// The `apiVersion` that it says; empty when it says none.
    pub fn api_version(&self) -> &str {
        const MEMBER: &str = r#""apiVersion":""#;
        let (header, _, _) = self.sections();
        let value = header.split_once(MEMBER).map(|(_, rest)| rest);
        let value = value.and_then(|rest| rest.split_once('"'));
        value.map_or("", |(version, _)| version)
    }

    /// The stored bytes.
    pub fn value(&self) -> &Bytes {
        &self.value
    }

    /// The labels, sorted by key.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.label_ranges()
            .map(|(key, value)| (self.text(key), self.text(value)))
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.label_ranges()
            .find(|(range, _)| &self.value[range.clone()] == key.as_bytes())
            .map(|(_, value)| self.text(value))
    }

    /// Each label as the bytes `key":"value`, which name it uniquely.
    pub fn label_terms(&self) -> impl Iterator<Item = &[u8]> {
        self.label_ranges()
            .map(|(key, value)| &self.value[key.start..value.end])
    }

    /// The text of the field with this index among those scanned for, escaped as in
    /// [`super::append_escaped`]; `None` when it is absent, null or no plain value.
    pub fn field(&self, index: usize) -> Option<&str> {
        let span = (*self.spans.get(usize::from(self.label_count) + index)?)?;
        let start = span.start.get() as usize;
        Some(self.text(start..start + span.length as usize))
    }

    /// Appends the object with its resourceVersion.
    pub fn append(&self, header: Header<'_>, version: ResourceVersion, buffer: &mut impl BufMut) {
        self.append_head(header, version, buffer);
        buffer.put_slice(&self.value[self.version_at as usize..]);
    }

    /// Appends an object that has the given header and nothing but the metadata of this one.
    pub fn append_metadata_only(
        &self,
        header: &[u8],
        version: ResourceVersion,
        buffer: &mut impl BufMut,
    ) {
        self.append_head(Header::Replaced(header), version, buffer);
        buffer.put_slice(&self.value[self.version_at as usize..self.metadata_end as usize]);
        buffer.put_u8(b'}');
    }

    /// Appends the object with the given header and without a resourceVersion.
    pub fn append_unversioned(&self, header: &[u8], buffer: &mut impl BufMut) {
        buffer.put_u8(b'{');
        buffer.put_slice(header);
        buffer.put_u8(b',');
        buffer.put_slice(&self.value[usize::from(self.header_end)..]);
    }

    /// How many bytes [`Self::append`] appends at the most, with a header of the stored length.
    pub fn appended_len(&self) -> usize {
        self.value.len() + r#","resourceVersion":"18446744073709551615""#.len()
    }

    /// Everything before the part that follows the resourceVersion, and the resourceVersion.
    fn append_head(&self, header: Header<'_>, version: ResourceVersion, buffer: &mut impl BufMut) {
        let header_end = usize::from(self.header_end);
        let version_at = self.version_at as usize;
        match header {
            Header::Stored => buffer.put_slice(&self.value[..header_end]),
            Header::Omitted => buffer.put_u8(b'{'),
            Header::Replaced(members) => {
                buffer.put_u8(b'{');
                buffer.put_slice(members);
                buffer.put_u8(b',');
            }
        }
        buffer.put_slice(&self.value[header_end..version_at]);
        let first = self.value[version_at - 1] == b'{';
        let last = self.value[version_at] == b'}';
        if !first {
            buffer.put_u8(b',');
        }
        buffer.put_slice(b"\"resourceVersion\":\"");
        append_decimal(version.get(), buffer);
        buffer.put_u8(b'"');
        if first && !last {
            buffer.put_u8(b',');
        }
    }

    fn label_ranges(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        const BETWEEN: usize = r#"":""#.len();
        let labels = &self.spans[..usize::from(self.label_count)];
        labels.iter().flatten().map(|span| {
            let key_start = span.start.get() as usize;
            let key_end = key_start + (span.length >> 16) as usize;
            let value_start = key_end + BETWEEN;
            let value_end = value_start + (span.length & 0xffff) as usize;
            (key_start..key_end, value_start..value_end)
        })
    }

    fn text(&self, range: Range<usize>) -> &str {
        std::str::from_utf8(&self.value[range]).unwrap_or_default()
    }
}

impl Span {
    fn label((key, value): &(Range<usize>, Range<usize>)) -> Result<Self, LayoutError> {
        let (key_length, value_length): (u16, u16) = (narrow(key.len())?, narrow(value.len())?);
        let length = u32::from(key_length) << 16 | u32::from(value_length);
        Self::new(key.start, length)
    }

    fn field(text: &Range<usize>) -> Result<Self, LayoutError> {
        Self::new(text.start, narrow(text.len())?)
    }

    fn new(start: usize, length: u32) -> Result<Self, LayoutError> {
        let start = NonZeroU32::new(narrow(start)?).expect("an object begins with its brace");
        Ok(Self { start, length })
    }
}

fn narrow<T: TryFrom<usize>>(number: usize) -> Result<T, LayoutError> {
    T::try_from(number).map_err(|_| LayoutError::TooLong)
}

pub(super) fn append_decimal(mut number: u64, buffer: &mut impl BufMut) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] += (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    buffer.put_slice(&digits[first..]);
}

#[cfg(test)]
mod tests;
