//! Informers and clients on a server or a store of the same process, without a socket.
//!
//! A crate of its own, so that the server never depends on the client nor the client on the server.

mod server_client;
mod server_source;
mod store_source;

pub use server_client::{client, client_named};
pub use server_source::{ServerSource, UnknownKind};
pub use store_source::StoreSource;

use std::time::Duration;

use listwatch::Version;
use listwatch_store::Revision;

/// How often a watch on which nothing happens tells how far it is.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(1);

fn version(revision: Revision) -> Version {
    Version::Number(revision.get())
}

/// The revision that a version stands for; `None` if it is not one of ours.
fn revision(version: &Version) -> Option<Revision> {
    match version {
        Version::Number(number) => Some(Revision::new(*number)),
        Version::Text(_) => None,
    }
}
