//! What a get, list or watch asks for: which objects, how fresh, and how many.
//!
//! The parameters become types here, in the order in which Kubernetes checks them; nothing behind
//! this compares a resource version with `""` or `"0"`.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::continue_token::{ContinueState, ContinueToken};
use crate::field_error::{FieldError, FieldPath};
use crate::go_text;
use crate::identity::GroupKind;
use crate::query::Query;
use crate::resource_version::ResourceVersion;
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::Status;

#[cfg(test)]
mod tests;

/// How fresh an answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It contains every write acknowledged before the request.
    MostRecent,
    /// Any state the server has at hand.
    Any,
    /// This state or a later one.
    AtLeast(ResourceVersion),
    /// Exactly this state.
    Exactly(ResourceVersion),
}

/// Options of a get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetOptions {
    /// How fresh the object must be; never [`Freshness::Exactly`].
    pub freshness: Freshness,
}

/// Options of a list, and of the list behind a delete of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOptions {
    /// Which labels the objects have.
    pub labels: LabelSelector,
    /// Which fields the objects have.
    pub fields: FieldSelector,
    /// How fresh the list must be.
    pub freshness: Freshness,
    /// Where the list goes on, when it is not the first page.
    pub continue_from: Option<ContinueToken>,
    /// How many objects to return at most.
    pub limit: Option<NonZeroU64>,
    /// How long the list may take at most.
    pub timeout: Option<Duration>,
}

/// Options of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// Which labels the objects have.
    pub labels: LabelSelector,
    /// Which fields the objects have.
    pub fields: FieldSelector,
    /// Where the stream begins.
    pub start: WatchStart,
    /// Whether the client understands bookmarks.
    pub allows_bookmarks: bool,
    /// After which time the stream ends; without one, the server chooses.
    pub timeout: Option<Duration>,
}

/// Where a watch stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchStart {
    /// With the state, as additions, and a bookmark that marks its end; then with what changes.
    State {
        /// How fresh the state must be; never [`Freshness::Exactly`].
        freshness: Freshness,
    },
    /// With the state the server has at hand and no mark at its end: the deprecated paths.
    UnmarkedState,
    /// With the first change after this version.
    After(ResourceVersion),
    /// With the first change after the request.
    Now,
}

/// What the path says about a read of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionPath {
    /// A collection: a list, unless `watch` is on.
    Collection,
    /// A deprecated `/watch/` path: always a watch.
    Watch,
}

/// A read of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollectionRead {
    /// Its state.
    List(ListOptions),
    /// Its changes.
    Watch(WatchOptions),
}

impl CollectionRead {
    /// Reads the parameters of a read of a collection.
    pub fn parse(query: Query<'_>, path: CollectionPath) -> Result<Self, Status> {
        if query.is_on("watch") || path == CollectionPath::Watch {
            WatchOptions::parse(query).map(Self::Watch)
        } else {
            ListOptions::parse(query).map(Self::List)
        }
    }
}

impl GetOptions {
    /// Reads the parameters of a get.
    pub fn parse(query: Query<'_>) -> Result<Self, Status> {
        if query.is_on("export") {
            let message = "the export parameter, deprecated since v1.14, is no longer supported";
            return Err(Status::bad_request(message));
        }
        let version = RequestedVersion::parse(query).map_err(Status::bad_request)?;
        Ok(Self {
            freshness: version.freshness(),
        })
    }
}

impl ListOptions {
    /// Reads the parameters of a list.
    pub fn parse(query: Query<'_>) -> Result<Self, Status> {
        let decoded = Decoded::parse(query)?;
        check(&list_errors(query))?;
        let mut limit = decoded.limit;
        let (freshness, continue_from) = match query.first("continue") {
            None | Some("") => (list_freshness(query, limit)?, None),
            Some(token) => {
                let token = ContinueToken::decode(token)?;
                if !matches!(query.first("resourceVersion"), None | Some("" | "0")) {
                    let message = "specifying resource version is not allowed when using continue";
                    return Err(Status::bad_request(message));
                }
                (continued_freshness(&token), Some(token))
            }
        };
        if freshness == Freshness::Any {
            // What is at hand comes whole, as clients that ask for "0" have always got it.
            limit = None;
        }
        Ok(Self {
            labels: decoded.labels,
            fields: decoded.fields,
            freshness,
            continue_from,
            limit,
            timeout: decoded.timeout,
        })
    }
}

impl WatchOptions {
    /// Reads the parameters of a watch.
    pub fn parse(query: Query<'_>) -> Result<Self, Status> {
        let decoded = Decoded::parse(query)?;
        // A deprecated path without `watch` is checked as the list that its parameters describe.
        let errors = if query.is_on("watch") {
            watch_errors(query)
        } else {
            list_errors(query)
        };
        check(&errors)?;
        // Kubernetes answers 500 here, which blames the server for the client's mistake.
        let version = RequestedVersion::parse(query).map_err(Status::bad_request)?;
        Ok(Self {
            labels: decoded.labels,
            fields: decoded.fields,
            start: watch_start(query, version),
            allows_bookmarks: query.is_on("allowWatchBookmarks"),
            timeout: decoded.timeout,
        })
    }
}

/// What Kubernetes decodes before it looks at combinations.
struct Decoded {
    labels: LabelSelector,
    fields: FieldSelector,
    limit: Option<NonZeroU64>,
    timeout: Option<Duration>,
}

