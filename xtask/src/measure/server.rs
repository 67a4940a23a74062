//! The released command as a process that is looked at from outside.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use super::http1;
use crate::workspace;

/// Ticks of a second in which Linux counts CPU time.
const TICKS: f64 = 100.0;

/// A server on an empty store of its own; killed when dropped.
pub(super) struct Server {
    process: Child,
    folder: PathBuf,
    pub(super) address: String,
    /// From the start of the process to its first answer.
    pub(super) started_in: Duration,
}

impl Server {
    pub(super) fn start() -> Result<Self> {
        let folder = workspace::target().join("measure");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let begun = Instant::now();
        let mut process = Command::new(workspace::target().join("release/listwatch"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot run the server")?;
        let output = process.stdout.take().context("its output is piped")?;
        let mut server = Self {
            process,
            folder,
            address: String::new(),
            started_in: Duration::ZERO,
        };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://");
        server.address = address.context("the server did not start")?.to_owned();
        let ready = http1::get(&server.address, "/readyz")?;
        ensure!(ready.starts_with("HTTP/1.1 200"), "not ready: {ready}");
        server.started_in = begun.elapsed();
        Ok(server)
    }

    pub(super) fn resident_kilobytes(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number
            .and_then(|number| number.parse().ok())
            .context("no VmRSS in /proc")
    }

    /// CPU time that it has used.
    pub(super) fn cpu(&self) -> Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        // The name of the program, in parentheses, may hold anything.
        let (_, fields) = stat.rsplit_once(')').context("an odd /proc")?;
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: f64 = ticks.filter_map(|it| it.parse::<f64>().ok()).sum();
        Ok(Duration::from_secs_f64(ticks / TICKS))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
