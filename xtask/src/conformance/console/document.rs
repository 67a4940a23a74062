//! Transcripts inside documents, which a reader would type into two terminals.

use super::scene::Exchange;

/// Where a document's server listens.
const WRITTEN_URL: &str = "http://127.0.0.1:8080";
const FENCE: &str = "```";

/// The console blocks of a document, every line at its place.
pub(super) fn transcript(text: &str) -> String {
    let mut inside = false;
    let mut transcript = String::new();
    for line in text.lines() {
        match line.strip_prefix(FENCE) {
            Some(language) => inside = !inside && language == "console",
            None if inside => transcript.push_str(line),
            None => {}
        }
        transcript.push('\n');
    }
    transcript
}

/// What the server of a document is told that matters to what the document shows: where it keeps
/// its data does not. A scene says it in a comment.
pub(super) fn server_flags(text: &str) -> Vec<&str> {
    let mut lines = text.lines();
    let typed = lines.find_map(|line| {
        let told = line.strip_prefix("$ ").or(line.strip_prefix("# "))?;
        told.strip_prefix("listwatch serve ")
    });
    let words: Vec<&str> = typed.unwrap_or_default().split_whitespace().collect();
    let place = words.iter().position(|word| *word == "--simulate-nodes");
    let flag = place.and_then(|place| words.get(place..place + 2));
    flag.map(<[&str]>::to_vec).unwrap_or_default()
}

/// What to run for what a reader types.
///
/// The server of the run stands for the one that the document starts, and a watch that a reader
/// would end with Ctrl-C ends when it has shown what the document says. Building and testing are
/// left out: this run is part of them.
pub(super) fn exchanges(typed: Vec<Exchange>) -> Vec<Exchange> {
    typed.into_iter().filter_map(adapt).collect()
}

fn adapt(mut exchange: Exchange) -> Option<Exchange> {
    let typed = exchange.command.as_str();
    let lines = exchange.output.len();
    exchange.command = match typed {
        "cargo run --release" => "echo listening on $LISTWATCH_SERVER".to_owned(),
        _ if typed.starts_with("listwatch serve") => {
            "echo listening on $LISTWATCH_SERVER".to_owned()
        }
        _ if typed.starts_with("cargo ") => return None,
        _ if typed.ends_with("--watch") || typed.starts_with("listwatch watch ") => {
            format!(
                "true >watch.txt\n{typed} >>watch.txt 2>&1 &\n\
                 await_lines {lines} watch.txt; end_background"
            )
        }
        _ => typed.replace(WRITTEN_URL, "$LISTWATCH_SERVER"),
    };
    for line in &mut exchange.output {
        *line = without_version(&without_age(&line.replace(WRITTEN_URL, "http://[..]")));
    }
    Some(exchange)
}

/// A reader is told some age; it will be another one.
fn without_age(line: &str) -> String {
    let end = line
        .strip_suffix('s')
        .map(|rest| rest.trim_end_matches(|c: char| c.is_numeric()));
    match end {
        Some(head) if head.ends_with(' ') => format!("{head}[..]s"),
        _ => line.to_owned(),
    }
}

/// Nor does a reader have to be at the same version, as in `ADDED default/web @12`.
fn without_version(line: &str) -> String {
    let head = line.trim_end_matches(|c: char| c.is_ascii_digit());
    match head.ends_with(" @") {
        true => format!("{head}[..]"),
        false => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapted(command: &str, output: &[&str]) -> Option<Exchange> {
        let exchange = Exchange {
            line: 1,
            command: command.to_owned(),
            output: output.iter().map(|line| (*line).to_owned()).collect(),
            code: 0,
        };
        adapt(exchange)
    }

    #[test]
    fn a_server_is_told_what_matters_to_the_document() {
        let text = "$ listwatch serve --memory --simulate-nodes 2\nlistening";
        assert_eq!(server_flags(text), ["--simulate-nodes", "2"]);
        let scene = "# Why.\n# listwatch serve --simulate-nodes 1\n$ true";
        assert_eq!(server_flags(scene), ["--simulate-nodes", "1"]);
        assert_eq!(server_flags("$ listwatch serve --memory"), [""; 0]);
        assert_eq!(server_flags("nothing"), [""; 0]);
    }

    #[test]
    fn only_console_blocks_are_run_and_lines_keep_their_numbers() {
        let text = "# Title\n```rust\nlet a;\n```\n```console\n$ true\n```\ntext\n";
        assert_eq!(transcript(text), "\n\n\n\n\n$ true\n\n\n");
    }

    #[test]
    fn the_running_server_stands_for_the_one_in_the_text() {
        let started = adapted("listwatch serve", &["listening on http://127.0.0.1:8080"]).unwrap();
        assert_eq!(started.command, "echo listening on $LISTWATCH_SERVER");
        assert_eq!(started.output, ["listening on http://[..]"]);
        let asked = adapted("curl http://127.0.0.1:8080/version", &[]).unwrap();
        assert_eq!(asked.command, "curl $LISTWATCH_SERVER/version");
    }

    #[test]
    fn an_endless_watch_ends_when_it_has_shown_its_lines() {
        let watch = adapted("kubectl get pods --watch", &["NAME", "one"]).unwrap();
        assert!(
            watch
                .command
                .ends_with("await_lines 2 watch.txt; end_background")
        );
    }

    #[test]
    fn ages_may_differ_from_those_in_the_text() {
        assert_eq!(without_age("color   1      4s"), "color   1      [..]s");
        assert_eq!(without_age("configmap/colors"), "configmap/colors");
        assert_eq!(without_age("NAME   AGE"), "NAME   AGE");
    }

    #[test]
    fn our_own_watch_ends_likewise_and_its_versions_may_differ() {
        let watch = adapted("listwatch watch pods", &["ADDED     default/a   @12"]).unwrap();
        assert!(
            watch
                .command
                .ends_with("await_lines 1 watch.txt; end_background")
        );
        assert_eq!(watch.output, ["ADDED     default/a   @[..]"]);
        assert_eq!(without_version("mail to me@12"), "mail to me@12");
    }

    #[test]
    fn a_document_does_not_run_the_tests_that_run_it() {
        assert_eq!(adapted("cargo xtask test", &[]), None);
        assert!(adapted("cargo run --release", &[]).is_some());
    }
}
