//! An etcd of our own, with its durability on.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, bail};
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

use super::{
    endpoint::{Client, Endpoint},
    program::{self, LOOK, Program},
};

/// How long it may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Room for what a run writes.
const QUOTA: &str = "--quota-backend-bytes=8589934592";

/// A single etcd server.
pub(crate) struct Etcd {
    pub(crate) program: Program,
    /// Where clients find it.
    pub(crate) url: String,
    address: String,
}

impl Etcd {
    /// Starts it on an empty folder and waits until it answers.
    pub(crate) async fn start(file: &Path, folder: &Path) -> Result<Self> {
        let clients = program::free_address()?;
        let url = format!("http://{clients}");
        let peers = format!("http://{}", program::free_address()?);
        let mut command = Command::new(file);
        command.arg("--data-dir").arg(folder.join("etcd"));
        command.args([
            "--listen-client-urls",
            &url,
            "--advertise-client-urls",
            &url,
        ]);
        command.args(["--listen-peer-urls", &peers]);
        command.args(["--initial-advertise-peer-urls", &peers]);
        command.args(["--initial-cluster", &format!("default={peers}")]);
        command.args(["--log-level", "error", QUOTA]);
        let mut etcd = Self {
            program: Program::start(command, folder, "etcd")?,
            url,
            address: clients,
        };
        etcd.wait().await.context("etcd does not start")?;
        Ok(etcd)
    }

    /// Kills it, starts it on the same folder and waits until it answers.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.program.restart().await?;
        self.wait().await.context("etcd does not start again")
    }

    async fn wait(&mut self) -> Result<()> {
        let endpoint = Endpoint::plain(&self.address)?;
        let begun = Instant::now();
        while begun.elapsed() < START_TIMEOUT {
            self.program.check()?;
            if is_healthy(&endpoint).await.unwrap_or(false) {
                return Ok(());
            }
            sleep(LOOK).await;
        }
        bail!("it does not answer:\n{}", self.program.last_words())
    }
}

async fn is_healthy(endpoint: &Endpoint) -> Result<bool> {
    let mut connection = endpoint.connect(Client::Reading).await?;
    let answer = connection.send(&endpoint.get("/health")).await?;
    Ok(answer.status == 200)
}
