//! Cuts a script down to the lines that matter.

/// The shortest script found that still fails, by leaving out lines: halves first, then less.
///
/// Headers and `settle` stay: without them a script may fail for a reason that is known.
pub(crate) fn shrink(script: &str, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut lines: Vec<&str> = script.lines().collect();
    let mut size = lines.len().div_ceil(2).max(1);
    loop {
        let mut begin = 0;
        let mut shorter = false;
        while begin < lines.len() {
            let end = (begin + size).min(lines.len());
            let kept = lines[begin..end].iter().filter(|line| must_stay(line));
            let kept: Vec<&str> = kept.copied().collect();
            let rest = [&lines[..begin], &kept, &lines[end..]].concat();
            if rest.len() < lines.len() && fails(&rest.join("\n")) {
                lines = rest;
                begin += kept.len();
                shorter = true;
            } else {
                begin = end;
            }
        }
        match (size, shorter) {
            (1, false) => return lines.join("\n"),
            (1, true) => {}
            _ => size = size.div_ceil(2),
        }
    }
}

fn must_stay(line: &str) -> bool {
    line == "settle" || line.contains(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_that_matter_are_left() {
        let script: Vec<String> = (0..50).map(|line| format!("line {line}")).collect();
        let fails = |script: &str| script.contains("line 7\n") && script.ends_with("line 31");
        let fails = |script: &str| {
            let cut = script.lines().take_while(|line| *line != "line 32");
            fails(&cut.collect::<Vec<_>>().join("\n"))
        };
        assert_eq!(shrink(&script.join("\n"), fails), "line 7\nline 31");
    }

    #[test]
    fn headers_and_the_time_for_retries_stay() {
        let script = "source: list\nstart\nsettle\nreset";
        let shortest = shrink(script, |script| script.contains("reset"));
        assert_eq!(shortest, "source: list\nsettle\nreset");
    }

    #[test]
    fn a_script_of_which_every_line_matters_stays() {
        assert_eq!(shrink("a\nb", |script| script == "a\nb"), "a\nb");
    }
}
