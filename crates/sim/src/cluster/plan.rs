//! What a seed means for clients and faults: who does what, and when, counted from the beginning.

use std::{fmt, time::Duration};

use super::fault::{self, PlannedFault, SERVERS};
use crate::{
    history::{Bookmarks, ObjectKey},
    selection::Selection,
    workload::{FollowerBeginning, Kind},
};

/// What the clients work on.
pub(super) const KIND: Kind = Kind::ConfigMap;

const WRITERS: usize = 6;
const LISTERS: usize = 3;
const PROBERS: usize = 2;

/// How long a client of each kind waits from one step to the next, at most.
const WRITER_PAUSE_MAX: Duration = Duration::from_millis(300);
const LISTER_PAUSE_MAX: Duration = Duration::from_millis(500);
const PROBER_PAUSE_MAX: Duration = Duration::from_millis(1500);
/// How long a watcher stays with one server, at most, unless that one fails it.
const WATCHER_STAY_MAX: Duration = Duration::from_secs(20);

/// Everything that is decided before a run begins.
#[derive(Clone, Debug)]
pub struct ClusterPlan {
    /// What all else follows from.
    pub seed: u64,
    /// For how long clients work and things go wrong.
    pub duration: Duration,
    /// What goes wrong, in order of beginning.
    pub faults: Vec<PlannedFault>,
    pub(super) writers: Vec<Vec<Step<WriterAction>>>,
    pub(super) listers: Vec<Vec<Step<ListerAction>>>,
    pub(super) probers: Vec<Vec<Step<ProberAction>>>,
    pub(super) watchers: Vec<WatcherPlan>,
}

/// Something that a client does at a moment, unless it is still busy with what it did before.
#[derive(Clone, Debug)]
pub(super) struct Step<A> {
    /// When, from the beginning of the run.
    pub(super) at: Duration,
    pub(super) action: A,
    /// What all chance within the step follows from.
    pub(super) chance: u64,
}

/// What a writer does with one object.
#[derive(Clone, Debug)]
pub(super) struct WriterAction {
    pub(super) key: ObjectKey,
    pub(super) verb: Verb,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Verb {
    Create,
    /// An update of what is known to be there; a create where nothing is.
    Put,
    /// Several updates against one version at once, each by another server.
    Race,
    Patch,
    PatchNothing,
    Delete,
    /// Provided that it is still at the version that is known.
    DeleteUnchanged,
    Get,
}

#[derive(Clone, Debug)]
pub(super) struct ListerAction {
    pub(super) selection: Selection,
    pub(super) age: Age,
    pub(super) paging: Paging,
}

/// How new a list has to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Age {
    MostRecent,
    Any,
    /// Not older than what this client saw last.
    NotOlderThanSeen,
    /// Just as some client saw it.
    Exactly,
}

/// How a list is cut into pages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Paging {
    Whole,
    /// So many objects at a time.
    Pages(u32),
    /// The same, each page by another server.
    PagesAround(u32),
}

/// Watches for a short time from a version that some client saw.
#[derive(Clone, Debug)]
pub(super) struct ProberAction {
    pub(super) selection: Selection,
    pub(super) bookmarks: Bookmarks,
    pub(super) server: usize,
}

/// How a watcher goes about it.
#[derive(Clone, Debug)]
pub(super) struct WatcherPlan {
    pub(super) selection: Selection,
    pub(super) beginning: FollowerBeginning,
    pub(super) bookmarks: Bookmarks,
    /// The server it begins with.
    pub(super) server: usize,
    /// When it leaves for the next server though nothing is wrong.
    pub(super) moves: Vec<Duration>,
}

impl ClusterPlan {
    /// The plan of a seed for a run of this length.
    pub fn new(seed: u64, duration: Duration) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let faults = fault::schedule(duration, &mut random.fork());
        let selections = KIND.selections(&mut random);
        let select =
            |random: &mut fastrand::Rng| selections[random.usize(..selections.len())].clone();
        Self {
            seed,
            duration,
            faults,
            writers: (0..WRITERS)
                .map(|_| {
                    steps(
                        duration,
                        WRITER_PAUSE_MAX,
                        random.fork(),
                        WriterAction::random,
                    )
                })
                .collect(),
            listers: (0..LISTERS)
                .map(|_| {
                    steps(duration, LISTER_PAUSE_MAX, random.fork(), |random| {
                        ListerAction::random(select(random), random)
                    })
                })
                .collect(),
            probers: (0..PROBERS)
                .map(|_| {
                    steps(duration, PROBER_PAUSE_MAX, random.fork(), |random| {
                        ProberAction::random(select(random), random)
                    })
                })
                .collect(),
            watchers: selections
                .iter()
                .map(|selection| WatcherPlan::random(selection.clone(), duration, &mut random))
                .collect(),
        }
    }
}

