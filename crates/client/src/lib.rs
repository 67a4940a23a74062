//! List and watch against any Kubernetes API.
//!
//! Read down the modules to follow a request: what it is about, how it is sent, what comes back,
//! and what to do when nothing good does.

mod collection;
mod connection;
mod list;
mod watch;
mod write;
mod error;

pub use collection::{Collection, InvalidAddress};
pub use connection::Client;
pub use error::{RequestError, WatchError};
pub use list::{Freshness, ListOptions, Page};
pub use watch::{Bookmark, Bookmarks, WatchEvent, WatchOptions, WatchStart, WatchStream};
pub use write::{Deleted, Patch, Precondition};
