//! Ours beside the peers: builds them all for release and measures them in one run.

use std::process::Command;

use anyhow::Result;

use crate::{progress, tools, workspace};

/// Runs a program with as many open files as the system allows: each watch needs one on both sides.
const WITH_ALL_FILES: &str = r#"ulimit -n "$(ulimit -H -n)"; exec "$0" "$@""#;

/// Builds everything and runs the scene that is named; what follows its name is passed on.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (scene, rest) = match arguments.split_first() {
        Some((scene, rest)) => (scene.as_str(), rest),
        None => ("informers", arguments),
    };
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--package", "listwatch-cli"]);
    build.args(["--package", "listwatch-bench"]);
    progress::command(build.current_dir(workspace::root()))?;
    let mut bench = Command::new("sh");
    bench.args(["-c", WITH_ALL_FILES]);
    bench.arg(workspace::target().join("release/listwatch-bench"));
    bench.arg(scene).args(rest).current_dir(workspace::root());
    if scene != "informers" {
        return progress::command(&mut bench).map(drop);
    }
    match tools::missing(&["go"]) {
        Some(_) => println!("client-go: LEFT OUT: `go` is not installed"),
        None => {
            let program = workspace::tools().join("client_go");
            let mut build = Command::new("go");
            build.args(["build", "-o"]).arg(&program).arg(".");
            progress::command(build.current_dir(workspace::root().join("bench/client_go")))?;
            bench.arg("--client-go").arg(program);
        }
    }
    progress::command(&mut bench).map(drop)
}
