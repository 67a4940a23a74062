//! Kubernetes' JSON on the wire: lists and watch events become raw objects in one pass.
//!
//! Nothing here builds a tree. An object is scanned for its name, version, uid and labels, and its
//! bytes are passed on as a slice of what was received. What was received never decides how deep
//! anything recurses, and everything that waits for more bytes has a bound.

mod structure;
mod cursor;
mod field;
mod header;
mod dropped_fields;
mod label_pool;
mod status;
mod event;
mod lines;
mod list_parser;

pub use dropped_fields::DroppedFields;
pub use event::{WatchFrame, read_frame};
pub use field::{text_at, value_at};
pub use header::{Header, Malformed};
pub use label_pool::LabelPool;
pub use lines::Lines;
pub use list_parser::ListParser;
pub use status::{Status, StatusCause, StatusDetails};

use bytes::Bytes;

use crate::{RawObject, lister_watcher::Unreadable};

/// Bytes of one object or one event, at the most: an answer with a larger one cannot be read. A
/// Kubernetes object has at most about 1.5 MB, and its event a little more.
pub const FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;

impl RawObject {
    /// Reads an object that a Kubernetes API has sent: one JSON object, and nothing after it.
    pub fn from_json(body: Bytes, labels: &mut LabelPool) -> Result<Self, Unreadable> {
        let header = match Header::scan(&body) {
            Ok(header) if header.end == body.len() => Ok(header),
            Ok(_) => Err(Malformed::new("something follows the object")),
            Err(malformed) => Err(malformed),
        };
        match header.and_then(|header| header.object(&body, labels)) {
            Ok(object) => Ok(object),
            Err(malformed) => Err(malformed.into_unreadable(body)),
        }
    }
}