impl Decoded {
    fn parse(query: Query<'_>) -> Result<Self, Status> {
        let bad_request = |error: &dyn ToString| Status::bad_request(error.to_string());
        let timeout_seconds = query.integer("timeoutSeconds")?.unwrap_or(0);
        let limit = query.integer("limit")?.unwrap_or(0);
        let labels = query.first("labelSelector").unwrap_or_default();
        let fields = query.first("fieldSelector").unwrap_or_default();
        Ok(Self {
            labels: LabelSelector::parse(labels).map_err(|error| bad_request(&error))?,
            fields: FieldSelector::parse(fields).map_err(|error| bad_request(&error))?,
            limit: u64::try_from(limit).ok().and_then(NonZeroU64::new),
            timeout: match timeout_seconds {
                0 => None,
                seconds => Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0))),
            },
        })
    }
}

/// The `resourceVersion` parameter.
#[derive(Clone, Copy)]
enum RequestedVersion {
    Unset,
    Zero,
    Version(ResourceVersion),
}

impl RequestedVersion {
    fn parse(query: Query<'_>) -> Result<Self, String> {
        let text = match query.first("resourceVersion") {
            None | Some("") => return Ok(Self::Unset),
            Some(text) => text,
        };
        match go_text::parse_unsigned(text) {
            Ok(0) => Ok(Self::Zero),
            Ok(number) => Ok(Self::Version(ResourceVersion::new(number))),
            Err(error) => {
                let path = FieldPath::new("resourceVersion");
                Err(FieldError::invalid(&path, text, &error).to_string())
            }
        }
    }

    fn freshness(self) -> Freshness {
        match self {
            Self::Unset => Freshness::MostRecent,
            Self::Zero => Freshness::Any,
            Self::Version(version) => Freshness::AtLeast(version),
        }
    }
}

fn list_freshness(query: Query<'_>, limit: Option<NonZeroU64>) -> Result<Freshness, Status> {
    let version = RequestedVersion::parse(query)
        .map_err(|error| Status::bad_request(format!("invalid resource version: {error}")))?;
    let matching = query.first("resourceVersionMatch").unwrap_or_default();
    Ok(match version {
        RequestedVersion::Version(version) if matching == "Exact" => Freshness::Exactly(version),
        // Before there was a way to say so, a limit meant that all pages be of this version.
        RequestedVersion::Version(version) if matching.is_empty() && limit.is_some() => {
            Freshness::Exactly(version)
        }
        version => version.freshness(),
    })
}

fn continued_freshness(token: &ContinueToken) -> Freshness {
    match token.state {
        ContinueState::At(version) => Freshness::Exactly(version),
        ContinueState::MostRecent => Freshness::MostRecent,
    }
}

fn watch_start(query: Query<'_>, version: RequestedVersion) -> WatchStart {
    let state = WatchStart::State {
        freshness: version.freshness(),
    };
    match (query.flag("sendInitialEvents"), version) {
        (Some(true), _) => state,
        (_, RequestedVersion::Version(version)) => WatchStart::After(version),
        (Some(false), _) => WatchStart::Now,
        (None, _) if query.is_on("watch") => state,
        (None, _) => WatchStart::UnmarkedState,
    }
}

fn list_errors(query: Query<'_>) -> Vec<FieldError> {
    let matching = FieldPath::new("resourceVersionMatch");
    let mut errors = Vec::new();
    let mut forbid = |why: &str| errors.push(FieldError::forbidden(&matching, why));
    let version = query.first("resourceVersion").unwrap_or_default();
    let requested_match = query.first("resourceVersionMatch").unwrap_or_default();
    if !requested_match.is_empty() {
        if version.is_empty() {
            forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if is_continued(query) {
            forbid("resourceVersionMatch is forbidden when continue is provided");
        }
        if requested_match == "Exact" && version == "0" {
            forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
        if !matches!(requested_match, "Exact" | "NotOlderThan") {
            let supported = ["Exact", "NotOlderThan", ""];
            errors.push(FieldError::not_supported(
                &matching,
                requested_match,
                &supported,
            ));
        }
    }
    if query.flag("sendInitialEvents").is_some() {
        let path = FieldPath::new("sendInitialEvents");
        errors.push(FieldError::forbidden(
            &path,
            "sendInitialEvents is forbidden for list",
        ));
    }
    errors
}

fn watch_errors(query: Query<'_>) -> Vec<FieldError> {
    let matching = FieldPath::new("resourceVersionMatch");
    let mut errors = Vec::new();
    let requested_match = query.first("resourceVersionMatch").unwrap_or_default();
    let sends_initial_events = query.flag("sendInitialEvents").is_some();
    if sends_initial_events && requested_match != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(&matching, why));
    }
    if requested_match.is_empty() {
        return errors;
    }
    if !sends_initial_events {
        let why =
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        errors.push(FieldError::forbidden(&matching, why));
    }
    if requested_match != "NotOlderThan" {
        errors.push(FieldError::not_supported(
            &matching,
            requested_match,
            &["NotOlderThan"],
        ));
    }
    if is_continued(query) {
        let why = "resourceVersionMatch is forbidden when continue is provided";
        errors.push(FieldError::forbidden(&matching, why));
    }
    errors
}

fn is_continued(query: Query<'_>) -> bool {
    query
        .first("continue")
        .is_some_and(|token| !token.is_empty())
}

fn check(errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(
        GroupKind::new("meta.k8s.io", "ListOptions"),
        "",
        errors,
    ))
}
