//! What the paths cost when it was last written down, and how that compares with today.

use std::{fmt::Write, fs, path::PathBuf};

use anyhow::{Context, Result};

use crate::cost::Cost;

/// How much a path may differ from the record, as a part of it.
pub(crate) const TOLERANCE: f64 = 0.10;

/// Allocations that are too few to speak of: those of a buffer that now and then grows.
const ALLOCATIONS_MIN: f64 = 0.2;

/// Instructions that are too few to speak of, for what costs next to nothing.
const INSTRUCTIONS_MIN: f64 = 50.0;

/// What the compiler is named after.
const COMPILER: &str = "# Counted with ";

const HEAD: &str = "\
# What one turn of each hot path costs, or one more watcher or item: instructions of the program,
# how often it asks for memory, and for how many bytes. Written by `cargo xtask hot-paths --write`;
# say in the commit why the numbers changed.
#
# `cargo xtask test` fails when a path takes over 10 % more instructions or allocations than this.
#
";

const COLUMNS: &str = "\
#
# path               instructions  allocations      bytes
";

/// Costs by the names of their paths.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Record {
    /// The compiler that made the program, since another makes other instructions.
    pub(crate) compiler: String,
    costs: Vec<(String, Cost)>,
}

/// How a cost compares with the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The record does not know the path.
    New,
    /// As recorded, or nearly.
    Same,
    /// Clearly more than was recorded.
    Dearer,
    /// Clearly less than was recorded.
    Cheaper,
}

impl Record {
    /// The record of this repository; empty when there is none.
    pub(crate) fn read() -> Result<Self> {
        match fs::read_to_string(file()) {
            Ok(text) => Self::parse(&text),
            Err(_) => Ok(Self::default()),
        }
    }

    /// Replaces the record of this repository.
    pub(crate) fn write(&self) -> Result<()> {
        fs::write(file(), self.print()).context("cannot write the record")
    }

    /// A record of these costs.
    pub(crate) fn new(compiler: String, costs: Vec<(String, Cost)>) -> Self {
        Self { compiler, costs }
    }

    /// What a path cost.
    pub(crate) fn get(&self, name: &str) -> Option<Cost> {
        let found = self.costs.iter().find(|(known, _)| known == name);
        found.map(|(_, cost)| *cost)
    }

    /// How a cost compares.
    pub(crate) fn judge(&self, name: &str, cost: Cost) -> Verdict {
        let Some(recorded) = self.get(name) else {
            return Verdict::New;
        };
        let part = |recorded: f64, cost: f64, min: f64| match (recorded - cost).abs() {
            few if few < min => 0.0,
            _ => change(recorded, cost),
        };
        let instructions = part(recorded.instructions, cost.instructions, INSTRUCTIONS_MIN);
        let allocations = part(recorded.allocations, cost.allocations, ALLOCATIONS_MIN);
        if instructions.max(allocations) > TOLERANCE {
            Verdict::Dearer
        } else if instructions.min(allocations) < -TOLERANCE {
            Verdict::Cheaper
        } else {
            Verdict::Same
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let compiler = text.lines().find_map(|line| line.strip_prefix(COMPILER));
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let costs =
            lines.map(|line| parse_line(line).with_context(|| format!("bad line `{line}`")));
        Ok(Self {
            compiler: compiler.unwrap_or_default().to_owned(),
            costs: costs.collect::<Result<_>>()?,
        })
    }

    fn print(&self) -> String {
        let mut text = format!("{HEAD}{COMPILER}{}\n{COLUMNS}", self.compiler);
        for (name, cost) in &self.costs {
            let Cost {
                instructions,
                allocations,
                bytes,
            } = cost;
            let _ = writeln!(
                text,
                "{name:<20} {instructions:>12.0} {allocations:>12.1} {bytes:>10.0}"
            );
        }
        text
    }
}

/// How much more the new cost is, as a part of the recorded one; of one next to nothing, as a
/// part of one.
pub(crate) fn change(recorded: f64, cost: f64) -> f64 {
    (cost - recorded) / recorded.max(1.0)
}

fn parse_line(line: &str) -> Result<(String, Cost)> {
    let mut words = line.split_whitespace();
    let mut word = || words.next().context("too short");
    let name = word()?.to_owned();
    let cost = Cost {
        instructions: word()?.parse()?,
        allocations: word()?.parse()?,
        bytes: word()?.parse()?,
    };
    Ok((name, cost))
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../hot-paths.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(instructions: f64, allocations: f64) -> Cost {
        Cost {
            instructions,
            allocations,
            bytes: 4_096.0,
        }
    }

    fn record_of(name: &str, cost: Cost) -> Record {
        Record::new("rustc 1.0".to_owned(), vec![(name.to_owned(), cost)])
    }

    fn record() -> Record {
        record_of("create", cost(1_000.0, 10.0))
    }

    #[test]
    fn what_is_written_is_read_again() {
        let record = record();
        assert_eq!(Record::parse(&record.print()).unwrap(), record);
        assert!(Record::parse("create 12\n").is_err());
    }

    #[test]
    fn a_tenth_is_the_same_and_more_is_not() {
        let judge =
            |instructions, allocations| record().judge("create", cost(instructions, allocations));
        assert_eq!(judge(1_090.0, 10.0), Verdict::Same);
        assert_eq!(judge(1_110.0, 10.0), Verdict::Dearer);
        assert_eq!(judge(1_000.0, 12.0), Verdict::Dearer);
        assert_eq!(judge(890.0, 10.0), Verdict::Cheaper);
        assert_eq!(judge(890.0, 12.0), Verdict::Dearer);
        assert_eq!(record().judge("get", cost(1.0, 1.0)), Verdict::New);
    }

    #[test]
    fn a_part_of_an_allocation_more_is_no_change() {
        let record = record_of("apply", cost(1_000.0, 0.1));
        assert_eq!(record.judge("apply", cost(1_000.0, 0.2)), Verdict::Same);
        assert_eq!(record.judge("apply", cost(1_000.0, 1.0)), Verdict::Dearer);
    }

    #[test]
    fn what_costs_next_to_nothing_may_cost_a_little_more() {
        let record = record_of("elsewhere", cost(0.0, 0.0));
        assert_eq!(record.judge("elsewhere", cost(20.0, 0.0)), Verdict::Same);
        assert_eq!(record.judge("elsewhere", cost(80.0, 0.0)), Verdict::Dearer);
    }
}
