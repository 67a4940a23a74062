//! The seam between informers and where objects come from.
//!
//! A source finds the name and the version of each object and leaves its bytes alone: what they
//! mean is the [`Decoder`](crate::Decoder)'s business.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use thiserror::Error;

use crate::{Labels, ObjectKey, Uid, Version};

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that can list a collection of objects and watch it change.
///
/// What is listed and watched (which kind, namespace, selector or prefix) is the source's own
/// state: list and watch are always about the same objects.
pub trait ListerWatcher: Send + Sync + 'static {
    /// Begins one page of a list, or all of it when there is no limit.
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>>;

    /// Begins a watch. A start that is too old may be refused here or by the stream's first answer.
    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>>;

    /// Whether a watch can begin with the state.
    fn initial_events(&self) -> InitialEvents {
        InitialEvents::Offered
    }
}

/// Whether a source's watches can begin with [`WatchStart::InitialEvents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialEvents {
    /// Worth asking for. The source may still refuse.
    Offered,
    /// Known not to be there: nobody asks.
    Unsupported,
}

/// One page of a list, in parts as they come. Dropping it ends the request.
pub trait ListStream: Send {
    /// The next part. Not called again after [`ListPart::End`] or an error.
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>>;
}

/// What a list is made of.
#[derive(Debug)]
pub enum ListPart {
    /// Some objects.
    Items(Vec<Result<RawObject, Unreadable>>),
    /// The page is complete.
    End(ListEnd),
}

/// What is known when a page is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEnd {
    /// The version of the whole list; `None` if the source gave none.
    pub version: Option<Version>,
    /// Asks for the next page; `None` when this was the last.
    pub continue_token: Option<String>,
}

/// The events of one watch. Dropping it ends the watch.
pub trait EventStream: Send {
    /// All events at hand, at least one; `None` when the source has ended the stream in good order.
    /// Not called again after `None` or an error. Cancel safe: a dropped future loses nothing.
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>>;
}

/// How to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOptions {
    /// How new the answer has to be. A continue token says so itself.
    pub freshness: Freshness,
    /// At most this many objects. A source may return more.
    pub limit: Option<u32>,
    /// Goes on where the page that gave this token ended.
    pub continue_token: Option<String>,
}

/// How new an answer has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As new as everything acknowledged before.
    MostRecent,
    /// Whatever is at hand.
    Any,
    /// At this version or later.
    NotOlderThan(Version),
    /// At exactly this version.
    Exactly(Version),
}

/// How to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// Where to begin.
    pub start: WatchStart,
    /// After how long the source should end the stream in good order.
    pub timeout: Duration,
}

/// Where a watch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchStart {
    /// With the first change after this version.
    After(Version),
    /// With the state as [`RawEvent::Added`], then a [`Bookmark::InitialEventsEnd`], then changes.
    InitialEvents(Freshness),
}

/// An object as its source hands it over.
#[derive(Clone, Debug)]
pub struct RawObject {
    /// Its name.
    pub key: ObjectKey,
    /// Its version.
    pub version: Version,
    /// Which object of this name it is, where the source tells.
    pub uid: Option<Uid>,
    /// Its labels; none where the source has no labels.
    pub labels: Labels,
    /// Its bytes, perhaps a slice of a larger buffer: copy what is kept.
    pub body: Bytes,
}

/// What a watch tells.
#[derive(Clone, Debug)]
pub enum RawEvent {
    /// The object exists and was not seen before.
    Added(RawObject),
    /// The object changed.
    Modified(RawObject),
    /// The object is gone; this is its last state, with the version of the deletion.
    Deleted(RawObject),
    /// Everything up to a version has been sent.
    Bookmark(Bookmark),
    /// One event could not be understood. The stream goes on.
    Unreadable(Unreadable),
}

/// A version to go on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bookmark {
    /// Everything up to this version has been sent.
    Progress(Version),
    /// The state has been sent; it is that of this version.
    InitialEventsEnd(Version),
}

/// Bytes in which a source found no object.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// The bytes.
    pub raw: Bytes,
    /// What is wrong with them.
    pub reason: String,
}

/// Why a list or a watch failed, by what to do next.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SourceError {
    /// The version asked for is no longer kept: list again.
    #[error("the version is too old: {message}")]
    Expired {
        /// The source's words.
        message: String,
    },
    /// The version asked for is not there yet: wait, or ask for the most recent.
    #[error("the version is from the future: {message}")]
    TooLarge {
        /// The source's words.
        message: String,
        /// When to ask again, if the source said so.
        retry_after: Option<Duration>,
    },
    /// The source has too much to do: ask the same again, later.
    #[error("too many requests: {message}")]
    TooManyRequests {
        /// The source's words.
        message: String,
        /// When to ask again, if the source said so.
        retry_after: Option<Duration>,
    },
    /// Nobody listens there now: ask the same again, later.
    #[error("cannot connect: {reason}")]
    ConnectionRefused {
        /// What the system said.
        reason: String,
    },
    /// The connection broke: ask again.
    #[error("connection lost: {reason}")]
    Disconnected {
        /// What the system said.
        reason: String,
    },
    /// The credentials are missing, wrong or too weak: a person has to act.
    #[error("not allowed ({code}): {message}")]
    Denied {
        /// 401 or 403.
        code: u16,
        /// The source's words.
        message: String,
    },
    /// The source failed within itself: ask again, later.
    #[error("internal error ({code}): {message}")]
    Internal {
        /// An HTTP code of 500 or more.
        code: u16,
        /// The source's words.
        message: String,
    },
    /// The request is refused as it is; another may be taken.
    #[error("refused ({code}): {message}")]
    Refused {
        /// An HTTP code.
        code: u16,
        /// The source's words.
        message: String,
    },
    /// The answer is not what this protocol speaks.
    #[error("cannot read the answer: {reason}")]
    Unreadable {
        /// What is wrong with it.
        reason: String,
    },
}
