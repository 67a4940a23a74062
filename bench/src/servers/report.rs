//! What was found, as Markdown: ours beside theirs, and how much better.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{
    group::Group,
    machine::Run,
    measure::{Findings, Measure},
    meter::Spent,
};

/// Whose numbers a column holds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Role {
    /// Ours as it comes, which is held to the bars.
    Ours,
    /// The one that ours is compared with: the peer, or ours on etcd beside the embedded store.
    Theirs,
    /// Another that is shown.
    Beside,
}

/// A group of scenarios on one server.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Outcome {
    /// Whose.
    pub(crate) role: Role,
    /// What stands above its column.
    pub(crate) name: String,
    /// What was found before something went wrong, if it did.
    pub(crate) findings: Findings,
    /// What the whole group took.
    pub(crate) spent: Spent,
    /// Why the rest is missing.
    pub(crate) failure: Option<String>,
}

/// A group of scenarios on all servers.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Section {
    /// Which.
    pub(crate) group: Group,
    /// How they were measured.
    pub(crate) run: Run,
    /// In the order in which they were measured.
    pub(crate) outcomes: Vec<Outcome>,
}

impl Section {
    /// The table, and what did not work.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n", self.group.title());
        let columns = self.columns();
        let head: Vec<&str> = columns.iter().map(|column| column.head(self)).collect();
        let _ = writeln!(text, "| scenario | {} |", head.join(" | "));
        let _ = writeln!(text, "|---|{}", "---|".repeat(columns.len()));
        for scenario in self.scenarios() {
            let cells: Vec<String> = columns
                .iter()
                .map(|column| column.cell(self, scenario))
                .collect();
            let _ = writeln!(text, "| {scenario} | {} |", cells.join(" | "));
        }
        if let Some(note) = self.group.note() {
            let _ = writeln!(text, "\n{note}");
        }
        for outcome in &self.outcomes {
            for note in &outcome.findings.notes {
                let _ = writeln!(text, "\n{}: {note}.", outcome.name);
            }
            if let Some(failure) = &outcome.failure {
                let _ = writeln!(text, "\n{} did not go on: {failure}", outcome.name);
            }
        }
        text
    }

    /// What it took, for each server.
    pub(crate) fn cost(&self) -> Vec<String> {
        let row = |outcome: &Outcome| {
            let seconds = |time: std::time::Duration| format!("{:.1} s", time.as_secs_f64());
            let spent = &outcome.spent;
            let known = |cpu: Option<std::time::Duration>| cpu.map_or(String::new(), seconds);
            let (server, store) = (known(spent.server), known(spent.store));
            let (own, elapsed) = (seconds(spent.own), seconds(spent.elapsed));
            let (title, name) = (self.group.title(), &outcome.name);
            format!("| {title} | {name} | {elapsed} | {server} | {store} | {own} |")
        };
        self.outcomes.iter().map(row).collect()
    }

    /// Whether ours did all that it was asked.
    pub(crate) fn ours_failed(&self) -> Option<&str> {
        let is_ours = |it: &&Outcome| it.role != Role::Theirs || self.group == Group::Stores;
        let ours = self.outcomes.iter().filter(is_ours);
        ours.filter_map(|it| it.failure.as_deref()).next()
    }

    /// A row for each number that something is expected of: what, of whom, and whether it is so.
    pub(crate) fn bars(&self) -> Vec<String> {
        let Some(ours) = self.with(Role::Ours) else {
            return Vec::new();
        };
        let theirs = self.with(Role::Theirs);
        let measures = self.outcomes[ours].findings.measures.iter();
        let barred = measures.filter(|measure| measure.bar.is_some());
        let row = |measure: &Measure| {
            let scenario = &measure.scenario;
            let other = theirs.and_then(|theirs| self.measure(theirs, scenario));
            let (group, ours) = (self.group.title(), measure.text());
            let theirs = other.map_or(String::new(), Measure::text);
            let times = other.and_then(|other| self.relation(measure, other));
            let times = times.unwrap_or_default();
            let wanted = measure.bar_text();
            let met = match measure.meets_bar(other) {
                Some(true) => "✓",
                Some(false) => "**missed**",
                None => "not measured",
            };
            format!("| {group}: {scenario} | {ours} | {theirs} | {times} | {wanted} | {met} |")
        };
        barred.map(row).collect()
    }

    /// How ours relates to theirs, in the sense of this group.
    fn relation(&self, ours: &Measure, theirs: &Measure) -> Option<String> {
        match self.group {
            Group::Stores => Some(format!("{:.2}", ours.dearer_alone(theirs)?)),
            _ => Some(format!("{:.1}", ours.times_better(theirs)?)),
        }
    }

    fn with(&self, role: Role) -> Option<usize> {
        self.outcomes.iter().position(|it| it.role == role)
    }

    fn measure(&self, outcome: usize, scenario: &str) -> Option<&Measure> {
        let measures = &self.outcomes.get(outcome)?.findings.measures;
        measures.iter().find(|it| it.scenario == scenario)
    }

    fn columns(&self) -> Vec<Column> {
        let ours = self.with(Role::Ours);
        let theirs = self.with(Role::Theirs);
        let mut columns: Vec<Column> = ours.into_iter().map(Column::Value).collect();
        columns.extend(theirs.into_iter().map(Column::Value));
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            columns.push(Column::Times { ours, theirs });
        }
        if let Some(ours) = ours {
            columns.push(Column::Bar { ours, theirs });
        }
        let beside = self.outcomes.iter().enumerate();
        let beside = beside.filter(|(_, it)| it.role == Role::Beside);
        columns.extend(beside.map(|(index, _)| Column::Value(index)));
        columns
    }

    /// Every scenario that any server has gone through, in their order.
    fn scenarios(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for measure in self.outcomes.iter().flat_map(|it| &it.findings.measures) {
            if !names.contains(&&*measure.scenario) {
                names.push(&measure.scenario);
            }
        }
        names
    }
}

