//! kubectl as a person uses it: a command that fails is tried again, a watch that ends is begun
//! anew.

use std::{
    path::PathBuf,
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, bail, ensure};

use super::super::session::Session;
use crate::workspace;

/// How often a person tries before they complain.
const TRIES_MAX: usize = 20;
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// How long it may take until a watch has shown what has happened.
const SEE_TIMEOUT: Duration = Duration::from_secs(30);

/// kubectl with one server to ask, and how often it was in vain.
pub(super) struct Kubectl {
    server: String,
    home: PathBuf,
    pub(super) in_vain: usize,
}

impl Kubectl {
    pub(super) fn new(server: String) -> Self {
        let home = super::folder();
        Self {
            server,
            home,
            in_vain: 0,
        }
    }

    /// The command, not started.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(workspace::tools().join("kubectl"));
        command
            .args(["--server", &self.server])
            .args(arguments)
            .env("HOME", &self.home)
            .env_remove("KUBECONFIG");
        command
    }

    pub(super) fn create(&mut self, name: &str) -> Result<()> {
        let arguments = ["create", "configmap", name, "--from-literal=is=here"];
        self.until_done(&arguments, "already exists").map(drop)
    }

    /// Runs a command until it succeeds, or says that what it should do is done: the answer to an
    /// earlier try may have been lost.
    pub(super) fn until_done(&mut self, arguments: &[&str], done: &str) -> Result<String> {
        let mut last = String::new();
        for _ in 0..TRIES_MAX {
            let Output {
                status,
                stdout,
                stderr,
            } = self.command(arguments).output()?;
            last = String::from_utf8_lossy(&stderr).into_owned();
            if status.success() || !done.is_empty() && last.contains(done) {
                return Ok(String::from_utf8_lossy(&stdout).into_owned());
            }
            self.in_vain += 1;
            thread::sleep(TRY_AGAIN_AFTER);
        }
        let arguments = arguments.join(" ");
        bail!("`kubectl {arguments}` failed {TRIES_MAX} times, at last with: {last}")
    }
}

/// Creates one object after the other, so that something is always under way when a server dies.
/// In a thread of its own.
pub(super) struct Creator {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Result<Created>>,
}

/// What a creator has done.
pub(super) struct Created {
    pub(super) names: Vec<String>,
    pub(super) in_vain: usize,
}

impl Creator {
    pub(super) fn start(mut kubectl: Kubectl) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            let mut names = Vec::new();
            while !told.load(Ordering::Relaxed) {
                let name = format!("busy-{}", names.len());
                kubectl.create(&name)?;
                names.push(name);
            }
            let in_vain = kubectl.in_vain;
            Ok(Created { names, in_vain })
        });
        Self { ended, thread }
    }

    pub(super) fn end(self) -> Result<Created> {
        self.ended.store(true, Ordering::Relaxed);
        let created = self.thread.join();
        created.map_err(|_| anyhow!("the thread of the creator panicked"))?
    }
}

/// `kubectl get --watch`, begun anew whenever it ends. In a thread of its own.
pub(super) struct Watch {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Result<Watched>>,
}

/// What the watches have shown.
#[derive(Default)]
struct Watched {
    watches: usize,
    /// What the last of them has shown.
    lines: Vec<String>,
}

impl Watch {
    pub(super) fn start(kubectl: &Kubectl, last: &'static str) -> Self {
        let arguments = ["get", "configmaps", "--watch", "--output-watch-events"];
        let mut command = kubectl.command(&arguments);
        let ended = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            let mut watched = Watched::default();
            loop {
                watched.watches += 1;
                watched.lines.clear();
                let mut session = Session::start(command.stderr(std::process::Stdio::null()))?;
                if watched.read(&mut session, &told, last)? {
                    return Ok(watched);
                }
            }
        });
        Self { ended, thread }
    }

    /// Waits until it has shown the last object, and checks that it shows these and no others,
    /// each of them once.
    pub(super) fn shows_each_once(self, expected: &[String]) -> Result<()> {
        self.ended.store(true, Ordering::Relaxed);
        let watched = self.thread.join();
        let watched = watched.map_err(|_| anyhow!("the thread of the watch panicked"))??;
        let mut shown = watched.present();
        shown.sort();
        let mut expected = expected.to_vec();
        expected.sort();
        ensure!(
            shown == expected,
            "kubectl get --watch shows\n  {}\nand not\n  {}",
            shown.join("\n  "),
            expected.join("\n  ")
        );
        let (again, count) = (watched.watches - 1, expected.len());
        println!(
            "   kubectl get --watch: {count} objects, each shown once; begun {again} times anew"
        );
        Ok(())
    }
}

impl Watched {
    /// Reads until the watch ends, or the last object is there: `true`.
    fn read(&mut self, session: &mut Session, ended: &AtomicBool, last: &str) -> Result<bool> {
        let mut patience = None;
        loop {
            let look = Instant::now() + TRY_AGAIN_AFTER;
            match session.next_line(look) {
                Ok(Some(line)) => self.lines.push(line),
                Ok(None) => return Ok(false),
                Err(_) if self.present().iter().any(|name| name == last) => return Ok(true),
                Err(error) if ended.load(Ordering::Relaxed) => {
                    let since = patience.get_or_insert_with(Instant::now);
                    ensure!(
                        since.elapsed() < SEE_TIMEOUT,
                        "kubectl get --watch never showed {last}: {error}; it showed\n  {}",
                        self.lines.join("\n  ")
                    );
                }
                Err(_) => {}
            }
        }
    }

    /// The objects that are there according to `EVENT NAME DATA AGE`.
    fn present(&self) -> Vec<String> {
        let mut present = Vec::new();
        for line in &self.lines {
            let mut words = line.split_whitespace();
            match (words.next(), words.next()) {
                (Some("ADDED"), Some(name)) => present.push(name.to_owned()),
                (Some("DELETED"), Some(name)) => present.retain(|there| there != name),
                _ => {}
            }
        }
        present
    }
}
