//! A client that keeps a cache over all servers: it goes on with the next one where one failed it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use listwatch_api::ResourceVersion;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    lister::{self, is_unavailable},
    plan::{KIND, Paging, WatcherPlan},
    stage::{Route, Stage},
};
use crate::{
    answers,
    client::WatchStream,
    history::{
        Bookmarks, Cached, Ending, Frame, Freshness, History, List, ListEnd, ObjectKey, Origin,
        Received, Watch, WatchStart,
    },
    workload::{
        FollowerBeginning,
        follower::{self, reached},
    },
};

/// After this long without a word the client takes its server for dead. With bookmarks every
/// second, and any writes at all, a server that is well says something in that time.
const SILENCE_MAX: Duration = Duration::from_secs(4);

/// How long a stream may take to bring what it still has to, when nothing changes any more. Then
/// it is taken as it is, and the checkers find what is missing.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// Keeps its cache until the run is over and the cache is up to date.
pub(super) async fn run(stage: Arc<Stage>, number: usize) -> anyhow::Result<History> {
    let plan = stage.plan.watchers[number].clone();
    let mut watcher = Watcher {
        number,
        route: Route::to(plan.server),
        moves: plan.moves.clone().into_iter().peekable(),
        random: fastrand::Rng::with_seed(stage.plan.seed ^ number as u64),
        plan,
        history: History::default(),
        cache: Contents::new(),
        goal: None,
        stage,
    };
    let mut place = Place::Nowhere;
    while place != Place::Arrived {
        place = watcher.follow(place).await?;
    }
    Ok(watcher.history)
}

/// The version of each object that there is.
type Contents = BTreeMap<ObjectKey, ResourceVersion>;

/// Where a watcher stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It has no state to go on from.
    Nowhere,
    /// It has seen everything up to here.
    At(ResourceVersion, Origin),
    /// The run is over for it.
    Arrived,
}

/// What a watcher must come to have in the end.
struct Goal {
    through: ResourceVersion,
    contents: Contents,
    deadline: Instant,
}

struct Watcher {
    stage: Arc<Stage>,
    number: usize,
    plan: WatcherPlan,
    route: Route,
    moves: std::iter::Peekable<std::vec::IntoIter<Duration>>,
    random: fastrand::Rng,
    history: History,
    cache: Contents,
    goal: Option<Goal>,
}

impl Watcher {
    /// One stream, and the list before it where there is one.
    async fn follow(&mut self, place: Place) -> anyhow::Result<Place> {
        let start = match (place, self.plan.beginning) {
            (Place::Arrived, _) => return Ok(Place::Arrived),
            (Place::At(version, origin), _) => WatchStart::After(version, origin),
            (Place::Nowhere, FollowerBeginning::Watch) => {
                self.cache.clear();
                WatchStart::State(Freshness::MostRecent)
            }
            (Place::Nowhere, FollowerBeginning::List) => match self.begin_with_a_list().await? {
                Some((version, origin)) => WatchStart::After(version, origin),
                None => return Ok(Place::Nowhere),
            },
        };
        let stage = Arc::clone(&self.stage);
        let (client, answerer) = stage.server(self.route);
        let mut watch = Watch {
            began: stage.ledger.now(),
            selection: self.plan.selection.clone(),
            start,
            bookmarks: self.plan.bookmarks,
            frames: Vec::new(),
            ending: Ending::Cut,
            answerer,
        };
        let collection = KIND.collection(watch.selection.namespace.as_deref());
        let options = follower::watch_options(&watch);
        match client.watch(&collection, &options).await {
            Ok(stream) => watch.ending = self.read(stream, &mut watch).await?,
            Err(error) if is_unavailable(&error) => {
                self.turn_away().await;
                return Ok(place_of(start));
            }
            Err(error) => match answers::refused_watch(error) {
                Some(ending) => watch.ending = ending,
                None => return Ok(place_of(start)),
            },
        }
        if let (Ending::Drained { through }, Some((at, _))) = (&watch.ending, reached(&watch))
            && at >= *through
        {
            self.record_cache(at, &watch);
        }
        let next = self.next_place(&watch).await;
        self.history.watches.push(watch);
        Ok(next)
    }

