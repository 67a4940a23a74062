//! Schemas made of others: `anyOf`, `oneOf`, `allOf` and `not`.

use listwatch_api::go_text;

use super::{Outcome, Subject, Validator};
use crate::checks::Checks;
use crate::node::Node;

impl Validator<'_> {
    pub(super) fn check_combined(
        self,
        checks: &Checks,
        subject: Subject<'_>,
        outcome: &mut Outcome,
    ) {
        outcome.count(2);
        let Some(checks) = checks.combined() else {
            return;
        };
        let subject = Subject {
            past: None,
            ..subject
        };
        if !checks.any_of.is_empty() {
            self.check_any(&checks.any_of, subject, outcome);
        }
        if !checks.one_of.is_empty() {
            self.check_one(&checks.one_of, subject, outcome);
        }
        if !checks.all_of.is_empty() {
            self.check_all(&checks.all_of, subject, outcome);
        }
        if let Some(not) = &checks.not
            && self.value(not, subject).is_valid()
        {
            self.refuse_combined(subject, "must not validate the schema (not)", outcome);
        }
    }

    fn refuse_combined(self, subject: Subject<'_>, problem: &str, outcome: &mut Outcome) {
        let name = go_text::quote(&subject.path.name());
        self.refuse_whole(format!("{name} {problem}"), outcome);
    }

    fn check_any(self, nodes: &[Node], subject: Subject<'_>, outcome: &mut Outcome) {
        let mut best = Best::default();
        for node in nodes {
            let result = self.value(node, subject);
            if result.is_valid() {
                outcome.merge(result);
                return;
            }
            best.offer(result);
        }
        let problem = "must validate at least one schema (anyOf)";
        self.refuse_combined(subject, problem, outcome);
        best.merge_into(outcome);
    }

    fn check_one(self, nodes: &[Node], subject: Subject<'_>, outcome: &mut Outcome) {
        let mut best = Best::default();
        let mut first = None;
        let mut valid = 0;
        for node in nodes {
            let result = self.value(node, subject);
            if result.is_valid() {
                valid += 1;
                best = Best::default();
                first.get_or_insert(result);
            } else if valid == 0 {
                best.offer(result);
            }
        }
        let found = match (valid, first) {
            (1, Some(result)) => return outcome.merge(result),
            (0, _) => "Found none valid".to_owned(),
            (valid, _) => format!("Found {valid} valid alternatives"),
        };
        let problem = format!("must validate one and only one schema (oneOf). {found}");
        self.refuse_combined(subject, &problem, outcome);
        best.merge_into(outcome);
    }

    fn check_all(self, nodes: &[Node], subject: Subject<'_>, outcome: &mut Outcome) {
        let mut valid = 0;
        for node in nodes {
            let result = self.value(node, subject);
            valid += usize::from(result.is_valid());
            outcome.merge(result);
        }
        if valid != nodes.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            let problem = format!("must validate all the schemas (allOf){none}");
            self.refuse_combined(subject, &problem, outcome);
        }
    }
}

/// Of several failed alternatives the one that had most checks.
#[derive(Default)]
struct Best(Option<Outcome>);

impl Best {
    fn offer(&mut self, outcome: Outcome) {
        let is_better = |best: &Outcome| outcome.matches() > best.matches();
        if self.0.as_ref().is_none_or(is_better) {
            self.0 = Some(outcome);
        }
    }

    fn merge_into(self, outcome: &mut Outcome) {
        if let Some(best) = self.0 {
            outcome.merge(best);
        }
    }
}
