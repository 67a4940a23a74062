//! A client that keeps a cache: gets the state, follows its changes, and resumes when cut off.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::client::{WatchOptions, WatchStream};
use listwatch_api::ResourceVersion;
use tokio::time::Instant;

use super::{
    lister,
    plan::{FollowerBeginning, FollowerPlan, Pace},
    world::{ReaderStart, World},
};
use crate::{
    answers,
    history::{
        Answerer, Bookmarks, Ending, Frame, Freshness, History, List, ListEnd, ObjectKey, Origin,
        Received, Watch, WatchStart,
    },
};

/// How long a stream may take to bring what it still has to, when nothing changes any more. Then
/// it is taken as it is, and the checkers find what is missing.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);

/// Follows its selection until the run is over and its cache is up to date.
pub(super) async fn run(
    world: Arc<World>,
    number: usize,
    ready: ReaderStart,
) -> anyhow::Result<History> {
    let plan = world.plan.followers[number].clone();
    let mut follower = Follower {
        random: world.plan.random_of("follower", number),
        plan,
        history: History::default(),
        cache: Contents::new(),
        ready: Some(ready),
        goal: None,
        world,
    };
    let mut place = Place::Nowhere;
    while place != Place::Arrived {
        place = follower.follow(place).await?;
    }
    Ok(follower.history)
}

/// The version of each object that there is.
type Contents = BTreeMap<ObjectKey, ResourceVersion>;

/// Where a follower stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It has no state to go on from.
    Nowhere,
    /// It has seen everything up to here.
    At(ResourceVersion, Origin),
    /// The run is over for it.
    Arrived,
}

/// What a follower must come to have in the end.
struct Goal {
    through: ResourceVersion,
    contents: Contents,
    deadline: Instant,
}

struct Follower {
    world: Arc<World>,
    plan: FollowerPlan,
    random: fastrand::Rng,
    history: History,
    cache: Contents,
    ready: Option<ReaderStart>,
    goal: Option<Goal>,
}

impl Follower {
    /// One stream, and the list before it where there is one.
    async fn follow(&mut self, place: Place) -> anyhow::Result<Place> {
        let start = match (place, self.plan.beginning) {
            (Place::Arrived, _) => return Ok(Place::Arrived),
            (Place::At(version, origin), _) => WatchStart::After(version, origin),
            (Place::Nowhere, FollowerBeginning::Watch) => self.begin_on_the_watch(),
            (Place::Nowhere, FollowerBeginning::List) => match self.begin_with_a_list().await? {
                Place::At(version, origin) => WatchStart::After(version, origin),
                nowhere => return Ok(nowhere),
            },
        };
        let client = self.world.client().await;
        let mut watch = self.new_watch(start);
        let namespace = self.plan.selection.namespace.as_deref();
        let collection = self.world.plan.kind.collection(namespace);
        let opened = client.watch(&collection, &watch_options(&watch)).await;
        self.ready = None;
        match opened {
            Ok(stream) => watch.ending = self.read(stream, &mut watch).await?,
            Err(error) => match answers::refused_watch(error) {
                Some(ending) => watch.ending = ending,
                None => return Ok(place),
            },
        }
        let next = self.next_place(&watch, place).await;
        self.history.watches.push(watch);
        Ok(next)
    }

    fn new_watch(&self, start: WatchStart) -> Watch {
        Watch {
            began: self.world.ledger.now(),
            selection: self.plan.selection.clone(),
            start,
            bookmarks: self.plan.bookmarks,
            frames: Vec::new(),
            ending: Ending::Cut,
            answerer: Answerer::default(),
        }
    }

    fn begin_on_the_watch(&mut self) -> WatchStart {
        self.cache.clear();
        let version = self.world.ledger.some_version(&mut self.random);
        WatchStart::State(match (self.random.u8(0..4), version) {
            (0, _) => Freshness::Any,
            (1, Some((version, _))) => Freshness::NotOlderThan(version),
            _ => Freshness::MostRecent,
        })
    }

    async fn begin_with_a_list(&mut self) -> anyhow::Result<Place> {
        let list = self.list(Freshness::MostRecent).await?;
        let place = match (&list.end, list.at()) {
            (ListEnd::Complete, Some(at)) => {
                self.cache = contents(&list);
                Place::At(at, Origin::List)
            }
            (ListEnd::CutShort | ListEnd::Busy, _) => {
                tokio::time::sleep(answers::BUSY_PAUSE).await;
                Place::Nowhere
            }
            (ListEnd::Complete | ListEnd::Expired | ListEnd::Refused(_), _) => Place::Arrived,
        };
        self.history.lists.push(list);
        Ok(place)
    }

    async fn list(&self, freshness: Freshness) -> anyhow::Result<List> {
        lister::list(&self.world, &self.plan.selection, freshness, None).await
    }

