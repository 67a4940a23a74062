//! One checker for each promise of the informers to those who use them.
//!
//! A checker is a pure function from a trace to what is wrong with it, and holds whatever the
//! server did, the way lost and the handlers suffered.

mod at_least;
mod bounded;
mod converged;
mod folded;
mod forward;
mod indexed;
mod removed;
mod synced;
mod timeline;
#[cfg(test)]
mod tests;

use std::fmt;

use self::timeline::Timeline;
use super::trace::Trace;

/// Violations of one promise that are written out; more than these teach nothing new.
const VIOLATIONS_SHOWN_MAX: usize = 5;

/// One promise and the function that holds traces to it.
#[derive(Clone, Copy)]
pub struct Checker {
    /// The name of the promise.
    pub name: &'static str,
    /// The promise, in one sentence.
    pub promise: &'static str,
    check: fn(&Case<'_>) -> Vec<Violation>,
}

/// Every checker, in the order of `docs/guarantees.md`.
pub const CHECKERS: [Checker; 8] = [
    forward::CHECKER,
    folded::CHECKER,
    indexed::CHECKER,
    converged::CHECKER,
    removed::CHECKER,
    synced::CHECKER,
    bounded::CHECKER,
    at_least::CHECKER,
];

/// A trace prepared for checking.
struct Case<'a> {
    trace: &'a Trace,
    timeline: Timeline,
}

/// Where a trace breaks a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The place in the trace.
    pub place: usize,
    /// What is wrong there.
    pub finding: String,
}

/// A promise that was broken, and where.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The name of the promise.
    pub name: &'static str,
    promise: &'static str,
    violations: Vec<Violation>,
}

/// Holds a trace to every promise, and returns those that it breaks.
pub fn check(trace: &Trace) -> Vec<Broken> {
    let case = Case {
        trace,
        timeline: Timeline::of(trace),
    };
    let judged = CHECKERS.iter().map(|checker| Broken {
        name: checker.name,
        promise: checker.promise,
        violations: (checker.check)(&case),
    });
    judged
        .filter(|broken| !broken.violations.is_empty())
        .collect()
}

impl Violation {
    fn new(place: usize, finding: impl Into<String>) -> Self {
        Self {
            place,
            finding: finding.into(),
        }
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.violations.len();
        let Self { name, promise, .. } = self;
        writeln!(formatter, "{name} is broken {count} times: {promise}")?;
        for violation in self.violations.iter().take(VIOLATIONS_SHOWN_MAX) {
            writeln!(formatter, "  at {}: {}", violation.place, violation.finding)?;
        }
        Ok(())
    }
}
