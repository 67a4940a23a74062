//! Reads a transcript.

use anyhow::{Context, Result, ensure};

use super::matching;

/// One command and what it must print.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Exchange {
    /// Where the command stands in its file.
    pub(super) line: usize,
    pub(super) command: String,
    pub(super) output: Vec<String>,
    pub(super) code: i32,
}

pub(super) fn parse(text: &str) -> Result<Vec<Exchange>> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            exchanges.push(Exchange {
                line: index + 1,
                command: command.to_owned(),
                ..Exchange::default()
            });
            continue;
        }
        if line.starts_with("# ") || line == "#" {
            continue;
        }
        let Some(exchange) = exchanges.last_mut() else {
            ensure!(
                line.is_empty(),
                "line {}: output before any command",
                index + 1
            );
            continue;
        };
        if let Some(more) = line
            .strip_prefix("> ")
            .filter(|_| exchange.output.is_empty())
        {
            exchange.command.push('\n');
            exchange.command.push_str(more);
        } else if let Some(code) = line.strip_prefix("? ") {
            exchange.code = code
                .trim()
                .parse()
                .context("the exit code is not a number")?;
        } else {
            exchange.output.push(line.to_owned());
        }
    }
    for exchange in &mut exchanges {
        matching::trim(&mut exchange.output);
    }
    Ok(exchanges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_goes_on_after_its_first_line_and_has_output_and_a_code() {
        let scene = "# Why.\n$ cat <<EOF\n> a\n> EOF\na\n\n$ false\n? 1\n";
        let expected = [
            Exchange {
                line: 2,
                command: "cat <<EOF\na\nEOF".to_owned(),
                output: vec!["a".to_owned()],
                code: 0,
            },
            Exchange {
                line: 7,
                command: "false".to_owned(),
                output: Vec::new(),
                code: 1,
            },
        ];
        assert_eq!(parse(scene).unwrap(), expected);
    }

    #[test]
    fn output_before_a_command_is_refused() {
        assert!(parse("a\n$ true\n").is_err());
    }
}