    /// Reads the stream until it ends or is to be cut.
    async fn read(&mut self, mut stream: WatchStream, watch: &mut Watch) -> anyhow::Result<Ending> {
        let cut = self.plan.frames_until_cut_max;
        let frames_max = cut.map_or(usize::MAX, |max| self.random.usize(1..=max));
        let world = Arc::clone(&self.world);
        if self.plan.pace == Pace::Stalled && self.goal.is_none() {
            let through = world.draining().await;
            self.set_goal(through).await?;
        }
        loop {
            if let Some(ending) = self.arrived(watch) {
                return Ok(ending);
            }
            if self.goal.is_none() && watch.frames.len() >= frames_max {
                return Ok(Ending::Cut);
            }
            let deadline = self.goal.as_ref().map(|goal| goal.deadline);
            tokio::select! {
                event = stream.next() => match event {
                    Some(Ok(event)) => self.take(answers::frame(event)?, watch),
                    Some(Err(error)) => return Ok(answers::ended_watch(error)),
                    None => return Ok(Ending::Closed),
                },
                through = world.draining(), if self.goal.is_none() => {
                    self.set_goal(through).await?;
                }
                () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)),
                    if deadline.is_some() => {}
            }
        }
    }

    fn take(&mut self, frame: Frame, watch: &mut Watch) {
        match &frame {
            Frame::Added(object) | Frame::Modified(object) => {
                self.cache.insert(object.key.clone(), object.version);
            }
            Frame::Deleted(object) => {
                self.cache.remove(&object.key);
            }
            Frame::Bookmark(_) | Frame::InitialEventsEnd(_) => {}
        }
        let at = self.world.ledger.now();
        watch.frames.push(Received { at, frame });
        if let Some((version, origin)) = reached(watch) {
            self.world
                .ledger
                .heard_of(version, origin, &mut self.random);
        }
    }

    /// Learns what the cache must become, now that nothing changes any more.
    async fn set_goal(&mut self, through: ResourceVersion) -> anyhow::Result<()> {
        let list = self.list(Freshness::Exactly(through)).await?;
        self.goal = Some(Goal {
            through,
            contents: contents(&list),
            deadline: Instant::now() + DRAIN_TIMEOUT,
        });
        self.history.lists.push(list);
        Ok(())
    }

    /// Whether the stream has brought everything, or has had its time.
    fn arrived(&self, watch: &Watch) -> Option<Ending> {
        let goal = self.goal.as_ref()?;
        let through = goal.through;
        let version = match (reached(watch), watch.start) {
            (Some((version, _)), _) | (None, WatchStart::After(version, _)) => Some(version),
            (None, WatchStart::State(_)) => None,
        };
        if version.is_some_and(|version| version >= through) || Instant::now() >= goal.deadline {
            return Some(Ending::Drained { through });
        }
        // Without bookmarks the cache is right, but nothing says that no event is on its way.
        let silent = watch.bookmarks == Bookmarks::Unwanted;
        (silent && goal.contents == self.cache).then_some(Ending::Cut)
    }

    async fn next_place(&mut self, watch: &Watch, before: Place) -> Place {
        let seen = reached(watch);
        let resumed = seen.map_or(before, |(version, origin)| Place::At(version, origin));
        match watch.ending {
            Ending::Drained { .. } | Ending::Refused(_) => Place::Arrived,
            Ending::Cut if self.goal.is_some() => Place::Arrived,
            Ending::Expired => Place::Nowhere,
            Ending::Cut | Ending::Closed | Ending::Lost => resumed,
            Ending::Busy => {
                tokio::time::sleep(answers::BUSY_PAUSE).await;
                resumed
            }
        }
    }
}

/// The version up to which a stream has brought everything, and what said so.
pub(crate) fn reached(watch: &Watch) -> Option<(ResourceVersion, Origin)> {
    let in_order = match (watch.start, watch.bookmarks) {
        (WatchStart::After(..), _) => true,
        (WatchStart::State(_), Bookmarks::Wanted) => watch
            .frames
            .iter()
            .any(|received| matches!(received.frame, Frame::InitialEventsEnd(_))),
        // Nothing tells where the state ends.
        (WatchStart::State(_), Bookmarks::Unwanted) => false,
    };
    let last = watch.frames.last().filter(|_| in_order)?;
    let origin = match last.frame {
        Frame::Bookmark(_) | Frame::InitialEventsEnd(_) => Origin::Bookmark,
        Frame::Added(_) | Frame::Modified(_) | Frame::Deleted(_) => Origin::Event,
    };
    Some((last.frame.version(), origin))
}

pub(crate) fn watch_options(watch: &Watch) -> WatchOptions {
    WatchOptions {
        label_selector: watch.selection.label_selector(),
        field_selector: watch.selection.field_selector(),
        start: match watch.start {
            WatchStart::After(version, _) => crate::client::WatchStart::After(version),
            WatchStart::State(freshness) => {
                crate::client::WatchStart::State(lister::client_freshness(freshness))
            }
        },
        bookmarks: match watch.bookmarks {
            Bookmarks::Wanted => crate::client::Bookmarks::Wanted,
            Bookmarks::Unwanted => crate::client::Bookmarks::Unwanted,
        },
        timeout: None,
    }
}

fn contents(list: &List) -> Contents {
    let items = list.items().map(|item| (item.key.clone(), item.version));
    items.collect()
}
