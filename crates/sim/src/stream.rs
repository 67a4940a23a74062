//! A watch stream, taken apart: the state it began with, and the changes that followed.

use std::{collections::BTreeMap, fmt};

use listwatch_api::ResourceVersion;

use crate::{
    history::{
        Bookmarks, Ending, Frame, Freshness, Gap, ObjectKey, ObjectVersion, Received, Watch,
        WatchStart,
    },
    model::{Expected, Model},
};

/// A watch stream and its parts.
#[derive(Debug)]
pub struct Stream<'a> {
    /// Its place in the history.
    pub number: usize,
    /// What was recorded.
    pub watch: &'a Watch,
    /// How it began.
    pub beginning: Beginning,
    /// The frames of the state; empty for a stream of changes only.
    pub initial: &'a [Received],
    /// The frames after the state.
    pub live: &'a [Received],
    /// What the server had missed of that which the stream was about.
    pub gaps: Vec<Gap>,
}

/// How a stream began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// With the changes after this version.
    After(ResourceVersion),
    /// With the whole state of this version.
    State(ResourceVersion),
    /// With a part of a state: it ended before the state was complete.
    PartOfState,
    /// With a state that never was.
    Unexplained,
}

impl<'a> Stream<'a> {
    /// Takes a watch apart. Where the server did not mark the end of the state, the model tells.
    pub fn of(number: usize, watch: &'a Watch, model: &Model, mut gaps: Vec<Gap>) -> Self {
        let (beginning, split) = match (watch.start, watch.bookmarks) {
            (WatchStart::After(version, _), _) => (Beginning::After(version), 0),
            (WatchStart::State(_), Bookmarks::Wanted) => split_at_mark(watch),
            (WatchStart::State(_), Bookmarks::Unwanted) => split_by_model(watch, model, &gaps),
        };
        let (initial, live) = watch.frames.split_at(split);
        let after = match beginning {
            Beginning::After(version) | Beginning::State(version) => Some(version),
            Beginning::PartOfState | Beginning::Unexplained => None,
        };
        // Who begins within a gap is refused, or is told by a later life of the server.
        gaps.retain(|gap| after.is_some_and(|after| after <= gap.after));
        Self {
            number,
            watch,
            beginning,
            initial,
            live,
            gaps,
        }
    }

    /// The events after `after` up to `through` that the stream has to bring.
    pub fn expected<'m>(
        &self,
        model: &'m Model,
        after: ResourceVersion,
        through: ResourceVersion,
    ) -> Vec<Expected<'m>> {
        let selection = &self.watch.selection;
        let missed = |version| self.gaps.iter().any(|gap| gap.holds(version));
        let changes = model.changes(after, through);
        let known = changes.filter(|change| !missed(change.version));
        let mut events: Vec<_> = known
            .filter_map(|change| model.event(selection, change))
            .collect();
        for gap in &self.gaps {
            let differences = model.differences(selection, *gap).into_iter();
            events.extend(differences.filter(|event| {
                // The stream may have ended among the deletions, which have one version.
                let cut = event.version == through && through == gap.first_missed();
                after < event.version && event.version <= through && !cut
            }));
        }
        events
    }

    /// The event that this one has to be; `None` if there should be none.
    pub fn expected_at<'m>(
        &self,
        model: &'m Model,
        object: &ObjectVersion,
    ) -> Option<Expected<'m>> {
        let selection = &self.watch.selection;
        let version = object.version;
        let Some(gap) = self.gap_at(version) else {
            let change = model.change_at(version)?;
            return model.event(selection, change);
        };
        let mut differences = model.differences(selection, gap).into_iter();
        differences.find(|event| event.version == version && event.object.key == object.key)
    }

    /// The gap that this version is in.
    pub fn gap_at(&self, version: ResourceVersion) -> Option<Gap> {
        let mut gaps = self.gaps.iter().copied();
        gaps.find(|gap| gap.holds(version))
    }

    /// The version after which its changes begin, when it got as far as changes.
    pub fn after(&self) -> Option<ResourceVersion> {
        match self.beginning {
            Beginning::After(version) | Beginning::State(version) => Some(version),
            Beginning::PartOfState | Beginning::Unexplained => None,
        }
    }

    /// The version up to which the stream must have brought everything.
    pub fn through(&self) -> Option<ResourceVersion> {
        let drained = match self.watch.ending {
            Ending::Drained { through } => Some(through),
            _ => None,
        };
        let seen = self.live.iter().map(|received| received.frame.version());
        self.after()
            .map(|after| seen.chain(drained).fold(after, ResourceVersion::max))
    }

    /// The objects of the state it began with.
    pub fn initial_objects(&self) -> impl Iterator<Item = &'a ObjectVersion> {
        let events = self
            .initial
            .iter()
            .filter_map(|received| received.frame.event());
        events.map(|(_, object)| object)
    }
}

