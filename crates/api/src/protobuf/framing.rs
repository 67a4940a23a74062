//! What stands around messages that are encoded already, so that one encoding serves an answer,
//! an item of a list and an event alike, and is never copied to become one.

use super::encode::Backward;
use super::envelope::{API_VERSION, CONTENT_ENCODING, CONTENT_TYPE, KIND, PREFIX, RAW, TYPE_META};
use super::wire::varint_length;
use crate::watch_event::EventType;

/// How the encoding and type of the content end every envelope: both empty.
const ENVELOPE_END: &[u8] = &[CONTENT_ENCODING << 3 | 2, 0, CONTENT_TYPE << 3 | 2, 0];

const LIST_METADATA: u32 = 1;
const LIST_ITEMS: u32 = 2;
const EVENT_TYPE: u32 = 1;
const EVENT_OBJECT: u32 = 2;
const EXTENSION_RAW: u32 = 1;

/// Bytes of the tag before an item of a list.
const ITEM_TAG_LENGTH: usize = 1;
/// Room for what stands before a message, without the names in it.
const BEFORE_LENGTH: usize = 96;

/// What a message stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeMeta<'a> {
    /// The group and version, such as `apps/v1`.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
}

/// The bytes before and after something that is encoded already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// What stands before it.
    pub before: Vec<u8>,
    /// What stands after it.
    pub after: &'static [u8],
}

impl Surroundings {
    /// Makes a body of a message of this length.
    pub fn of_object(type_meta: TypeMeta<'_>, message_length: usize) -> Self {
        let mut out = begin(type_meta);
        envelope(type_meta, message_length, &mut out);
        Self::new(&out)
    }

    /// Makes a body of the items of a list, of which each stands after its [`item_head`]; together
    /// they have this length. `metadata` is the message of the list's metadata.
    pub fn of_items(type_meta: TypeMeta<'_>, metadata: &[u8], items_length: usize) -> Self {
        let mut out = Backward::with_capacity(BEFORE_LENGTH + metadata.len());
        out.bytes_field(LIST_METADATA, metadata);
        let list_length = out.length() + items_length;
        envelope(type_meta, list_length, &mut out);
        Self::new(&out)
    }

    /// Makes a frame of a watch's stream of a message of this length.
    pub fn of_event(event: EventType, type_meta: TypeMeta<'_>, message_length: usize) -> Self {
        let mut out = begin(type_meta);
        envelope(type_meta, message_length, &mut out);
        let written = |out: &Backward| out.length() + message_length + ENVELOPE_END.len();
        out.length_delimited(EXTENSION_RAW, written(&out));
        out.length_delimited(EVENT_OBJECT, written(&out));
        out.bytes_field(EVENT_TYPE, event.as_str().as_bytes());
        let length = u32::try_from(written(&out)).expect("objects are far smaller than 4 GiB");
        out.put(&length.to_be_bytes());
        Self::new(&out)
    }

    /// The whole, copied into one piece.
    pub fn around(&self, encoded: &[u8]) -> Vec<u8> {
        [&*self.before, encoded, self.after].concat()
    }

    fn new(out: &Backward) -> Self {
        Self {
            before: out.to_vec(),
            after: ENVELOPE_END,
        }
    }
}

/// What stands before a message of this length when it is an item of a list.
pub fn item_head(message_length: usize) -> Vec<u8> {
    let mut out = Backward::with_capacity(item_length(0) + varint_length(u64::MAX));
    out.length_delimited(LIST_ITEMS, message_length);
    out.to_vec()
}

/// The length of an item of a list, its head included.
pub fn item_length(message_length: usize) -> usize {
    ITEM_TAG_LENGTH + varint_length(message_length as u64) + message_length
}

fn begin(type_meta: TypeMeta<'_>) -> Backward {
    Backward::with_capacity(BEFORE_LENGTH + type_meta.api_version.len() + type_meta.kind.len())
}

/// What stands before a message of this length, of which `out` may be the beginning.
fn envelope(type_meta: TypeMeta<'_>, message_length: usize, out: &mut Backward) {
    out.length_delimited(RAW, message_length);
    let before = out.length();
    out.bytes_field(KIND, type_meta.kind.as_bytes());
    out.bytes_field(API_VERSION, type_meta.api_version.as_bytes());
    out.close(TYPE_META, before);
    out.put(PREFIX);
}

#[cfg(test)]
mod tests {
    use super::super::Envelope;
    use super::*;

    const CONFIG_MAP: TypeMeta<'_> = TypeMeta {
        api_version: "v1",
        kind: "ConfigMap",
    };

    #[test]
    fn a_body_is_read_as_it_was_written() {
        let message = [7; 300];
        let body = Surroundings::of_object(CONFIG_MAP, message.len()).around(&message);
        let expected = Envelope {
            api_version: "v1",
            kind: "ConfigMap",
            raw: &message,
        };
        assert_eq!(Envelope::parse(&body), Ok(expected));
    }

    #[test]
    fn an_item_of_a_list_tells_its_length() {
        assert_eq!(item_head(300), [0x12, 0xac, 0x02]);
        for length in [0, 127, 128, 16_383, 16_384] {
            assert_eq!(item_length(length), item_head(length).len() + length);
        }
    }

    #[test]
    fn a_frame_begins_with_its_length() {
        let frame = Surroundings::of_event(EventType::Added, CONFIG_MAP, 2).around(&[8, 1]);
        let (length, rest) = frame.split_first_chunk().unwrap();
        assert_eq!(u32::from_be_bytes(*length) as usize, rest.len());
        assert!(rest.starts_with(b"\x0a\x05ADDED\x12"));
    }
}
