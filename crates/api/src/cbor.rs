//! Objects in CBOR (RFC 8949), as Kubernetes writes and reads them.
//!
//! Everything is made of JSON and becomes JSON again; what is written is deterministic, byte for
//! byte as Kubernetes' own encoder orders it. Bytes are trusted in nothing: lengths, depth and the
//! number of values are bounded, and what is wrong is told in the words that Go clients know.

mod decode;
mod encode;
mod framing;
mod head;
mod number;
mod scan;

pub use decode::{decode, decode_object};
pub use encode::{Typing, encode};
pub use framing::{ListFrame, document, event};
pub use scan::item_length;

/// The tag around every document, by which one knows it (RFC 8949, 3.4.6).
const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];

/// Values within values; what is deeper is refused, as it is in JSON.
const DEPTH_MAX: usize = 127;

/// Values of a document, as many as JSON could bring in the largest body. More are refused.
const VALUES_MAX: usize = 1_500_000;

/// Why bytes are not what they should be; the text goes to the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CborError {
    /// They are no CBOR at all.
    #[error("{0}")]
    Malformed(String),
    /// They are CBOR, but say what no object can say.
    #[error("{0}")]
    Unacceptable(String),
}

impl CborError {
    fn malformed(text: impl Into<String>) -> Self {
        Self::Malformed(text.into())
    }

    fn unacceptable(text: impl Into<String>) -> Self {
        Self::Unacceptable(text.into())
    }

    /// What the application does not take of what CBOR allows.
    fn not_accepted(major: head::Major, what: &str) -> String {
        let major = major.name();
        format!("cbor: data item of cbor type {major} is not accepted by protocol: {what}")
    }
}

#[cfg(test)]
mod tests;
