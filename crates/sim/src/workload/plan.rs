//! What a seed means: who does what, how often, and when the server is restarted.

use super::{Circumstances, Kind};
use crate::{
    history::{Bookmarks, StopManner},
    selection::Selection,
};

/// Everything that is decided before a run begins.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What all else follows from.
    pub seed: u64,
    /// How the server is set up, where that can be chosen.
    pub circumstances: Circumstances,
    /// What is written.
    pub kind: Kind,
    /// Clients that write.
    pub writers: usize,
    /// How many writes each of them makes.
    pub writes_per_writer: usize,
    /// Clients that list.
    pub listers: usize,
    /// Clients that open watches at versions they have heard of.
    pub probers: usize,
    /// Clients that keep a cache by listing and watching. The first is the witness.
    pub followers: Vec<FollowerPlan>,
    /// Selections that lists and watches ask for. The first is everything.
    pub selections: Vec<Selection>,
    /// Restarts, each after so many writes.
    pub restarts: Vec<(u64, StopManner)>,
}

/// How one follower goes about it.
#[derive(Clone, Debug)]
pub struct FollowerPlan {
    /// What it follows.
    pub selection: Selection,
    /// How it gets the state.
    pub beginning: FollowerBeginning,
    /// Whether it asks for bookmarks.
    pub bookmarks: Bookmarks,
    /// How it reads.
    pub pace: Pace,
    /// After how many frames at most it cuts its connection; `None` for never.
    pub frames_until_cut_max: Option<usize>,
}

/// How a follower reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// What comes, when it comes.
    Steady,
    /// Nothing at all until nobody writes any more.
    Stalled,
}

/// How a follower gets the state it starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowerBeginning {
    /// By a list, then it watches from there.
    List,
    /// On the watch itself.
    Watch,
}

impl Plan {
    /// The plan of a seed.
    pub fn from_seed(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let circumstances = Circumstances::random(&mut random);
        let kind = Kind::random(&mut random);
        let writers = random.usize(3..=8);
        let writes_per_writer = random.usize(80..=200);
        let selections = kind.selections(&mut random);
        let mut followers = vec![FollowerPlan::witness()];
        followers.extend(selections.iter().map(|selection| {
            let selection = selection.clone();
            FollowerPlan::random(selection, &mut random)
        }));
        let writes = (writers * writes_per_writer) as u64;
        Self {
            seed,
            circumstances,
            kind,
            writers,
            writes_per_writer,
            listers: random.usize(2..=3),
            probers: random.usize(2..=4),
            followers,
            selections,
            restarts: random_restarts(writes, &mut random),
        }
    }

    /// The chance of one client, the same at each run of the seed.
    pub(super) fn random_of(&self, role: &str, number: usize) -> fastrand::Rng {
        let role = role
            .bytes()
            .fold(0_u64, |hash, byte| hash * 31 + u64::from(byte));
        let seed = fastrand::Rng::with_seed(self.seed).u64(..);
        fastrand::Rng::with_seed(seed ^ (role << 32) ^ number as u64)
    }
}

impl FollowerPlan {
    fn witness() -> Self {
        Self {
            selection: Selection::everything(),
            beginning: FollowerBeginning::List,
            bookmarks: Bookmarks::Wanted,
            pace: Pace::Steady,
            frames_until_cut_max: None,
        }
    }

    fn random(selection: Selection, random: &mut fastrand::Rng) -> Self {
        let beginning = if random.bool() {
            FollowerBeginning::List
        } else {
            FollowerBeginning::Watch
        };
        let bookmarks = if random.u8(0..4) > 0 {
            Bookmarks::Wanted
        } else {
            Bookmarks::Unwanted
        };
        Self {
            selection,
            beginning,
            bookmarks,
            pace: if random.u8(0..5) > 0 {
                Pace::Steady
            } else {
                Pace::Stalled
            },
            frames_until_cut_max: random.bool().then(|| random.usize(5..60)),
        }
    }
}

fn random_restarts(writes: u64, random: &mut fastrand::Rng) -> Vec<(u64, StopManner)> {
    let mut moments: Vec<u64> = (0..random.usize(1..=3))
        .map(|_| random.u64(writes / 10..writes * 9 / 10))
        .collect();
    moments.sort_unstable();
    let manner = |random: &mut fastrand::Rng| {
        if random.bool() {
            StopManner::Graceful
        } else {
            StopManner::Abrupt
        }
    };
    moments
        .into_iter()
        .map(|moment| (moment, manner(random)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_always_the_same_plan() {
        let plan = || format!("{:?}", Plan::from_seed(7));
        assert_eq!(plan(), plan());
    }

    #[test]
    fn clients_of_one_plan_have_chances_of_their_own() {
        let plan = Plan::from_seed(7);
        let first = |role, number| plan.random_of(role, number).u64(..);
        assert_eq!(first("writer", 0), first("writer", 0));
        assert_ne!(first("writer", 0), first("writer", 1));
        assert_ne!(first("writer", 0), first("lister", 0));
    }
}
