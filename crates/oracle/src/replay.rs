//! What a handler knows if it believes all that it was told.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail, ensure};

use crate::log::{Line, Log};

/// Fails unless every handler was told each step from nothing to the store; one that was kept from
/// the end may stop before.
pub(crate) fn check(log: &Log) -> Result<()> {
    let mut known: BTreeMap<&str, Knowledge> = BTreeMap::new();
    let mut kept = Kept::default();
    for segment in &log.segments {
        segment
            .step
            .split(';')
            .for_each(|action| kept.follow(action));
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
            told == store || kept.has(handler),
            "{handler} was told of `{told}`, and the store has `{store}`"
        );
    }
    Ok(())
}

/// Who is not told everything.
#[derive(Default)]
struct Kept<'a> {
    removed: BTreeSet<&'a str>,
    blocked: BTreeSet<&'a str>,
    /// After the stop nobody is told anything.
    stops: usize,
}

impl<'a> Kept<'a> {
    /// Takes in one action; the first of a step has the step's number before it.
    fn follow(&mut self, action: &'a str) {
        let words: Vec<&str> = action.split_whitespace().collect();
        match words[..] {
            [.., "remove", handler] => drop(self.removed.insert(handler)),
            [.., "block", handler] => drop(self.blocked.insert(handler)),
            [.., "unblock", handler] => drop(self.blocked.remove(handler)),
            [.., "stop"] => self.stops += 1,
            _ => {}
        }
    }

    fn has(&self, handler: &str) -> bool {
        self.stops > 0 || self.removed.contains(handler) || self.blocked.contains(handler)
    }
}

/// The objects that a handler was told of.
#[derive(Default)]
struct Knowledge {
    objects: BTreeMap<String, String>,
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
            Line::Lagged(_) | Line::Synced | Line::Refused => {}
        }
        Ok(())
    }

    fn put(&mut self, key: &str, state: &str) {
        self.objects.insert(key.to_owned(), state.to_owned());
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
    fn a_handler_that_was_kept_from_the_end_need_not_know_it() {
        let end = |action: &str| {
            let log = "# 1 start\nh1 add d/a @2\n# 2 add d/b; NOW\nstore @3 d/a @2 d/b @3\n";
            log.replace("NOW", action)
        };
        for action in ["remove h1", "block h1", "stop"] {
            assert!(is_whole(&end(action)), "{action}");
        }
        for action in ["remove h2", "block h2", "block h1; unblock h1", "bookmark"] {
            assert!(!is_whole(&end(action)), "{action}");
        }
    }
}