fn steps<A>(
    duration: Duration,
    pause_max: Duration,
    mut random: fastrand::Rng,
    act: impl Fn(&mut fastrand::Rng) -> A,
) -> Vec<Step<A>> {
    let mut steps = Vec::new();
    let mut at = pause_max.mul_f64(random.f64());
    while at < duration {
        steps.push(Step {
            at,
            action: act(&mut random),
            chance: random.u64(..),
        });
        at += pause_max.mul_f64(random.f64().max(0.01));
    }
    steps
}

impl WriterAction {
    fn random(random: &mut fastrand::Rng) -> Self {
        let verb = match random.u8(0..100) {
            0..35 => Verb::Put,
            35..55 => Verb::Patch,
            55..63 => Verb::Race,
            63..70 => Verb::Delete,
            70..76 => Verb::DeleteUnchanged,
            76..82 => Verb::Create,
            82..97 => Verb::Get,
            _ => Verb::PatchNothing,
        };
        let key = KIND.random_key(random);
        Self { key, verb }
    }
}

impl ListerAction {
    fn random(selection: Selection, random: &mut fastrand::Rng) -> Self {
        let age = match random.u8(0..10) {
            0..4 => Age::MostRecent,
            4..6 => Age::Any,
            6..9 => Age::NotOlderThanSeen,
            _ => Age::Exactly,
        };
        let limit = random.u32(2..9);
        let paging = match random.u8(0..4) {
            0..2 => Paging::Whole,
            2 => Paging::Pages(limit),
            _ => Paging::PagesAround(limit),
        };
        Self {
            selection,
            age,
            paging,
        }
    }
}

impl ProberAction {
    fn random(selection: Selection, random: &mut fastrand::Rng) -> Self {
        Self {
            selection,
            bookmarks: bookmarks(random),
            server: random.usize(..SERVERS),
        }
    }
}

impl WatcherPlan {
    fn random(selection: Selection, duration: Duration, random: &mut fastrand::Rng) -> Self {
        let mut moves = Vec::new();
        let mut at = Duration::ZERO;
        loop {
            at += WATCHER_STAY_MAX.mul_f64(random.f64().max(0.05));
            if at >= duration {
                break;
            }
            moves.push(at);
        }
        Self {
            selection,
            beginning: match random.bool() {
                true => FollowerBeginning::List,
                false => FollowerBeginning::Watch,
            },
            bookmarks: bookmarks(random),
            server: random.usize(..SERVERS),
            moves,
        }
    }
}

fn bookmarks(random: &mut fastrand::Rng) -> Bookmarks {
    match random.u8(0..4) {
        0 => Bookmarks::Unwanted,
        _ => Bookmarks::Wanted,
    }
}

impl fmt::Display for ClusterPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.duration.as_secs();
        writeln!(formatter, "seed {}, {seconds} s\n\nfaults", self.seed)?;
        for planned in &self.faults {
            writeln!(formatter, "{planned}")?;
        }
        for (number, watcher) in self.watchers.iter().enumerate() {
            writeln!(formatter, "\nwatcher {number}: {watcher:?}")?;
        }
        write_steps(formatter, "writer", &self.writers)?;
        write_steps(formatter, "lister", &self.listers)?;
        write_steps(formatter, "prober", &self.probers)
    }
}

fn write_steps<A: fmt::Debug>(
    formatter: &mut fmt::Formatter<'_>,
    role: &str,
    clients: &[Vec<Step<A>>],
) -> fmt::Result {
    for (number, steps) in clients.iter().enumerate() {
        writeln!(formatter, "\n{role} {number}")?;
        for Step { at, action, chance } in steps {
            let at = at.as_secs_f64();
            writeln!(formatter, "{at:8.3} s  {action:?} (chance {chance:016x})")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_always_the_same_plan() {
        let plan = |seed| ClusterPlan::new(seed, Duration::from_secs(30)).to_string();
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }
}
