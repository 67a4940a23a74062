//! Histories written by hand, for the tests of the checkers.
//!
//! The write that makes version N carries token N, and all happens in the order of the calls.

use std::collections::BTreeMap;

use listwatch_api::ResourceVersion;
use serde_json::json;

use super::*;

/// A history under construction.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) history: History,
    now: u64,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// `a/x` created at 1 and `a/y` at 2.
    pub(crate) fn two_objects() -> Self {
        let mut script = Self::new();
        script.create("a/x", 1);
        script.create("a/y", 2);
        script
    }

    pub(crate) fn tick(&mut self) -> Moment {
        self.now += 1;
        Moment(self.now)
    }

    pub(crate) fn create(&mut self, name: &str, version: u64) -> &mut Write {
        self.put(WriteRequest::Create, object(name, version, &[]))
    }

    pub(crate) fn update(&mut self, name: &str, against: u64, version: u64) -> &mut Write {
        let against = ResourceVersion::new(against);
        self.put(WriteRequest::Update { against }, object(name, version, &[]))
    }

    /// An acknowledged write of this state.
    pub(crate) fn put(&mut self, request: WriteRequest, object: ObjectVersion) -> &mut Write {
        let token = object.token.unwrap();
        let key = object.key.clone();
        self.write(key, token, request, WriteOutcome::Stored(object))
    }

    pub(crate) fn delete(&mut self, name: &str) -> &mut Write {
        let request = WriteRequest::Delete { against: None };
        let uid = format!("uid of {name}");
        self.write(key(name), Token(0), request, WriteOutcome::Deleted { uid })
    }

    /// A write that was not acknowledged.
    pub(crate) fn failed(
        &mut self,
        name: &str,
        token: u64,
        request: WriteRequest,
        outcome: WriteOutcome,
    ) -> &mut Write {
        self.write(key(name), Token(token), request, outcome)
    }

    fn write(
        &mut self,
        key: ObjectKey,
        token: Token,
        request: WriteRequest,
        outcome: WriteOutcome,
    ) -> &mut Write {
        let write = Write {
            began: self.tick(),
            ended: self.tick(),
            key,
            token,
            request,
            outcome,
            answerer: Answerer::default(),
        };
        self.history.writes.push(write);
        self.history.writes.last_mut().unwrap()
    }

    pub(crate) fn read(&mut self, name: &str, seen: Option<ObjectVersion>) -> &mut Read {
        let read = Read {
            began: self.tick(),
            ended: self.tick(),
            key: key(name),
            seen,
            answerer: Answerer::default(),
        };
        self.history.reads.push(read);
        self.history.reads.last_mut().unwrap()
    }

    /// A complete most recent list of everything in one page.
    pub(crate) fn list<const N: usize>(&mut self, at: u64, items: [ObjectVersion; N]) -> &mut List {
        let list = List {
            began: self.tick(),
            ended: self.tick(),
            selection: Selection::everything(),
            freshness: Freshness::MostRecent,
            pages: vec![page(at, items)],
            end: ListEnd::Complete,
        };
        self.history.lists.push(list);
        self.history.lists.last_mut().unwrap()
    }

    /// A watch of everything with bookmarks that the client cut.
    pub(crate) fn watch<const N: usize>(
        &mut self,
        start: WatchStart,
        frames: [Frame; N],
    ) -> &mut Watch {
        let began = self.tick();
        let frames = frames.map(|frame| Received {
            at: self.tick(),
            frame,
        });
        self.history.watches.push(Watch {
            began,
            selection: Selection::everything(),
            start,
            bookmarks: Bookmarks::Wanted,
            frames: frames.into(),
            ending: Ending::Cut,
            answerer: Answerer::default(),
        });
        self.history.watches.last_mut().unwrap()
    }

    /// The server missed what was after `after`, up to `through`.
    pub(crate) fn gap(&mut self, after: u64, through: u64) {
        self.history.gaps.push(Gap {
            answerer: Answerer::default(),
            after: ResourceVersion::new(after),
            through: ResourceVersion::new(through),
            since: Moment(0),
            until: Moment(u64::MAX),
        });
    }

    /// What a client that follows everything had in its cache.
    pub(crate) fn cached<const N: usize>(&mut self, at: u64, contents: [(&str, u64); N]) {
        let contents = contents.map(|(name, version)| (key(name), ResourceVersion::new(version)));
        self.history.caches.push(Cached {
            client: 0,
            selection: Selection::everything(),
            answerer: Answerer::default(),
            at: ResourceVersion::new(at),
            contents: contents.into(),
        });
    }

    pub(crate) fn restart(&mut self) {
        let restart = Restart {
            began: self.tick(),
            ended: self.tick(),
            manner: StopManner::Abrupt,
        };
        self.history.restarts.push(restart);
    }
}

pub(crate) fn key(name: &str) -> ObjectKey {
    let (namespace, name) = name.split_once('/').unwrap();
    ObjectKey::new(namespace, name)
}

/// The state of an object that the write of this version made.
pub(crate) fn object(name: &str, version: u64, labels: &[(&str, &str)]) -> ObjectVersion {
    let key = key(name);
    let labels: BTreeMap<_, _> = labels.iter().copied().collect();
    let json = json!({"metadata": {
        "namespace": key.namespace,
        "name": key.name,
        "uid": format!("uid of {name}"),
        "resourceVersion": version.to_string(),
        "labels": labels,
        "annotations": {"token": version.to_string()},
    }});
    ObjectVersion::from_json(json).unwrap()
}

/// The same state under another version.
pub(crate) fn at(version: u64, mut object: ObjectVersion) -> ObjectVersion {
    object.version = ResourceVersion::new(version);
    object
}

pub(crate) fn added(name: &str, version: u64) -> Frame {
    Frame::Added(object(name, version, &[]))
}

pub(crate) fn modified(name: &str, version: u64) -> Frame {
    Frame::Modified(object(name, version, &[]))
}

/// The end, at `version`, of the object that was last written at `last`.
pub(crate) fn deleted(name: &str, last: u64, version: u64) -> Frame {
    Frame::Deleted(at(version, object(name, last, &[])))
}

pub(crate) fn bookmark(version: u64) -> Frame {
    Frame::Bookmark(ResourceVersion::new(version))
}

pub(crate) fn initial_end(version: u64) -> Frame {
    Frame::InitialEventsEnd(ResourceVersion::new(version))
}

pub(crate) fn after(version: u64) -> WatchStart {
    WatchStart::After(ResourceVersion::new(version), Origin::List)
}

pub(crate) fn state() -> WatchStart {
    WatchStart::State(Freshness::MostRecent)
}

pub(crate) fn drained(through: u64) -> Ending {
    Ending::Drained {
        through: ResourceVersion::new(through),
    }
}

pub(crate) fn page<const N: usize>(at: u64, items: [ObjectVersion; N]) -> Page {
    Page {
        at: ResourceVersion::new(at),
        items: items.into(),
        remaining: None,
        answerer: Answerer::default(),
    }
}
