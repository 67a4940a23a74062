//! What a run went through, for people.

use std::{collections::BTreeMap, fmt, time::Duration};

use super::{injector::Toll, stage::Fared};
use crate::{
    history::{Answerer, History, ListEnd},
    trial::Summary,
};

/// What a run went through.
#[derive(Clone, Debug)]
pub struct ClusterReport {
    /// What the clients did and saw.
    pub summary: Summary,
    /// Writes that were acknowledged, and reads and pages, by who answered.
    pub answered: BTreeMap<Answerer, usize>,
    /// How often each kind of fault came about.
    pub faults: BTreeMap<&'static str, usize>,
    /// Faults that could not be brought about, since something else was wrong.
    pub failed_faults: BTreeMap<&'static str, usize>,
    /// How often a server had missed changes that were forgotten meanwhile.
    pub gaps: usize,
    /// Lists that no server had time for.
    pub busy_lists: usize,
    /// The longest time without a successful write.
    pub longest_without_write: Duration,
    /// The longest time without a successful consistent read.
    pub longest_without_read: Duration,
    /// Steps left out because the client was still busy with the one before.
    pub left_out: usize,
    /// How often clients turned to another server.
    pub moves: usize,
    /// How often servers ended though nobody had killed them.
    pub exits: usize,
}

impl ClusterReport {
    pub(super) fn new(history: &History, toll: Toll, fared: Fared, exits: usize) -> Self {
        let busy = |list: &&crate::history::List| list.end == ListEnd::Busy;
        Self {
            summary: Summary::of(history),
            answered: answered(history),
            faults: toll.faults,
            failed_faults: toll.failed,
            gaps: history.gaps.len(),
            busy_lists: history.lists.iter().filter(busy).count(),
            longest_without_write: fared.writes.longest,
            longest_without_read: fared.reads.longest,
            left_out: fared.left_out,
            moves: fared.moves,
            exits,
        }
    }
}

fn answered(history: &History) -> BTreeMap<Answerer, usize> {
    let writes = history.writes.iter().map(|write| write.answerer);
    let reads = history.reads.iter().map(|read| read.answerer);
    let pages = history.lists.iter().flat_map(|list| &list.pages);
    let mut answered = BTreeMap::new();
    for answerer in writes.chain(reads).chain(pages.map(|page| page.answerer)) {
        *answered.entry(answerer).or_default() += 1;
    }
    answered
}

impl fmt::Display for ClusterReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.summary)?;
        writeln!(
            formatter,
            "{} lists without an answer, {} steps left out, {} moves to another server, \
             {} times a server had to read anew, {} servers ended by themselves",
            self.busy_lists, self.left_out, self.moves, self.gaps, self.exits
        )?;
        writeln!(
            formatter,
            "longest time without a write {:.1} s, without a consistent read {:.1} s",
            self.longest_without_write.as_secs_f64(),
            self.longest_without_read.as_secs_f64()
        )?;
        let answered: Vec<String> = self
            .answered
            .iter()
            .map(|(answerer, count)| format!("{answerer} {count}"))
            .collect();
        writeln!(formatter, "answers: {}", answered.join(", "))?;
        for (kind, count) in &self.faults {
            writeln!(formatter, "{count:4} times  {kind}")?;
        }
        for (kind, count) in &self.failed_faults {
            writeln!(formatter, "{count:4} times  {kind}: did not come about")?;
        }
        Ok(())
    }
}
