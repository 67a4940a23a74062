//! Where we chose to do otherwise than client-go.
//!
//! `conformance/informer_oracle/differences.json` lists each with its reason; here is what each
//! means for two logs that are compared.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::log::{Line, Log, Segment};

/// A difference and why it is there.
#[derive(Debug, Deserialize)]
pub(crate) struct Difference {
    name: String,
    reason: String,
}

/// What a difference means here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Part of the logs is left out of the comparison.
    Rule(Rule),
    /// The script of this name is met with other requests, and the same store in the end.
    Policy(String),
}

/// What is left out of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// client-go's updates from a state to itself, which are not resyncs, are not looked for.
    NoUpdateWithoutChange,
    /// A list of the newest state may come in pages.
    NewestInPages,
    /// Resyncs are compared by whether there was one; not at all in a step with a request.
    ResyncInOwnRhythm,
}

/// The two logs of one script.
pub(crate) struct Logs {
    pub(crate) client_go: Log,
    pub(crate) ours: Log,
}

/// Reads the list.
pub(crate) fn read(path: &Path) -> Result<Vec<Meaning>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let differences: Vec<Difference> = serde_json::from_str(&text)?;
    differences.into_iter().map(Difference::meaning).collect()
}

impl Difference {
    fn meaning(self) -> Result<Meaning> {
        ensure!(!self.reason.is_empty(), "{} has no reason", self.name);
        Ok(match self.name.as_str() {
            "no-update-without-change" => Meaning::Rule(Rule::NoUpdateWithoutChange),
            "newest-in-pages" => Meaning::Rule(Rule::NewestInPages),
            "resync-in-own-rhythm" => Meaning::Rule(Rule::ResyncInOwnRhythm),
            _ => Meaning::Policy(self.name),
        })
    }
}

impl Logs {
    /// Leaves out of both what chance and the rules make different.
    pub(crate) fn reduce(&mut self, rules: &[Rule]) {
        for rule in rules {
            match rule {
                Rule::NoUpdateWithoutChange => leave_out(&mut self.client_go, is_without_change),
                Rule::NewestInPages => {
                    self.client_go.segments.iter_mut().for_each(join_newest);
                    self.ours.segments.iter_mut().for_each(join_newest);
                }
                Rule::ResyncInOwnRhythm => {
                    self.client_go.segments.iter_mut().for_each(merge_resyncs);
                    self.ours.segments.iter_mut().for_each(merge_resyncs);
                }
            }
        }
        self.client_go.settle_order();
        self.ours.settle_order();
    }

    /// Whether the two informers did the same.
    pub(crate) fn agree(&self) -> bool {
        self.client_go == self.ours
    }

    /// Whether they have the same objects in the same versions in the end.
    pub(crate) fn end_alike(&self) -> bool {
        let versions = |log: &Log| -> Vec<String> {
            let store = log.last_store().unwrap_or_default();
            let words = store.split(' ').filter(|word| word.contains(['/', '@']));
            words.map(str::to_owned).collect()
        };
        versions(&self.client_go) == versions(&self.ours)
    }
}

fn leave_out(log: &mut Log, unwanted: impl Fn(&Line) -> bool) {
    for segment in &mut log.segments {
        segment
            .handlers
            .values_mut()
            .for_each(|lines| lines.retain(|line| !unwanted(line)));
        segment.handlers.retain(|_, lines| !lines.is_empty());
    }
}

fn is_without_change(line: &Line) -> bool {
    matches!(line, Line::Update { old, new, .. } if old == new)
}

/// Takes the pages of a list of the newest state for one request.
fn join_newest(segment: &mut Segment) {
    let mut is_newest = false;
    segment.requests.retain_mut(|request| {
        if request.starts_with("page ") {
            return !is_newest;
        }
        is_newest = request.starts_with("list newest");
        if is_newest {
            request.truncate("list newest".len());
        }
        true
    });
}

