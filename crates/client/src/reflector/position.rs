//! How far a reflector has got, and how new an answer it therefore asks for.

use crate::{Version, lister_watcher::Freshness};

/// The resourceVersion policy.
///
/// ```text
///                                     list                 streaming list
/// nothing fetched yet                 Any                  MostRecent
/// fetched up to 7                     NotOlderThan(7)      NotOlderThan(7)
/// a list or stream refused 7          MostRecent           MostRecent
/// ```
///
/// An expired watch changes nothing here: a list that is not older than 7 needs no history.
#[derive(Debug, Default)]
pub(super) struct Position {
    version: Option<Version>,
    standing: Standing,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Standing {
    #[default]
    Good,
    /// The source has said that it cannot answer at the version.
    Unavailable,
}

impl Position {
    /// The version up to which everything has been told.
    pub(super) fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    pub(super) fn of_list(&self) -> Freshness {
        self.at_least_or(Freshness::Any)
    }

    pub(super) fn of_streaming_list(&self) -> Freshness {
        self.at_least_or(Freshness::MostRecent)
    }

    fn at_least_or(&self, first: Freshness) -> Freshness {
        match (&self.standing, &self.version) {
            (Standing::Unavailable, _) => Freshness::MostRecent,
            (Standing::Good, Some(version)) => Freshness::NotOlderThan(version.clone()),
            (Standing::Good, None) => first,
        }
    }

    /// A list or a streaming list could not be answered at the version.
    pub(super) fn refuse(&mut self) {
        self.standing = Standing::Unavailable;
    }

    /// The whole state was told.
    pub(super) fn fill(&mut self, version: Version) {
        self.version = Some(version);
        self.standing = Standing::Good;
    }

    /// A change or a bookmark was told. An event that is told again takes nothing back.
    pub(super) fn advance(&mut self, version: Version) {
        let reached = self.version.as_ref();
        if !reached.is_some_and(|reached| reached.reaches(&version)) {
            self.version = Some(version);
        }
    }
}
