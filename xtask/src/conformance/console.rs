//! Console transcripts: commands, and what they must print.
//!
//! ```text
//! # Why this is here.
//! $ kubectl create configmap color --from-literal=is=blue
//! configmap/color created
//! $ kubectl get configmap none
//! Error from server (NotFound): configmaps "none" not found
//! ? 1
//! ```
//!
//! `> ` continues a command. In the output `[..]` stands for anything within a line and a line
//! `...` for any number of lines. `? 1` is the exit code where it is not 0.

mod document;
mod matching;
mod scene;

use std::{
    env, fs,
    process::Command,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use self::scene::Exchange;
use super::{server::Server, session::Session};
use crate::workspace;

const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
const END_MARK: &str = "--end-of-command--";

/// Transcripts that are played at the same time: mostly they wait.
const PLAYERS: usize = 3;

/// Runs every transcript of `conformance/kubectl/scenes` and those in the documents, each on a
/// server of its own.
pub(super) fn run_all() -> Result<()> {
    let waiting = Mutex::new(transcripts()?.into_iter());
    let failures = Mutex::new(Vec::new());
    let next = || waiting.lock().expect("nobody panics with it").next();
    thread::scope(|scope| {
        for _ in 0..PLAYERS {
            scope.spawn(|| {
                while let Some(path) = next() {
                    if let Err(error) = run_one(&path) {
                        let failure = format!("{path}: {error:#}");
                        failures
                            .lock()
                            .expect("nobody panics with it")
                            .push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("nobody panics with it");
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}

/// Runs one transcript, and says how long it is.
fn run_one(path: &str) -> Result<()> {
    let name = path.trim_end_matches(".console").rsplit('/').next();
    let name = name.unwrap_or(path);
    let begun = Instant::now();
    let commands = run(path, name)?;
    if commands > 0 {
        let seconds = begun.elapsed().as_secs_f64();
        println!("   {name}: {commands} commands ({seconds:.1} s)");
    }
    Ok(())
}

fn transcripts() -> Result<Vec<String>> {
    let is_scene = |path: &String| {
        path.starts_with("conformance/kubectl/scenes/") && path.ends_with(".console")
    };
    let mut scenes: Vec<String> = workspace::files()?.into_iter().filter(is_scene).collect();
    ensure!(
        !scenes.is_empty(),
        "there is no scene in conformance/kubectl/scenes"
    );
    scenes.extend(workspace::documents()?);
    Ok(scenes)
}

fn run(path: &str, name: &str) -> Result<usize> {
    let text = fs::read_to_string(workspace::root().join(path))?;
    let scene = match path.ends_with(".md") {
        true => document::exchanges(scene::parse(&document::transcript(&text))?),
        false => scene::parse(&text)?,
    };
    if scene.is_empty() {
        return Ok(0);
    }
    let flags = document::server_flags(&text);
    let server = Server::start(&format!("kubectl/{name}"), &flags)?;
    let mut shell = shell(&server)?;
    for exchange in &scene {
        if let Err(error) = play(&mut shell, exchange) {
            bail!("{error:#}\nthe server's last words:\n{}", server.log_tail());
        }
    }
    Ok(scene.len())
}

fn shell(server: &Server) -> Result<Session> {
    let prelude = workspace::root().join("conformance/kubectl/prelude.sh");
    let mut places = vec![workspace::tools(), workspace::target().join("debug")];
    places.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let mut command = Command::new("bash");
    command
        .args(["--noprofile", "--norc"])
        .env("PATH", env::join_paths(places)?)
        .env("HOME", server.folder())
        .env("KUBECONFIG", server.folder().join("kubeconfig"))
        .env("LISTWATCH_SERVER", server.url())
        .env(
            "CHART",
            workspace::root().join("conformance/kubectl/chart.sh"),
        )
        .current_dir(server.folder());
    let mut shell = Session::start(&mut command)?;
    shell.say(&format!("exec 2>&1\nsource '{}'\n", prelude.display()))?;
    Ok(shell)
}

fn play(shell: &mut Session, exchange: &Exchange) -> Result<()> {
    let command = &exchange.command;
    shell.say(&format!(
        "{{\n{command}\n}} </dev/null\nprintf '\\n{END_MARK} %s\\n' $?\n"
    ))?;
    let deadline = Instant::now() + COMMAND_TIMEOUT;
    let mut output = Vec::new();
    let code = loop {
        let line = shell.next_line(deadline).with_context(|| {
            format!("line {}: $ {command}\n{}", exchange.line, output.join("\n"))
        })?;
        let line = line.context("the shell ended")?;
        match line.strip_prefix(END_MARK) {
            Some(code) => break code.trim().parse::<i32>()?,
            None => output.push(line),
        }
    };
    matching::trim(&mut output);
    if code == exchange.code && matching::lines(&exchange.output, &output) {
        return Ok(());
    }
    bail!(
        "line {}: $ {command}\nexpected (exit code {}):\n{}\nfound (exit code {code}):\n{}",
        exchange.line,
        exchange.code,
        exchange.output.join("\n"),
        output.join("\n")
    )
}