/// Keeps the first resync of each state, or none if the step has a request: it may have come before
/// or after.
fn merge_resyncs(segment: &mut Segment) {
    let asks = !segment.requests.is_empty();
    for lines in segment.handlers.values_mut() {
        let mut seen: Vec<Line> = Vec::new();
        lines.retain(|line| {
            let repeated = matches!(line, Line::Resync(_)) && (asks || seen.contains(line));
            seen.push(line.clone());
            !repeated
        });
    }
    segment.handlers.retain(|_, lines| !lines.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(client_go: &str, ours: &str, rules: &[Rule]) -> bool {
        let mut logs = Logs {
            client_go: Log::parse(&format!("# 1 settle\n{client_go}")).unwrap(),
            ours: Log::parse(&format!("# 1 settle\n{ours}")).unwrap(),
        };
        logs.reduce(rules);
        logs.agree()
    }

    #[test]
    fn an_update_without_change_is_not_looked_for() {
        let client_go = "h1 update default/a @3 -> @3\nh1 update default/b @4 -> @5";
        let ours = "h1 update default/b @4 -> @5";
        assert!(!agree(client_go, ours, &[]));
        assert!(agree(client_go, ours, &[Rule::NoUpdateWithoutChange]));
        assert!(!agree(client_go, "", &[Rule::NoUpdateWithoutChange]));
    }

    #[test]
    fn the_newest_state_may_come_in_pages() {
        let ours =
            "request list newest limit 500\nrequest page after 2 limit 500\nrequest watch @2";
        let client_go = "request list newest\nrequest watch @2";
        assert!(!agree(client_go, ours, &[]));
        assert!(agree(client_go, ours, &[Rule::NewestInPages]));
        let ours = "request list @2\nrequest page after 2 limit 500\nrequest watch @2";
        assert!(!agree(client_go, ours, &[Rule::NewestInPages]));
    }

    #[test]
    fn ends_are_compared_by_versions() {
        let end_alike = |client_go: &str, ours: &str| {
            let log = |text: &str| Log::parse(&format!("# 1 settle\nstore {text}")).unwrap();
            Logs {
                client_go: log(client_go),
                ours: log(ours),
            }
            .end_alike()
        };
        assert!(end_alike("@5 d/a @4 of write 7", "@4 d/a @4"));
        assert!(!end_alike("@5 d/a @4", "@5 d/a @5"));
        assert!(!end_alike("@5 d/a @4", "@5 d/b @4"));
    }

    #[test]
    fn a_difference_is_a_rule_or_has_a_script() {
        let difference = |name: &str, reason: &str| Difference {
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        let meaning = difference("newest-in-pages", "why").meaning().unwrap();
        assert_eq!(meaning, Meaning::Rule(Rule::NewestInPages));
        let meaning = difference("another", "why").meaning().unwrap();
        assert_eq!(meaning, Meaning::Policy(String::from("another")));
        assert!(difference("another", "").meaning().is_err());
    }

    #[test]
    fn resyncs_are_compared_by_what_they_tell() {
        let once = "h1 resync default/a @3\nh1 resync default/b @4";
        let twice = format!("{once}\n{once}");
        assert!(!agree(once, &twice, &[]));
        assert!(agree(once, &twice, &[Rule::ResyncInOwnRhythm]));
        assert!(!agree(once, "", &[Rule::ResyncInOwnRhythm]));
        let older = "h1 resync default/a @2\nh1 resync default/b @4";
        assert!(!agree(once, older, &[Rule::ResyncInOwnRhythm]));
    }

    #[test]
    fn resyncs_beside_a_request_are_not_compared() {
        let client_go = "h1 resync default/a @3\nrequest list @3";
        assert!(!agree(client_go, "request list @3", &[]));
        assert!(agree(
            client_go,
            "request list @3",
            &[Rule::ResyncInOwnRhythm]
        ));
    }
}
