//! The ways whose cost is counted, and in what.

mod cache;
mod commit;
mod request;
mod watchers;

use anyhow::Result;

use crate::counter::Allocated;

/// Turns of a path that is run at two sizes.
const FURTHER_TURNS: u64 = 16;

/// One way through the product.
pub(crate) struct HotPath {
    /// What it is called on the command line and in the record.
    pub(crate) name: &'static str,
    /// Goes this way so many times, or with so many of what one more is counted of.
    pub(crate) run: fn(u64) -> Result<Allocated>,
    /// What is counted.
    pub(crate) each: Each,
}

/// What the cost of a path is the cost of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Each {
    /// One of so many turns.
    Turn(u64),
    /// One more watcher or item in a turn: the difference between many of them and few.
    Further {
        /// How many there are in one run.
        few: u64,
        /// How many there are in the other.
        many: u64,
    },
}

/// All of them, in the order of the record.
pub(crate) const HOT_PATHS: [HotPath; 14] = [
    path("commit-memory", commit::memory, Each::Turn(200)),
    path("commit-embedded", commit::embedded, Each::Turn(200)),
    path("create", request::create, Each::Turn(100)),
    path("merge-patch", request::merge_patch, Each::Turn(100)),
    path("update", request::update, Each::Turn(100)),
    path("get", request::get, Each::Turn(200)),
    path("get-protobuf", request::get_protobuf, Each::Turn(200)),
    path("apply", cache::apply, Each::Turn(200)),
    path("watcher-in-process", cache::watchers, MANY),
    path("watcher-on-socket", watchers::interested, MANY),
    path("watcher-protobuf", watchers::interested_in_protobuf, MANY),
    path("watcher-elsewhere", watchers::elsewhere, MANY),
    path(
        "list-item",
        request::list,
        Each::Further { few: 64, many: 320 },
    ),
    path(
        "list-item-protobuf",
        request::list_protobuf,
        Each::Further { few: 64, many: 320 },
    ),
];

const MANY: Each = Each::Further { few: 1, many: 65 };

const fn path(name: &'static str, run: fn(u64) -> Result<Allocated>, each: Each) -> HotPath {
    HotPath { name, run, each }
}

/// The path of this name.
pub(crate) fn find(name: &str) -> Option<&'static HotPath> {
    HOT_PATHS.iter().find(|path| path.name == name)
}

impl HotPath {
    /// The runs from which the cost is found, the one that costs more first.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        match self.each {
            Each::Turn(times) => vec![times],
            Each::Further { few, many } => vec![many, few],
        }
    }

    /// In how many parts the cost of the first run is cut, after that of the second.
    pub(crate) fn parts(&self) -> u64 {
        match self.each {
            Each::Turn(times) => times,
            Each::Further { few, many } => (many - few) * FURTHER_TURNS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_can_be_gone() {
        for path in &HOT_PATHS {
            let allocated = (path.run)(2).unwrap();
            assert!(allocated.times > 0, "{} allocated nothing", path.name);
        }
    }

    #[test]
    fn one_more_is_the_difference_over_all_turns() {
        let path = find("list-item").unwrap();
        assert_eq!(path.sizes(), [320, 64]);
        assert_eq!(path.parts(), 256 * FURTHER_TURNS);
    }
}