/// The state is what comes before the marked bookmark.
fn split_at_mark(watch: &Watch) -> (Beginning, usize) {
    let mut frames = watch.frames.iter().enumerate();
    let mark = frames.find_map(|(index, received)| match received.frame {
        Frame::InitialEventsEnd(version) => Some((index, version)),
        _ => None,
    });
    match mark {
        Some((index, version)) => (Beginning::State(version), index + 1),
        None => (Beginning::PartOfState, watch.frames.len()),
    }
}

/// The state is the longest run of added objects that was the whole selected state at a version
/// before the next event.
fn split_by_model(watch: &Watch, model: &Model, gaps: &[Gap]) -> (Beginning, usize) {
    let mut state = State::new();
    let mut found = (Beginning::Unexplained, 0);
    for (index, received) in watch.frames.iter().enumerate() {
        let next = received.frame.version();
        let before_next = ResourceVersion::new(next.get().saturating_sub(1));
        let gap = gaps.iter().find(|gap| gap.holds(next));
        let before_next = gap.map_or(before_next, |gap| gap.after);
        if before_next >= floor(watch) && is_state_at(watch, model, &state, before_next) {
            found = (Beginning::State(before_next), index);
        }
        match &received.frame {
            Frame::Added(object) if !state.contains_key(&object.key) => {
                state.insert(object.key.clone(), object);
            }
            _ => return found,
        }
    }
    let length = watch.frames.len();
    let newest = state.values().map(|object| object.version);
    let versions = versions_from(model, newest.fold(floor(watch), ResourceVersion::max));
    let whole = versions
        .iter()
        .rfind(|at| is_state_at(watch, model, &state, **at));
    let part = || {
        versions
            .iter()
            .any(|at| is_within_state_at(model, &state, *at))
    };
    match whole {
        Some(at) => (Beginning::State(*at), length),
        None if !is_drained(watch) && part() => (Beginning::PartOfState, length),
        None => found,
    }
}

/// The version before which the state cannot be, for all that was asked.
fn floor(watch: &Watch) -> ResourceVersion {
    match watch.start {
        WatchStart::State(Freshness::NotOlderThan(version) | Freshness::Exactly(version)) => {
            version
        }
        WatchStart::State(Freshness::MostRecent | Freshness::Any) | WatchStart::After(..) => {
            ResourceVersion::new(0)
        }
    }
}

/// All versions from `floor` on at which something changed, and `floor` itself.
fn versions_from(model: &Model, floor: ResourceVersion) -> Vec<ResourceVersion> {
    let changes = model.changes(floor, model.newest());
    let later = changes.map(|change| change.version);
    std::iter::once(floor).chain(later).collect()
}

fn is_drained(watch: &Watch) -> bool {
    matches!(watch.ending, Ending::Drained { .. })
}

type State<'a> = BTreeMap<ObjectKey, &'a ObjectVersion>;

fn is_state_at(watch: &Watch, model: &Model, state: &State<'_>, at: ResourceVersion) -> bool {
    let expected = model.list_at(&watch.selection, at);
    expected.len() == state.len() && is_within_state_at(model, state, at)
}

fn is_within_state_at(model: &Model, state: &State<'_>, at: ResourceVersion) -> bool {
    state.iter().all(|(key, object)| {
        let expected = model.state_at(key, at);
        expected.is_some_and(|expected| expected.version == object.version)
    })
}

impl fmt::Display for Stream<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Watch {
            selection,
            start,
            answerer,
            ..
        } = self.watch;
        let number = self.number;
        write!(
            formatter,
            "watch {number} of {answerer} ({selection}; {start})"
        )
    }
}
