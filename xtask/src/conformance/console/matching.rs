//! Compares expected output with what was printed.

/// Stands for anything within a line.
const WITHIN_LINE: &str = "[..]";
/// Stands for any number of lines.
const LINES: &str = "...";

/// Drops spaces at the end of lines and empty lines at both ends.
pub(super) fn trim(lines: &mut Vec<String>) {
    for line in lines.iter_mut() {
        line.truncate(line.trim_end().len());
    }
    let end = lines
        .iter()
        .rposition(|line| !line.is_empty())
        .map_or(0, |last| last + 1);
    lines.truncate(end);
    let start = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    lines.drain(..start);
}

/// Whether the lines are as expected.
pub(super) fn lines(expected: &[String], found: &[String]) -> bool {
    match (expected.split_first(), found.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == LINES => {
            (0..=found.len()).any(|skipped| lines(rest, &found[skipped..]))
        }
        (Some((expected, others)), Some((found, rest))) => {
            line(expected, found) && lines(others, rest)
        }
        _ => false,
    }
}

fn line(expected: &str, found: &str) -> bool {
    let Some((head, tail)) = expected.split_once(WITHIN_LINE) else {
        return expected == found;
    };
    let Some(rest) = found.strip_prefix(head) else {
        return false;
    };
    let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.into_iter().any(|at| line(tail, &rest[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(expected: &str, found: &str) -> bool {
        let split = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        lines(&split(expected), &split(found))
    }

    #[test]
    fn plain_lines_match_themselves_only() {
        assert!(matches("a\nb", "a\nb"));
        assert!(!matches("a\nb", "a"));
        assert!(!matches("a", "a\nb"));
        assert!(!matches("a", "b"));
    }

    #[test]
    fn a_wildcard_matches_within_one_line() {
        assert!(matches("color  1  [..]s", "color  1  12s"));
        assert!(matches("a[..]", "a"));
        assert!(matches("a[..]b[..]c", "a-b-b-c"));
        assert!(!matches("a[..]c", "a\nc"));
        assert!(!matches("a[..]b", "a-c"));
    }

    #[test]
    fn three_dots_match_any_number_of_lines() {
        assert!(matches("a\n...", "a"));
        assert!(matches("...\nb", "x\ny\nb"));
        assert!(matches("a\n...\nc\n...\ne", "a\nb\nc\ne"));
        assert!(!matches("a\n...\nc", "a\nb"));
    }

    #[test]
    fn empty_lines_around_the_output_do_not_count() {
        let mut found = vec![
            String::new(),
            "a  ".to_owned(),
            "b".to_owned(),
            String::new(),
        ];
        trim(&mut found);
        assert_eq!(found, ["a", "b"]);
    }
}
