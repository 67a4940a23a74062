//! What a handler knows if it believes all that it was told.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail, ensure};

use crate::log::{Line, Log};

/// Fails unless every handler that stayed was told each step from nothing to the store.
pub(crate) fn check(log: &Log) -> Result<()> {
    let steps = log
        .segments
        .iter()
        .flat_map(|segment| segment.step.split(';'));
    let removed: BTreeSet<&str> = steps.filter_map(removed_handler).collect();
    let mut known: BTreeMap<&str, Knowledge> = BTreeMap::new();
    for segment in &log.segments {
        for (handler, lines) in &segment.handlers {
            let knowledge = known.entry(handler).or_default();
            for line in lines {
                if let Err(error) = knowledge.take(line) {
                    bail!("{handler} in step `{}`: {error}", segment.step);
                }
            }
        }
    }
    let store = log.last_store().unwrap_or_default();
    for (handler, knowledge) in known {
        let told = knowledge.describe();
        ensure!(
            removed.contains(handler) || knowledge.is_refused() || told == store,
            "{handler} was told of `{told}`, and the store has `{store}`"
        );
    }
    Ok(())
}

/// The handler's name in `7 remove h1` or in ` remove h1`.
fn removed_handler(action: &str) -> Option<&str> {
    let mut words = action
        .split_whitespace()
        .skip_while(|word| *word != "remove");
    words.nth(1)
}

/// The objects that a handler was told of.
#[derive(Default)]
struct Knowledge {
    objects: BTreeMap<String, String>,
    refusals: usize,
}

impl Knowledge {
    fn take(&mut self, line: &Line) -> Result<()> {
        let known = self.objects.get(line.key());
        match line {
            Line::Add { object, .. } => {
                ensure!(known.is_none(), "`{line}`, which it knows");
                self.put(line.key(), state_of(object));
            }
            Line::Update { key, old, new } => {
                ensure!(known == Some(old), "`{line}`, and it knows {known:?}");
                self.put(key, new);
            }
            Line::Resync(object) => {
                let state = state_of(object);
                ensure!(
                    known.is_some_and(|known| known == state),
                    "`{line}`, and it knows {known:?}"
                );
            }
            Line::Delete(_) | Line::DeleteUnknown(_) => {
                self.objects.remove(line.key());
            }
            Line::Refused => self.refusals += 1,
            Line::Lagged(_) | Line::Synced => {}
        }
        Ok(())
    }

    fn put(&mut self, key: &str, state: &str) {
        self.objects.insert(key.to_owned(), state.to_owned());
    }

    fn is_refused(&self) -> bool {
        self.refusals > 0
    }

    fn describe(&self) -> String {
        let objects = self.objects.iter();
        let words = objects.map(|(key, state)| format!("{key} {state}"));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// What stands after the name.
fn state_of(object: &str) -> &str {
    object.split_once(' ').map_or("", |(_, state)| state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_whole(log: &str) -> bool {
        check(&Log::parse(log).unwrap()).is_ok()
    }

    #[test]
    fn every_step_must_be_told() {
        let beginning = "# 1 start\nh1 add d/a @2 initial\nh1 synced\nstore @2 d/a @2\n";
        assert!(is_whole(beginning));
        let step = |lines: &str| format!("{beginning}# 2 settle\n{lines}store @4 d/a @4\n");
        assert!(is_whole(&step("h1 update d/a @2 -> @4\n")));
        assert!(is_whole(&step("h1 delete d/a @3\nh1 add d/a @4\n")));
        assert!(!is_whole(&step("")));
        assert!(!is_whole(&step("h1 update d/a @3 -> @4\n")));
        assert!(!is_whole(&step("h1 add d/a @4\n")));
        assert!(!is_whole(&step(
            "h1 update d/a @2 -> @4\nh1 resync d/a @2\n"
        )));
    }

    #[test]
    fn a_handler_that_was_removed_need_not_know_the_end() {
        let log = "# 1 start\nh1 add d/a @2\n# 2 add d/b; remove h1\nstore @3 d/a @2 d/b @3\n";
        assert!(is_whole(log));
        assert!(!is_whole(&log.replace("remove h1", "remove h2")));
    }
}
