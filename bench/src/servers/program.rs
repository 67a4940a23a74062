//! Programs that are started, looked at and stopped.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result};
use tokio::process::{Child, Command};

/// How much of a log is shown when a program fails.
const LOG_BYTES_SHOWN: usize = 2_000;
/// How often it is looked whether a program answers.
pub(crate) const LOOK: Duration = Duration::from_millis(2);

/// A running program; killed when dropped.
pub(crate) struct Program {
    command: Command,
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts it; what it says goes to a file of this folder.
    pub(crate) fn start(mut command: Command, folder: &Path, name: &str) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let output = std::fs::File::create(&log)?;
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true);
        let child = spawn(&mut command)?;
        Ok(Self {
            command,
            child,
            log,
        })
    }

    /// Its process, while it runs.
    pub(crate) fn process(&self) -> Option<u32> {
        self.child.id()
    }

    /// Fails, with what it said last, when it has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => anyhow::bail!("it ended with {status}:\n{}", self.last_words()),
        }
    }

    /// The end of its log.
    pub(crate) fn last_words(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let shown = &log[log.len().saturating_sub(LOG_BYTES_SHOWN)..];
        String::from_utf8_lossy(shown).into_owned()
    }

    /// Kills it, if it still runs, and waits until it is gone.
    pub(crate) async fn stop(&mut self) -> Result<()> {
        match self.child.id() {
            Some(_) => Ok(self.child.kill().await?),
            None => Ok(()),
        }
    }

    /// Kills it and starts it with the same words.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.stop().await?;
        self.child = spawn(&mut self.command)?;
        Ok(())
    }
}

fn spawn(command: &mut Command) -> Result<Child> {
    let program = command.as_std().get_program().to_owned();
    command
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))
}

/// An address of loopback that nobody listens on now.
pub(crate) fn free_address() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.to_string())
}

/// The file itself, or the program of that name on the path.
pub(crate) fn find(file: Option<&Path>, name: &str) -> Option<PathBuf> {
    if let Some(file) = file {
        return Some(file.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places.find(|file| file.is_file())
}

/// The first line of what a program says of its version.
pub(crate) async fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output().await;
    let text = output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let text = text.unwrap_or_default();
    let line = text.lines().next().unwrap_or("of an unknown version");
    line.replace("Version: ", "").trim().to_owned()
}
