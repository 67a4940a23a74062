//! One checker for each promise, named as in `docs/guarantees.md`.
//!
//! A checker is a pure function from a recorded history to what is wrong with it. It never asks a
//! server, and holds whatever the writes, the faults and the timing were.

mod bookmarked;
mod complete;
mod converged;
mod durable;
mod exclusive;
mod filtered;
mod fresh;
mod linearizable;
mod listed;
mod ordered;
mod resumable;
mod unique;

use std::fmt;

use crate::{
    history::History,
    model::{Model, Timeline},
    stream::Stream,
};

/// Violations of one promise that are written out; more than these teach nothing new.
const VIOLATIONS_SHOWN_MAX: usize = 10;

/// One promise and the function that holds histories to it.
#[derive(Clone, Copy)]
pub struct Checker {
    /// The name of the promise.
    pub name: &'static str,
    /// The promise, in one sentence.
    pub promise: &'static str,
    check: fn(&Case<'_>) -> Vec<Violation>,
}

/// Every checker, in the order of `docs/guarantees.md`.
pub const CHECKERS: [Checker; 12] = [
    ordered::CHECKER,
    unique::CHECKER,
    complete::CHECKER,
    resumable::CHECKER,
    bookmarked::CHECKER,
    listed::CHECKER,
    converged::CHECKER,
    filtered::CHECKER,
    durable::CHECKER,
    fresh::CHECKER,
    exclusive::CHECKER,
    linearizable::CHECKER,
];

/// A history prepared for checking.
struct Case<'a> {
    history: &'a History,
    model: &'a Model,
    timeline: Timeline,
    streams: Vec<Stream<'a>>,
}

/// Where a history breaks a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The request or the frame that shows it.
    pub place: String,
    /// What the promise demands there.
    pub expected: String,
    /// What was there.
    pub seen: String,
}

/// What the checkers found in one history.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    broken: Vec<Broken>,
}

#[derive(Clone, Debug)]
struct Broken {
    name: &'static str,
    promise: &'static str,
    violations: Vec<Violation>,
}

/// Holds a history to every promise.
pub fn check(history: &History) -> Verdict {
    let model = Model::of(history);
    let case = Case::of(history, &model);
    let judged = CHECKERS.iter().map(|checker| Broken {
        name: checker.name,
        promise: checker.promise,
        violations: (checker.check)(&case),
    });
    let broken = judged.filter(|broken| !broken.violations.is_empty());
    Verdict {
        broken: broken.collect(),
    }
}

/// Whether streams of all objects, put together, reach from the first version to the last. Where
/// they leave a gap, nobody knows what happened there, and [`check`] must not be asked.
pub fn is_witnessed(history: &History) -> bool {
    let model = Model::of(history);
    let case = Case::of(history, &model);
    let witnesses = case
        .streams
        .iter()
        .filter(|stream| stream.watch.selection.is_everything());
    let mut spans: Vec<_> = witnesses
        .filter_map(|stream| Some((stream.after()?, stream.through()?)))
        .collect();
    spans.sort_unstable();
    let Some((_, mut through)) = spans.first().copied() else {
        return false;
    };
    for (after, end) in spans {
        if after > through {
            return false;
        }
        through = through.max(end);
    }
    through >= model.newest()
}

impl<'a> Case<'a> {
    fn of(history: &'a History, model: &'a Model) -> Self {
        let watches = history.watches.iter().enumerate();
        let streams = watches.map(|(number, watch)| {
            let gaps = history.gaps.iter().filter(|gap| gap.concerns(watch));
            Stream::of(number, watch, model, gaps.copied().collect())
        });
        Self {
            history,
            model,
            timeline: Timeline::of(history, model),
            streams: streams.collect(),
        }
    }
}

impl Verdict {
    /// Whether every promise was kept.
    pub fn holds(&self) -> bool {
        self.broken.is_empty()
    }

    /// The names of the promises that were broken.
    pub fn broken_promises(&self) -> Vec<&'static str> {
        self.broken.iter().map(|broken| broken.name).collect()
    }
}

impl Violation {
    fn new(place: impl fmt::Display, expected: impl fmt::Display, seen: impl fmt::Display) -> Self {
        Self {
            place: place.to_string(),
            expected: expected.to_string(),
            seen: seen.to_string(),
        }
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "  at        {}", self.place)?;
        writeln!(formatter, "  expected  {}", self.expected)?;
        writeln!(formatter, "  seen      {}", self.seen)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.holds() {
            return formatter.write_str("every promise was kept");
        }
        for broken in &self.broken {
            let count = broken.violations.len();
            writeln!(
                formatter,
                "{} is broken {count} times: {}",
                broken.name, broken.promise
            )?;
            for violation in broken.violations.iter().take(VIOLATIONS_SHOWN_MAX) {
                writeln!(formatter, "{violation}")?;
            }
            if count > VIOLATIONS_SHOWN_MAX {
                writeln!(formatter, "  and {} more", count - VIOLATIONS_SHOWN_MAX)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
