//! Patterns of schemas: compiled when first needed, within bounds.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// Bytes that one compiled pattern may take. A larger one counts as not compiling.
const PATTERN_BYTES_MAX: usize = 2 << 20;

/// A regular expression that most objects never meet, and therefore compiles late.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) text: Box<str>,
    compiled: OnceLock<Result<Regex, String>>,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
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

/// Compiles a pattern, or says what is wrong with it.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern)
        .size_limit(PATTERN_BYTES_MAX)
        .build();
    built.map_err(|error| match error {
        regex::Error::Syntax(text) => syntax_problem(pattern, &text),
        regex::Error::CompiledTooBig(_) => {
            format!("error parsing regexp: expression too large: `{pattern}`")
        }
        other => format!("error parsing regexp: {other}"),
    })
}

/// The last line of the parser's report, which says what is wrong.
fn syntax_problem(pattern: &str, report: &str) -> String {
    let last = report.lines().last().unwrap_or_default();
    let problem = last.strip_prefix("error: ").unwrap_or(last);
    format!("error parsing regexp: {problem}: `{pattern}`")
}
