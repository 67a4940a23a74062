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

/// What Go would say: what is wrong, and the part of the pattern that is.
fn syntax_problem(pattern: &str, report: &str) -> String {
    let last = report.lines().last().unwrap_or_default();
    let problem = last.strip_prefix("error: ").unwrap_or(last);
    let (start, end) = marked(report, pattern);
    let part = pattern.get(start..end).unwrap_or(pattern);
    let rest = pattern.get(start..).unwrap_or(pattern);
    let (words, part) = match problem {
        "unclosed character class" => ("missing closing ]", rest),
        "unclosed group" => ("missing closing )", pattern),
        "unopened group" => ("unexpected )", pattern),
        "repetition operator missing expression" => {
            ("missing argument to repetition operator", part)
        }
        "incomplete escape sequence, reached end of pattern prematurely" => {
            ("trailing backslash at end of expression", "")
        }
        "invalid character class range, the start must be <= the end" => {
            ("invalid character class range", part)
        }
        _ if problem.starts_with("look-around") || problem.starts_with("unrecognized flag") => {
            ("invalid or unsupported Perl syntax", part)
        }
        _ if problem.starts_with("unrecognized escape") || problem.starts_with("backref") => {
            ("invalid escape sequence", part)
        }
        _ => (problem, pattern),
    };
    format!("error parsing regexp: {words}: `{part}`")
}

/// The part of a pattern that the parser's report underlines; all of it if there is no such line.
fn marked(report: &str, pattern: &str) -> (usize, usize) {
    const INDENT: usize = 4;
    let underline = report.lines().find(|line| {
        let line = line.trim();
        !line.is_empty() && line.bytes().all(|byte| byte == b'^')
    });
    let Some(underline) = underline.filter(|_| !pattern.contains('\n')) else {
        return (0, pattern.len());
    };
    let first = underline.len() - underline.trim_start().len();
    let start = first.saturating_sub(INDENT);
    (start, start + underline.trim().len())
}
