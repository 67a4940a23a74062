//! The `listwatch` command as a child process, killed as only a process can be.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use crate::client::Client;
use anyhow::{Context, bail};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::{history::StopManner, workload::Circumstances};

/// How long the command may take to say where it listens, or to stop when asked to.
const PATIENCE: Duration = Duration::from_secs(30);

/// The `listwatch` command with a data directory of its own.
#[derive(Debug)]
pub struct Binary {
    path: PathBuf,
    options: &'static [&'static str],
    directory: TempDir,
    running: Option<Child>,
}

impl Binary {
    /// The command at this path, with an empty data directory.
    pub fn new(path: &Path, circumstances: &Circumstances) -> anyhow::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            options: circumstances.command_options(),
            directory: tempfile::tempdir()?,
            running: None,
        })
    }

    pub(super) async fn start(&mut self) -> anyhow::Result<Client> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path())?;
        let mut child = Command::new(&self.path)
            .args(["serve", "--listen", "127.0.0.1:0"])
            // What nobody recorded would be taken for a broken promise.
            .arg("--controllers=")
            .args(self.options)
            .arg("--data")
            .arg(self.directory.path().join("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} could not be run", self.path.display()))?;
        let stdout = child.stdout.take().context("the output is piped")?;
        self.running = Some(child);
        let mut lines = BufReader::new(stdout).lines();
        let address = loop {
            let line = timeout(PATIENCE, lines.next_line()).await;
            match line.context("the server does not say where it listens")?? {
                Some(line) if line.starts_with("listening on ") => break line,
                Some(_) => {}
                None => bail!("the server ended before it listened:\n{}", self.log_tail()),
            }
        };
        // Whatever else it prints must find a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let address = address.split_whitespace().find(|word| word.contains("://"));
        Ok(Client::new(address.context("an address without http://")?)?)
    }

    pub(super) async fn stop(&mut self, manner: StopManner) -> anyhow::Result<()> {
        let mut child = self.running.take().context("the server is not running")?;
        if let Some(status) = child.try_wait()? {
            bail!(
                "the server had ended by itself, {status}:\n{}",
                self.log_tail()
            );
        }
        match manner {
            StopManner::Abrupt => child.kill().await?,
            StopManner::Graceful => {
                signal(&child, "-TERM").await?;
                let ended = timeout(PATIENCE, child.wait()).await;
                let status = ended.context("the server does not stop when asked to")??;
                if !status.success() {
                    bail!("the server stopped badly, {status}:\n{}", self.log_tail());
                }
            }
        }
        Ok(())
    }

    fn log_path(&self) -> PathBuf {
        self.directory.path().join("server.log")
    }

    /// The last lines that the server logged.
    fn log_tail(&self) -> String {
        let log = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

/// Sends a signal, with the command that everybody has for it.
pub(crate) async fn signal(child: &Child, name: &str) -> anyhow::Result<()> {
    let id = child.id().context("the server is running")?;
    let mut kill = Command::new("kill");
    let status = kill.arg(name).arg(id.to_string()).status().await?;
    anyhow::ensure!(
        status.success(),
        "the server could not be signalled: {status}"
    );
    Ok(())
}
