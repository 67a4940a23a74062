//! Objects, lists and events to bytes. HTTP codes are chosen here and nowhere deeper.

mod accepted;
mod body;
mod cbor_items;
mod compress;
mod failure;
mod format;
mod indent;
mod kept_messages;
mod list_stream;
mod messages;
pub mod partial_metadata;
pub mod table;
mod watch_stream;

pub(crate) use accepted::{Accepted, negotiate, negotiate_list, negotiate_watch, warn};
pub(crate) use body::{Body, Piece, Upgrade};
pub(crate) use compress::{Compressor, accepts_gzip};
pub(crate) use failure::{
    bare, exact_list_failed, json, not_found_page, plain_text, preferences, status,
    too_many_requests,
};
pub(crate) use format::Format;
pub(crate) use indent::indented;
pub(crate) use kept_messages::{Identity, KeptMessages};
pub(crate) use list_stream::{Converted, ListPage};
pub(crate) use watch_stream::{Beginning, Bookmarks, ConvertedWatch, WatchPlan, WatchStream};