    async fn begin_with_a_list(&mut self) -> anyhow::Result<Option<(ResourceVersion, Origin)>> {
        let list = self.list(Freshness::MostRecent).await?;
        let at = list.at().filter(|_| list.end == ListEnd::Complete);
        if at.is_some() {
            self.cache = contents(&list);
        } else {
            sleep(answers::BUSY_PAUSE).await;
        }
        self.history.lists.push(list);
        Ok(at.map(|at| (at, Origin::List)))
    }

    async fn list(&mut self, freshness: Freshness) -> anyhow::Result<List> {
        let what = (&self.plan.selection, freshness, Paging::Whole);
        lister::list(&self.stage, &mut self.route, what).await
    }

    /// Leaves a server that is of no use now.
    async fn turn_away(&mut self) {
        self.stage.move_on(&mut self.route);
        sleep(answers::BUSY_PAUSE).await;
    }

    /// Reads the stream until it ends, falls silent, or the client is to move.
    async fn read(&mut self, mut stream: WatchStream, watch: &mut Watch) -> anyhow::Result<Ending> {
        let stage = Arc::clone(&self.stage);
        let mut heard = Instant::now();
        loop {
            if let Some(ending) = self.arrived(watch) {
                return Ok(ending);
            }
            let planned = self.moves.peek().map(|offset| stage.moment(*offset));
            let silence = heard + SILENCE_MAX;
            let leave = planned.map_or(silence, |planned| planned.min(silence));
            tokio::select! {
                event = stream.next() => match event {
                    Some(Ok(event)) => {
                        heard = Instant::now();
                        self.take(answers::frame(event)?, watch);
                    }
                    Some(Err(error)) => return Ok(answers::ended_watch(error)),
                    None => return Ok(Ending::Closed),
                },
                through = stage.last_version(), if self.goal.is_none() => {
                    self.set_goal(through).await?;
                }
                () = sleep_until(leave) => {
                    if planned.is_some_and(|planned| planned <= leave) {
                        self.moves.next();
                    }
                    return Ok(Ending::Cut);
                }
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
        let at = self.stage.ledger.now();
        watch.frames.push(Received { at, frame });
        if let Some((version, origin)) = reached(watch) {
            let ledger = &self.stage.ledger;
            ledger.heard_of(version, origin, &mut self.random);
            if origin == Origin::Bookmark {
                self.record_cache(version, watch);
            }
        }
    }

    fn record_cache(&mut self, at: ResourceVersion, watch: &Watch) {
        self.history.caches.push(Cached {
            client: self.number,
            selection: watch.selection.clone(),
            answerer: watch.answerer,
            at,
            contents: self.cache.clone(),
        });
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

    async fn next_place(&mut self, watch: &Watch) -> Place {
        let done = self
            .goal
            .as_ref()
            .is_some_and(|goal| goal.contents == self.cache || Instant::now() >= goal.deadline);
        let seen = reached(watch);
        let resumed = seen.map_or(place_of(watch.start), |(version, origin)| {
            Place::At(version, origin)
        });
        match watch.ending {
            Ending::Drained { .. } | Ending::Refused(_) => Place::Arrived,
            Ending::Cut if done && watch.bookmarks == Bookmarks::Unwanted => Place::Arrived,
            Ending::Expired => Place::Nowhere,
            Ending::Cut | Ending::Closed | Ending::Lost | Ending::Busy => {
                self.turn_away().await;
                resumed
            }
        }
    }
}

fn place_of(start: WatchStart) -> Place {
    match start {
        WatchStart::After(version, origin) => Place::At(version, origin),
        WatchStart::State(_) => Place::Nowhere,
    }
}

fn contents(list: &List) -> Contents {
    let items = list.items().map(|item| (item.key.clone(), item.version));
    items.collect()
}
