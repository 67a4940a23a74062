//! One `listwatch serve --etcd` process at an address of its own, started again whenever it ends.

use std::{
    fs::File,
    io::Write as _,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::Context;
use listwatch_api::ResourceVersion;
use tokio::process::{Child, Command};

use super::line::Line;
use crate::{
    history::{Answerer, Gap, Moment},
    target::signal,
};

/// What a server logs when it tells only the difference that changes made which it had missed.
const MISSED: &str = "only the difference is told";

/// What stands in the log before each life of the server, with its number.
const LIFE: &str = "life=";

/// A server in front of etcd.
pub(super) struct Server {
    binary: PathBuf,
    port: u16,
    /// The ways to the members of etcd.
    pub(super) lines: Vec<Line>,
    log: PathBuf,
    state: State,
    /// How often it ended though nobody had killed it.
    exits: usize,
    /// When each of its lives began.
    lives: Vec<Moment>,
}

enum State {
    Down,
    Up(Child),
}

impl Server {
    /// The server of this number, not yet started.
    pub(super) fn new(
        number: usize,
        binary: &Path,
        lines: Vec<Line>,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let free = TcpListener::bind("127.0.0.1:0")?;
        Ok(Self {
            binary: binary.to_owned(),
            port: free.local_addr()?.port(),
            lines,
            log: folder.join(format!("server-{number}.log")),
            state: State::Down,
            exits: 0,
            lives: Vec::new(),
        })
    }

    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn start(&mut self, now: Moment) -> anyhow::Result<()> {
        let members = self.lines.iter();
        let members: Vec<String> = members
            .map(|line| format!("http://{}", line.address()))
            .collect();
        let mut log = File::options().create(true).append(true).open(&self.log)?;
        writeln!(log, "{LIFE}{}", self.lives.len())?;
        self.lives.push(now);
        let child = Command::new(&self.binary)
            .args(["serve", "--listen", &format!("127.0.0.1:{}", self.port)])
            // What nobody recorded would be taken for a broken promise.
            .arg("--controllers=")
            .args(["--etcd", &members.join(","), "--bookmark-seconds", "1"])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn();
        let child = child.with_context(|| format!("{} cannot run", self.binary.display()))?;
        self.state = State::Up(child);
        Ok(())
    }

    pub(super) async fn kill(&mut self) -> anyhow::Result<()> {
        if let State::Up(mut child) = std::mem::replace(&mut self.state, State::Down) {
            child.kill().await?;
        }
        Ok(())
    }

    pub(super) async fn pause(&self) -> anyhow::Result<()> {
        self.signal("-STOP").await
    }

    pub(super) async fn resume(&self) -> anyhow::Result<()> {
        self.signal("-CONT").await
    }

    async fn signal(&self, name: &str) -> anyhow::Result<()> {
        match &self.state {
            State::Up(child) if child.id().is_some() => signal(child, name).await,
            State::Up(_) | State::Down => Ok(()),
        }
    }

    /// Starts it again if it has ended by itself, as whoever runs a service would.
    pub(super) fn tend(&mut self, now: Moment) -> anyhow::Result<()> {
        let State::Up(child) = &mut self.state else {
            return Ok(());
        };
        if child.try_wait()?.is_some() {
            self.exits += 1;
            self.start(now)?;
        }
        Ok(())
    }

    /// How often it ended though nobody had killed it.
    pub(super) fn exits(&self) -> usize {
        self.exits
    }

    /// What it says that it missed of the objects under a prefix.
    pub(super) fn gaps(&self, answerer: Answerer, prefix: &str) -> Vec<Gap> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let mut life = 0;
        let mut gaps = Vec::new();
        for line in log.lines() {
            life = number(line, LIFE).map_or(life, |number| usize::try_from(number).unwrap_or(0));
            if !line.contains(MISSED) || !line.contains(prefix) {
                continue;
            }
            let version = |name| number(line, name).map(ResourceVersion::new);
            let (Some(after), Some(through)) = (version("after="), version("through=")) else {
                continue;
            };
            gaps.push(Gap {
                answerer,
                after,
                through,
                since: self.lives.get(life).copied().unwrap_or_default(),
                until: self
                    .lives
                    .get(life + 1)
                    .copied()
                    .unwrap_or(Moment(u64::MAX)),
            });
        }
        gaps
    }

    /// The last lines that it logged.
    pub(super) fn log_tail(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

/// The number that stands in a log line under this name.
fn number(line: &str, name: &str) -> Option<u64> {
    let (_, value) = line.split_once(name)?;
    value.split_whitespace().next()?.parse().ok()
}
