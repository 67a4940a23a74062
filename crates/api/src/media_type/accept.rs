//! The `Accept` header: clauses with qualities and parameters.

use std::cmp::Reverse;

/// Clauses that are looked at; more than any client sends. The others are left out.
const CLAUSES_MAX: usize = 64;

/// One media range that a client accepts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clause<'a> {
    main_type: &'a str,
    subtype: &'a str,
    /// In thousandths, so that clauses can be ordered.
    quality: u32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    /// The value of a parameter; of a repeated one the last.
    pub(super) fn parameter(&self, name: &str) -> Option<&'a str> {
        let mut reversed = self.parameters.iter().rev();
        reversed
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }

    /// Whether the range contains this media type.
    pub(super) fn covers(&self, media_type: &str) -> bool {
        let Some((main_type, subtype)) = media_type.split_once('/') else {
            return false;
        };
        match (self.main_type, self.subtype) {
            ("*", "*") => true,
            (main, "*") => main == main_type,
            (main, sub) => main == main_type && sub == subtype,
        }
    }

    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';');
        let range = parts.next().unwrap_or_default().trim_matches(' ');
        let (main_type, subtype) = match range.split_once('/') {
            Some((main_type, subtype)) => (main_type.trim_matches(' '), subtype.trim_matches(' ')),
            None if range == "*" => ("*", "*"),
            None => return None,
        };
        if subtype.is_empty() || subtype.contains('/') {
            return None;
        }
        let mut clause = Self {
            main_type,
            subtype,
            quality: 1_000,
            parameters: Vec::new(),
        };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim_matches(' ') {
                "q" => clause.quality = parse_quality(value),
                name => clause.parameters.push((name, value.trim_matches(' '))),
            }
        }
        Some(clause)
    }

    fn wildcards(&self) -> usize {
        usize::from(self.main_type == "*") + usize::from(self.subtype == "*")
    }
}

/// The clauses, the most wanted first, and the more exact first among equals.
pub(super) fn parse(accept: &str) -> Vec<Clause<'_>> {
    let accept = if accept.is_empty() { "*/*" } else { accept };
    let mut clauses: Vec<Clause<'_>> = accept
        .split(',')
        .take(CLAUSES_MAX)
        .filter_map(Clause::parse)
        .collect();
    clauses.sort_by_key(|clause| (Reverse(clause.quality), clause.wildcards()));
    clauses
}

/// Whether a clause names one of these types, whatever its parameters and quality.
pub(super) fn names_any(clauses: &[Clause<'_>], media_types: &[&str]) -> bool {
    clauses.iter().any(|clause| {
        media_types
            .iter()
            .any(|media_type| clause.covers(media_type))
    })
}

fn parse_quality(text: &str) -> u32 {
    match text.trim_matches(' ').parse::<f64>() {
        // The cast saturates, and clients mean nothing by qualities above one.
        Ok(quality) => (quality * 1_000.0) as u32,
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(accept: &str) -> Vec<String> {
        let clauses = parse(accept);
        clauses
            .iter()
            .map(|clause| format!("{}/{}", clause.main_type, clause.subtype))
            .collect()
    }

    #[test]
    fn clauses_are_ordered_by_quality_and_exactness() {
        let accept = "a/b;q=0.5, */*, a/*,c/d ,e/f;q=0.9";
        assert_eq!(order(accept), ["c/d", "a/*", "*/*", "e/f", "a/b"]);
    }

    #[test]
    fn what_is_no_clause_is_skipped() {
        assert_eq!(order("*"), ["*/*"]);
        assert_eq!(order(""), ["*/*"]);
        assert_eq!(order("json, a/b/c, /, a/b"), ["a/b"]);
    }

    #[test]
    fn parameters_are_read() {
        let clauses = parse("a/b; as = Table ;q=x;v=1;v=2");
        assert_eq!(clauses[0].parameter("as"), Some("Table"));
        assert_eq!(clauses[0].parameter("v"), Some("2"));
        assert_eq!(clauses[0].quality, 0);
    }
}
