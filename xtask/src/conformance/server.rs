//! Our server as a process of its own: started, restarted, crashed.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use super::session::Session;
use crate::workspace;

const START_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct Server {
    session: Session,
    folder: PathBuf,
    address: String,
    arguments: Vec<String>,
}

impl Server {
    /// Starts on an empty folder, at an address of the system's choice, with more arguments.
    pub(super) fn start(name: &str, arguments: &[&str]) -> Result<Self> {
        let folder = workspace::target().join("conformance").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        let data = folder.join("data").display().to_string();
        let mut all = vec!["--data".to_owned(), data];
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        Self::start_on_store(folder, all)
    }

    /// Starts at an address of the system's choice. The arguments say where the objects are; the
    /// folder is for the rest.
    pub(super) fn start_on_store(folder: PathBuf, arguments: Vec<String>) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        let (session, address) = launch(&folder, "127.0.0.1:0", &arguments)?;
        Ok(Self {
            session,
            folder,
            address,
            arguments,
        })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Where it listens, as a URL.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The folder that holds its log, its kubeconfig, and its data if it keeps them itself.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends it in good order and starts it again on the same data and address.
    pub(super) fn restart(&mut self) -> Result<()> {
        let status = self.session.terminate()?;
        ensure!(
            status.success(),
            "the server ended with {status} when asked to end"
        );
        self.start_again()
    }

    /// Kills it and starts it again on the same data and address.
    pub(super) fn crash(&mut self) -> Result<()> {
        self.kill()?;
        self.start_again()
    }

    /// Kills it.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.session.kill()
    }

    /// The end of what it logged.
    pub(super) fn log_tail(&self) -> String {
        log_tail(&self.folder)
    }

    /// Starts one that has ended on the same data and address.
    pub(super) fn start_again(&mut self) -> Result<()> {
        let (session, address) = launch(&self.folder, &self.address, &self.arguments)?;
        ensure!(address == self.address, "the server came back on {address}");
        self.session = session;
        Ok(())
    }
}

fn launch(folder: &Path, listen: &str, arguments: &[String]) -> Result<(Session, String)> {
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join("server.log"))?;
    let mut command = Command::new(workspace::target().join("debug/listwatch"));
    command
        .args(["serve", "--listen", listen, "--kubeconfig"])
        .arg(folder.join("kubeconfig"))
        .args(arguments)
        .stderr(log);
    let mut session = Session::start(&mut command)?;
    let line = session
        .next_line(Instant::now() + START_TIMEOUT)
        .context("the server did not say that it listens")?;
    let address = line
        .as_deref()
        .and_then(|line| line.strip_prefix("listening on http://"));
    match address.and_then(|rest| rest.split_whitespace().next()) {
        Some(address) => Ok((session, address.to_owned())),
        None => bail!("the server did not start: {line:?}\n{}", log_tail(folder)),
    }
}

fn log_tail(folder: &Path) -> String {
    const LINES_MAX: usize = 20;
    let log = fs::read_to_string(folder.join("server.log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
}