/// What a column shows; outcomes are told by their place.
enum Column {
    Value(usize),
    Times { ours: usize, theirs: usize },
    Bar { ours: usize, theirs: Option<usize> },
}

impl Column {
    fn head<'section>(&self, section: &'section Section) -> &'section str {
        match self {
            Self::Value(outcome) => &section.outcomes[*outcome].name,
            Self::Times { .. } if section.group == Group::Stores => "etcd : embedded",
            Self::Times { .. } => "times better",
            Self::Bar { .. } => "bar",
        }
    }

    fn cell(&self, section: &Section, scenario: &str) -> String {
        let find = |outcome: &usize| section.measure(*outcome, scenario);
        let cell = match self {
            Self::Value(outcome) => find(outcome).map(Measure::text),
            Self::Times { ours, theirs } => find(ours)
                .zip(find(theirs))
                .and_then(|(ours, theirs)| section.relation(ours, theirs)),
            Self::Bar { ours, theirs } => find(ours).map(|ours| {
                let theirs = theirs.as_ref().and_then(find);
                match ours.meets_bar(theirs) {
                    Some(true) => format!("{} ✓", ours.bar_text()),
                    Some(false) => format!("**{} missed**", ours.bar_text()),
                    None => ours.bar_text(),
                }
            }),
        };
        cell.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::servers::measure::Bar;

    fn outcome(role: Role, name: &str, milliseconds: u64) -> Outcome {
        let mut findings = Findings::default();
        let time = Duration::from_millis(milliseconds);
        findings.time("create", time).bar(Bar::Better(10.0));
        Outcome {
            role,
            name: name.to_owned(),
            findings,
            spent: Spent::default(),
            failure: None,
        }
    }

    fn section(ours: u64, theirs: u64) -> Section {
        Section {
            group: Group::Writes,
            run: Run::default(),
            outcomes: vec![
                outcome(Role::Ours, "ours", ours),
                outcome(Role::Beside, "ours in memory", 1),
                outcome(Role::Theirs, "theirs", theirs),
            ],
        }
    }

    #[test]
    fn ours_stands_beside_theirs_with_the_ratio_and_the_bar() {
        let text = section(2, 30).markdown();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "## Writes",
                "",
                "| scenario | ours | theirs | times better | bar | ours in memory |",
                "|---|---|---|---|---|---|",
                "| create | 2.00 ms | 30.0 ms | 15.0 | 10 × ✓ | 1.00 ms |",
            ]
        );
    }

    #[test]
    fn a_bar_that_is_missed_says_so() {
        assert!(
            section(5, 30)
                .markdown()
                .contains("| 6.0 | **10 × missed** |")
        );
    }

    #[test]
    fn without_a_peer_there_is_no_ratio() {
        let mut section = section(5, 30);
        section.outcomes.truncate(2);
        let text = section.markdown();
        assert!(text.contains("| scenario | ours | bar | ours in memory |"));
        assert!(text.contains("| create | 5.00 ms | 10 × | 1.00 ms |"));
    }

    #[test]
    fn what_failed_is_told_below_the_table() {
        let mut section = section(5, 30);
        section.outcomes[2].failure = Some("500".to_owned());
        assert!(
            section
                .markdown()
                .ends_with("\ntheirs did not go on: 500\n")
        );
        assert_eq!(section.ours_failed(), None);
        section.outcomes[1].failure = Some("gone".to_owned());
        assert_eq!(section.ours_failed(), Some("gone"));
    }

    #[test]
    fn every_bar_is_told_with_what_it_was_held_against() {
        let rows = section(2, 30).bars();
        let row = "| Writes: create | 2.00 ms | 30.0 ms | 15.0 | 10 × | ✓ |";
        assert_eq!(rows, [row]);
        assert!(section(5, 30).bars()[0].ends_with("| **missed** |"));
        let mut alone = section(5, 30);
        alone.outcomes.truncate(1);
        assert!(alone.bars()[0].ends_with("|  |  | 10 × | not measured |"));
    }

    #[test]
    fn stores_are_compared_without_what_etcd_takes() {
        let mut section = section(10, 30);
        section.group = Group::Stores;
        section.outcomes[2].findings.measures[0].store = Some(0.019);
        let text = section.markdown();
        assert!(
            text.contains("| etcd : embedded |") && text.contains("| 1.10 |"),
            "{text}"
        );
    }
}
