//! Other people's clients against our server.
//!
//! Each client is a program that gets a server of its own and may ask for its restart.

mod console;
mod e2e;
mod kube_apiserver;
mod pages;
mod program;
mod replicas;
mod server;
mod session;

use std::{path::Path, process::Command};

use anyhow::{Context, Result};

use crate::{
    progress::{self, Outcome, Progress},
    tools, workspace,
};

/// Somebody else's client.
pub(crate) struct Client {
    /// What to call it on the command line.
    pub(crate) name: &'static str,
    /// The programs that must be installed.
    pub(crate) toolchain: &'static [&'static str],
    /// Builds or downloads the client.
    pub(crate) install: fn() -> Result<()>,
    run: fn() -> Result<()>,
}

/// So little history that a client can come back too late.
const LITTLE_HISTORY: &[&str] = &["--history-bytes", "1000000"];

/// All that every change must pass, the widest first.
pub(crate) const CLIENTS: [Client; 9] = [
    Client {
        name: "kubectl",
        toolchain: &["go", "bash"],
        install: tools::build_kubectl,
        run: console::run_all,
    },
    Client {
        name: "go",
        toolchain: &["go"],
        install: || tools::build_go("go"),
        run: || {
            program::run("go", &[], &mut Command::new(workspace::tools().join("go")))?;
            pages::run(&pages::GO)
        },
    },
    Client {
        name: "python",
        toolchain: &["python3"],
        install: tools::install_python,
        run: || {
            let mut python = Command::new(workspace::tools().join("python/bin/python"));
            program::run(
                "python",
                LITTLE_HISTORY,
                python.arg("conformance/python/main.py"),
            )?;
            pages::run(&pages::PYTHON)
        },
    },
    Client {
        name: "kopf",
        toolchain: &["python3"],
        install: tools::install_python,
        run: || {
            let mut python = Command::new(workspace::tools().join("python/bin/python"));
            program::run(
                "kopf",
                &[],
                python.arg("conformance/python/painter_main.py"),
            )
        },
    },
    Client {
        name: "javascript",
        toolchain: &["node", "npm"],
        install: tools::install_javascript,
        run: || {
            let mut node = Command::new("node");
            program::run(
                "javascript",
                &[],
                node.arg("conformance/javascript/main.mjs"),
            )?;
            pages::run(&pages::JAVASCRIPT)
        },
    },
    Client {
        name: "kube_rs",
        toolchain: &["cargo"],
        install: || Ok(()),
        run: || {
            let program = workspace::target().join("debug/kube_rs");
            program::run("kube_rs", &[], &mut Command::new(program))
        },
    },
    Client {
        name: "operator",
        toolchain: &["go"],
        install: tools::build_operator,
        run: || {
            let mut tests = Command::new(workspace::tools().join("operator"));
            program::run("operator", &[], tests.arg("-test.v"))
        },
    },
    Client {
        name: "replicas",
        toolchain: &["go"],
        install: tools::install_for_replicas,
        run: replicas::run,
    },
    Client {
        name: "informer_oracle",
        toolchain: &["go"],
        install: || tools::build_go("informer_oracle"),
        run: compare_informers,
    },
];

/// Those that need what no registry offers ready-made, and run only when named.
const ON_REQUEST: [Client; 1] = [Client {
    name: "kube_apiserver",
    toolchain: &["python3", "go"],
    install: || tools::build_go("etcd"),
    run: kube_apiserver::run,
}];

/// Runs scripts on client-go's informer and on ours: those written by hand, and random ones.
fn compare_informers() -> Result<()> {
    let written: &[&str] = &[];
    let random = &["--seed", "1", "--count", "2000"];
    let wild = &["--seed", "1", "--count", "500", "--mood", "wild"];
    for arguments in [written, random, wild] {
        let mut command = Command::new(workspace::target().join("debug/listwatch-oracle"));
        command
            .args(arguments)
            .arg("--client-go")
            .arg(workspace::tools().join("informer_oracle"))
            .current_dir(workspace::root());
        progress::command(&mut command)?;
    }
    Ok(())
}

/// Runs the clients named, or all but those on request. With `--e2e-test PATH` Kubernetes' own
/// tests instead, or those of them that are named.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let mut progress = Progress::default();
    if let [flag, program, texts @ ..] = names
        && flag == "--e2e-test"
    {
        progress.step("build", build_programs)?;
        return progress.step("e2e", || {
            e2e::run(Path::new(program), texts).map(|()| Outcome::Passed)
        });
    }
    let clients = select(names)?;
    progress.step("build", build_programs)?;
    for client in clients {
        progress.step(client.name, || check(client))?;
    }
    progress.finish();
    Ok(())
}

/// The clients named, or all but those on request.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Client>> {
    if names.is_empty() {
        return Ok(CLIENTS.iter().collect());
    }
    let find = |name: &String| {
        let mut all = CLIENTS.iter().chain(&ON_REQUEST);
        let known = all.clone().map(|client| client.name).collect::<Vec<_>>();
        let found = all.find(|client| client.name == name);
        found.with_context(|| {
            format!(
                "there is no client `{name}`; there are {}",
                known.join(", ")
            )
        })
    };
    names.iter().map(find).collect()
}

/// Installs one client and runs it.
pub(crate) fn check(client: &Client) -> Result<Outcome> {
    if let Some(program) = tools::missing(client.toolchain) {
        return tools::leave_out(format!("`{program}` is not installed"));
    }
    (client.install)()?;
    (client.run)()?;
    Ok(Outcome::Passed)
}

/// Builds the server that all clients talk to, and the clients that are of this workspace.
fn build_programs() -> Result<Outcome> {
    let mut command = Command::new("cargo");
    command
        .args(["build", "--package", "listwatch-cli"])
        .args(["--package", "listwatch-kube-rs"])
        .args(["--package", "listwatch-oracle"])
        .current_dir(workspace::root());
    progress::command(&mut command)
}
