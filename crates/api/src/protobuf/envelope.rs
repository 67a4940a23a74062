//! What stands around every message: four bytes that tell the format, and the message's kind.

use super::ProtobufError;
use super::wire::{Reader, Wire};

/// The first bytes of every body.
pub(super) const PREFIX: &[u8; 4] = b"k8s\0";

pub(super) const TYPE_META: u32 = 1;
pub(super) const RAW: u32 = 2;
pub(super) const CONTENT_ENCODING: u8 = 3;
pub(super) const CONTENT_TYPE: u8 = 4;
pub(super) const API_VERSION: u32 = 1;
pub(super) const KIND: u32 = 2;

/// A message and what it says it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The group and version, such as `apps/v1`; empty when the client does not say.
    pub api_version: &'a str,
    /// The kind; empty when the client does not say.
    pub kind: &'a str,
    /// The message.
    pub raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Reads a body.
    pub fn parse(body: &'a [u8]) -> Result<Self, ProtobufError> {
        if body.is_empty() {
            return Err(ProtobufError::new("empty data"));
        }
        let Some(unknown) = body.strip_prefix(PREFIX) else {
            return Err(ProtobufError::new(format!(
                "provided data does not appear to be a protobuf message, expected prefix \
                 [{} {} {} {}]",
                PREFIX[0], PREFIX[1], PREFIX[2], PREFIX[3]
            )));
        };
        if unknown.is_empty() {
            return Err(ProtobufError::new("empty body"));
        }
        let mut envelope = Self::default();
        let mut reader = Reader::named("Unknown", unknown);
        while let Some((number, wire)) = reader.next()? {
            match number {
                TYPE_META => envelope.read_type_meta(wire)?,
                RAW => envelope.raw = wire.bytes("raw")?,
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_type_meta(&mut self, wire: Wire<'a>) -> Result<(), ProtobufError> {
        let mut reader = Reader::named("TypeMeta", wire.bytes("typeMeta")?);
        while let Some((number, wire)) = reader.next()? {
            match number {
                API_VERSION => self.api_version = wire.text("apiVersion")?,
                KIND => self.kind = wire.text("kind")?,
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &[u8]) -> String {
        Envelope::parse(body).unwrap_err().to_string()
    }

    #[test]
    fn a_body_tells_its_kind_and_carries_its_message() {
        let body = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x02\x08\x01\x1a\0\x22\0";
        let expected = Envelope {
            api_version: "v1",
            kind: "ConfigMap",
            raw: &[8, 1],
        };
        assert_eq!(Envelope::parse(body), Ok(expected));
    }

    #[test]
    fn what_is_no_envelope_is_refused() {
        assert_eq!(refusal(b""), "empty data");
        assert_eq!(refusal(b"k8s\0"), "empty body");
        assert_eq!(
            refusal(b"{}"),
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        );
        assert_eq!(refusal(b"k8s\0\x12\x05a"), "unexpected EOF");
    }
}
