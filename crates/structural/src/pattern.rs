//! Patterns of schemas: each compiled once, when first needed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use listwatch_cel::library::regex::compile;
use regex::Regex;

/// Different patterns that one schema may have: compiling them all is what a definition costs.
pub(crate) const PATTERNS_MAX: usize = 2_000;

/// A regular expression that most objects never meet, and therefore compiles late.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) text: Box<str>,
    compiled: OnceLock<Result<Regex, String>>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            compiled: OnceLock::new(),
        }
    }

    /// Whether some part of the text matches; the error says why the pattern is none.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, &str> {
        match self.compiled.get_or_init(|| compile(&self.text)) {
            Ok(regex) => Ok(regex.is_match(text)),
            Err(problem) => Err(problem),
        }
    }
}

/// The patterns of one schema, each there once however often it is stated.
#[derive(Debug, Default)]
pub(crate) struct Patterns<'a>(RefCell<HashMap<&'a str, Arc<Pattern>>>);

impl<'a> Patterns<'a> {
    pub(crate) fn share(&self, text: &'a str) -> Arc<Pattern> {
        let mut known = self.0.borrow_mut();
        let pattern = known
            .entry(text)
            .or_insert_with(|| Arc::new(Pattern::new(text)));
        Arc::clone(pattern)
    }
}

/// What is wrong with the patterns of a schema.
#[derive(Debug)]
pub(crate) enum PatternChecks<'a> {
    /// Each is compiled once.
    Compiled(HashMap<&'a str, Option<String>>),
    /// They were looked at before, and compile when a text meets them.
    Trusted,
}

impl<'a> PatternChecks<'a> {
    pub(crate) fn compiled() -> Self {
        Self::Compiled(HashMap::new())
    }

    /// What is wrong with a pattern.
    pub(crate) fn problem(&mut self, text: &'a str) -> Option<&str> {
        let Self::Compiled(known) = self else {
            return None;
        };
        if known.len() >= PATTERNS_MAX && !known.contains_key(text) {
            return Some("the schema has too many different ones");
        }
        let compiled = || compile(text).err();
        known.entry(text).or_insert_with(compiled).as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_is_stated_twice_is_there_once() {
        let patterns = Patterns::default();
        let (one, other) = (patterns.share("^a+$"), patterns.share("^a+$"));
        assert!(Arc::ptr_eq(&one, &other));
        assert_eq!(one.is_match("aa"), Ok(true));
        assert_eq!(one.is_match("b"), Ok(false));
    }

    #[test]
    fn classes_of_characters_are_those_of_go() {
        let patterns = Patterns::default();
        assert_eq!(patterns.share(r"^\d$").is_match("٣"), Ok(false));
    }

    #[test]
    fn a_schema_may_have_only_so_many_patterns() {
        let texts: Vec<String> = (0..=PATTERNS_MAX)
            .map(|number| number.to_string())
            .collect();
        let mut checks = PatternChecks::compiled();
        let problems = texts.iter().filter(|text| checks.problem(text).is_some());
        assert_eq!(problems.count(), 1);
        assert_eq!(checks.problem("7"), None);
        assert!(PatternChecks::compiled().problem("[a-").is_some());
    }
}
