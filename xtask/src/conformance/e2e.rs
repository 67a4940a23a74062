//! Kubernetes' own conformance tests, as far as they need no nodes.
//!
//! The program `e2e.test` comes with every release of Kubernetes, or is built from its module;
//! which of its tests are run is written in `conformance/e2e/tests.txt`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::server::Server;
use crate::{tools, workspace};

/// The suite does not begin before there is a node that looks ready; one test waits until a list
/// can no longer be continued.
const SERVER: [&str; 4] = ["--simulate-nodes", "2", "--list-seconds", "240"];

/// One test that ran.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    name: String,
    /// Why it failed, in one line; `None` when it passed.
    failure: Option<String>,
}

/// Runs the tests whose names contain one of these texts, or all that need no nodes, and prints
/// what passes.
pub(super) fn run(program: &Path, texts: &[String]) -> Result<()> {
    ensure!(program.is_file(), "{} is no file", program.display());
    tools::build_kubectl()?;
    let listed = fs::read_to_string(workspace::root().join("conformance/e2e/tests.txt"))
        .context("cannot read the list of tests")?;
    let focus = match texts {
        [] => focus(listed.lines().filter(|line| !is_comment(line))),
        texts => focus(texts.iter().map(String::as_str)),
    };
    let server = Server::start("e2e", &SERVER)?;
    let report = server.folder().join("report.json");
    let ended = test_command(program, &server, (&focus, &report)).status();
    ended.with_context(|| format!("cannot run {}", program.display()))?;
    let text = fs::read_to_string(&report).context("the tests left no report")?;
    let verdicts = read_report(&serde_json::from_str(&text)?)?;
    let failed = tell(&verdicts);
    println!(
        "{} of {} passed; the log of each is in {}",
        verdicts.len() - failed,
        verdicts.len(),
        server.folder().join("e2e.log").display()
    );
    ensure!(failed == 0, "{failed} of Kubernetes' tests failed");
    Ok(())
}

fn is_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

/// An expression that finds the names with one of these texts.
fn focus<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let escaped = texts.map(|text| {
        let mut escaped = String::new();
        for character in text.chars() {
            if "\\.+*?()|[]{}^$".contains(character) {
                escaped.push('\\');
            }
            escaped.push(character);
        }
        escaped
    });
    escaped.collect::<Vec<_>>().join("|")
}

fn test_command(program: &Path, server: &Server, (focus, report): (&str, &PathBuf)) -> Command {
    let mut command = Command::new("sh");
    // What the tests say fills screens: it goes to a file, and the report is read.
    let script = "log=$1; shift; exec \"$@\" >\"$log\" 2>&1";
    command
        .args(["-c", script, "sh"])
        .arg(server.folder().join("e2e.log"))
        .arg(program)
        .args(["--provider", "skeleton", "--ginkgo.no-color", "--ginkgo.v"])
        .args([
            "--ginkgo.timeout",
            "2h",
            "--ginkgo.label-filter",
            "Conformance",
        ])
        .arg("--kubeconfig")
        .arg(server.folder().join("kubeconfig"))
        .arg("--kubectl-path")
        .arg(workspace::tools().join("kubectl"))
        .args(["--ginkgo.focus", focus])
        .arg("--ginkgo.json-report")
        .arg(report)
        .current_dir(server.folder());
    command
}

/// The tests that ran, by name.
fn read_report(report: &Value) -> Result<Vec<Verdict>> {
    let suites = report.as_array().context("the report is no list")?;
    let specs = suites
        .iter()
        .flat_map(|suite| suite["SpecReports"].as_array().into_iter().flatten());
    let mut verdicts = specs.filter_map(read_spec).collect::<Vec<_>>();
    verdicts.sort_by(|left, right| left.name.cmp(&right.name));
    if verdicts.is_empty() {
        bail!("no test ran");
    }
    Ok(verdicts)
}

/// How one test ended; `None` when it was not run. What fails before all tests is one too.
fn read_spec(spec: &Value) -> Option<Verdict> {
    let containers = spec["ContainerHierarchyTexts"].as_array();
    let texts = containers
        .into_iter()
        .flatten()
        .chain([&spec["LeafNodeText"]]);
    let words: Vec<&str> = texts.filter_map(Value::as_str).collect();
    let is_test = spec["LeafNodeType"] == "It";
    let failure = match spec["State"].as_str()? {
        "passed" if is_test => None,
        "passed" | "skipped" | "pending" => return None,
        state => Some(why(state, &spec["Failure"])),
    };
    let name = match is_test {
        true => words.join(" "),
        false => spec["LeafNodeType"].as_str()?.to_owned(),
    };
    Some(Verdict { name, failure })
}

fn why(state: &str, failure: &Value) -> String {
    let message = failure["Message"].as_str().unwrap_or(state);
    message.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Prints what passed and what did not, and counts the latter.
fn tell(verdicts: &[Verdict]) -> usize {
    for Verdict { name, failure } in verdicts {
        match failure {
            None => println!("passed  {name}"),
            Some(why) => println!("FAILED  {name}\n        {why}"),
        }
    }
    verdicts.iter().filter(|it| it.failure.is_some()).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_found_as_they_are_written() {
        let texts = ["[sig-x] A", "b (c)"];
        assert_eq!(focus(texts.into_iter()), r"\[sig-x\] A|b \(c\)");
    }

    #[test]
    fn a_report_tells_what_passed_and_why_the_rest_failed() {
        let report = json!([{"SpecReports": [
            {"ContainerHierarchyTexts": ["B"], "LeafNodeText": "works", "LeafNodeType": "It",
             "State": "failed", "Failure": {"Message": "not\n  found"}},
            {"ContainerHierarchyTexts": ["A"], "LeafNodeText": "works", "LeafNodeType": "It",
             "State": "passed"},
            {"ContainerHierarchyTexts": ["C"], "LeafNodeText": "x", "LeafNodeType": "It",
             "State": "skipped"},
            {"ContainerHierarchyTexts": null, "LeafNodeText": "",
             "LeafNodeType": "SynchronizedBeforeSuite", "State": "timedout",
             "Failure": {"Message": "no nodes"}},
        ]}]);
        let verdict = |name: &str, failure: Option<&str>| Verdict {
            name: name.to_owned(),
            failure: failure.map(str::to_owned),
        };
        assert_eq!(
            read_report(&report).unwrap(),
            [
                verdict("A works", None),
                verdict("B works", Some("not found")),
                verdict("SynchronizedBeforeSuite", Some("no nodes")),
            ]
        );
    }

    #[test]
    fn a_report_of_nothing_is_no_success() {
        assert!(read_report(&json!([{"SpecReports": []}])).is_err());
    }
}
