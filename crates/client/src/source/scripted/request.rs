//! What a scripted source was asked, in one line each.

use std::fmt;

use crate::lister_watcher::{Freshness, ListOptions, WatchOptions, WatchStart};

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A list, or a page of one.
    List(ListOptions),
    /// A watch.
    Watch(WatchOptions),
}

/// Which requests a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    /// A list, or its first page.
    List,
    /// A page after the first.
    NextPage,
    /// A watch from a version.
    Watch,
    /// A watch that begins with the state.
    StreamingList,
}

impl Request {
    /// Its kind.
    pub fn kind(&self) -> RequestKind {
        match self {
            Self::List(options) if options.continue_token.is_some() => RequestKind::NextPage,
            Self::List(_) => RequestKind::List,
            Self::Watch(options) => match options.start {
                WatchStart::After(_) => RequestKind::Watch,
                WatchStart::InitialEvents(_) => RequestKind::StreamingList,
            },
        }
    }
}

/// `list any, limit 500` or `watch after 7`; a watch's timeout is left out, since it is chance.
impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(options) => {
                match &options.continue_token {
                    Some(token) => write!(formatter, "list from {token}")?,
                    None => write!(formatter, "list {}", Words(&options.freshness))?,
                }
                let limit = options.limit;
                limit.map_or(Ok(()), |limit| write!(formatter, ", limit {limit}"))
            }
            Self::Watch(options) => match &options.start {
                WatchStart::After(version) => write!(formatter, "watch after {version}"),
                WatchStart::InitialEvents(freshness) => {
                    write!(formatter, "stream {}", Words(freshness))
                }
            },
        }
    }
}

struct Words<'a>(&'a Freshness);

impl fmt::Display for Words<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Freshness::MostRecent => formatter.write_str("most recent"),
            Freshness::Any => formatter.write_str("any"),
            Freshness::NotOlderThan(version) => write!(formatter, "not older than {version}"),
            Freshness::Exactly(version) => write!(formatter, "exactly {version}"),
        }
    }
}
