//! Answers in protobuf, read as a client reads them.

use bytes::Bytes;
use listwatch_api::protobuf::{self, Envelope};
use listwatch_server::registry::Registry;
use serde_json::Value;

use crate::{
    client::{Answer, Call, Chunks, Event},
    running::within,
};

use super::{type_id, without_nulls};

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(crate) const PROTOBUF_WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// Reads what a server writes.
pub(crate) struct Reading(Registry);

impl Reading {
    pub(crate) fn new() -> Self {
        Self(Registry::builtin())
    }

    /// The object or list in a body.
    #[track_caller]
    pub(crate) fn document(&self, body: &[u8]) -> Value {
        let envelope = Envelope::parse(body).unwrap();
        let type_id = type_id(&self.0, envelope.api_version, envelope.kind);
        let mut object = protobuf::decode(self.0.schema(), type_id, envelope.raw).unwrap();
        object.insert("apiVersion".to_owned(), envelope.api_version.into());
        object.insert("kind".to_owned(), envelope.kind.into());
        let mut object = Value::Object(object);
        without_nulls(&mut object);
        object
    }

    /// The document of an answer with this code, which must say that it is protobuf.
    #[track_caller]
    pub(crate) fn answer(&self, answer: &Answer, code: u16) -> Value {
        assert_eq!(answer.code, code, "{}", answer.text());
        assert_eq!(answer.header("content-type"), PROTOBUF);
        self.document(&answer.body)
    }

    /// The event in a frame, without its length.
    #[track_caller]
    pub(crate) fn event(&self, frame: &[u8]) -> Event {
        let (event_type, frame) = field(frame, 1);
        let (extension, rest) = field(frame, 2);
        let (raw, inside) = field(extension, 1);
        assert!(rest.is_empty() && inside.is_empty());
        Event {
            event_type: String::from_utf8(event_type.to_vec()).unwrap(),
            object: self.document(raw),
        }
    }
}

/// The events of a watch in protobuf.
pub(crate) struct Frames {
    chunks: Chunks,
    partial: Vec<u8>,
    reading: Reading,
}

impl Frames {
    pub(crate) async fn open(call: Call<'_>) -> Self {
        Self::of(call.header("accept", PROTOBUF_WATCH).chunks().await)
    }

    pub(crate) fn of(chunks: Chunks) -> Self {
        Self {
            chunks,
            partial: Vec::new(),
            reading: Reading::new(),
        }
    }

    /// The bytes of the next frame, which must come.
    pub(crate) async fn next_bytes(&mut self) -> Bytes {
        loop {
            if let Some(frame) = self.take_frame() {
                return frame;
            }
            let chunk = within(self.chunks.next()).await;
            self.partial.extend_from_slice(&chunk);
        }
    }

    /// The next event, which must come.
    pub(crate) async fn next(&mut self) -> Event {
        let frame = self.next_bytes().await;
        self.reading.event(&frame)
    }

    fn take_frame(&mut self) -> Option<Bytes> {
        let length = u32::from_be_bytes(*self.partial.first_chunk()?) as usize;
        let frame = self.partial.get(4..4 + length)?.to_vec();
        self.partial.drain(..4 + length);
        Some(frame.into())
    }
}

/// The bytes of the field that comes next and has this number, and what follows.
#[track_caller]
fn field(message: &[u8], number: u8) -> (&[u8], &[u8]) {
    assert_eq!(message[0], number << 3 | 2);
    let (mut length, mut at) = (0, 1);
    loop {
        let byte = message[at];
        length |= usize::from(byte & 0x7f) << (7 * (at - 1));
        at += 1;
        if byte & 0x80 == 0 {
            return message[at..].split_at(length);
        }
    }
}
