//! A plain HTTP client that shows everything and repairs nothing, so that a history records what
//! the server did and not what a library made of it.

mod collection;
mod connection;
mod error;
mod list;
mod watch;
mod write;

pub use collection::{Collection, InvalidAddress};
pub use connection::Client;
pub use error::{RequestError, WatchError};
pub use list::{Freshness, ListOptions, Page};
pub use watch::{Bookmark, Bookmarks, WatchEvent, WatchOptions, WatchStart, WatchStream};
pub use write::{Deleted, Patch, Precondition};
