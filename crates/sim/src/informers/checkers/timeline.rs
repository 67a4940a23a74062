//! Every state that every object has had at the server, in order.

use std::collections::BTreeMap;

use crate::informers::trace::{Content, Event, Kind, State, Trace};

/// What the server held under each key, and from which place of the trace on.
pub(super) struct Timeline {
    contents: BTreeMap<(Kind, String), Vec<(usize, Content)>>,
}

impl Timeline {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut contents: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (place, event) in trace.events.iter().enumerate() {
            if let Event::Changed { kind, key, content } = event {
                let states = contents.entry((*kind, key.clone())).or_default();
                states.push((place, *content));
            }
        }
        Self { contents }
    }

    /// The states of one object, oldest first, each with its place in the trace.
    pub(super) fn states(&self, kind: Kind, key: &str) -> &[(usize, Content)] {
        let states = self.contents.get(&(kind, key.to_owned()));
        states.map_or(&[], Vec::as_slice)
    }

    /// The keys of a kind that the server ever held.
    pub(super) fn keys(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let keys = self.contents.keys().filter(move |(held, _)| *held == kind);
        keys.map(|(_, key)| key.as_str())
    }

    /// Which state of an object was there at a place of the trace; `None` before the first.
    pub(super) fn index_at(&self, kind: Kind, key: &str, place: usize) -> Option<usize> {
        let states = self.states(kind, key);
        let later = states.partition_point(|(changed, _)| *changed <= place);
        later.checked_sub(1)
    }

    /// The first state from `from` on that is the wanted one.
    pub(super) fn find(
        &self,
        (kind, key): (Kind, &str),
        from: usize,
        wanted: Content,
    ) -> Option<usize> {
        let states = self.states(kind, key).iter().enumerate().skip(from);
        let mut found = states.filter(|(_, (_, content))| *content == wanted);
        found.next().map(|(index, _)| index)
    }
}

/// The content that shows as this state.
pub(super) fn content_of(state: &State) -> Content {
    Content::Readable {
        token: state.token,
        version: state.version,
    }
}
