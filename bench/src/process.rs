//! A program that is driven by lines and looked at from outside.

use std::{process::Stdio, time::Duration};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::resources::Resources;

/// CPU time has stood still for this long when a process counts as settled.
const QUIET: Duration = Duration::from_secs(2);

/// A child process; killed when dropped.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    identifier: u32,
}

impl Process {
    /// Starts it with both ends in our hands.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run {command:?}"))?;
        let input = child.stdin.take().context("its input is piped")?;
        let output = child.stdout.take().context("its output is piped")?;
        let identifier = child.id().context("it has just been started")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            identifier,
        })
    }

    /// The rest of the next line that begins with this word.
    pub(crate) async fn expect(&mut self, word: &str) -> Result<String> {
        while let Some(line) = self.output.next_line().await? {
            if let Some(rest) = line.strip_prefix(word) {
                return Ok(rest.trim().to_owned());
            }
        }
        bail!("it ended without `{word}`: {:?}", self.child.wait().await?);
    }

    /// Sends a line and waits for its answer, which begins with the same word.
    pub(crate) async fn ask(&mut self, question: &str) -> Result<String> {
        self.input.write_all(question.as_bytes()).await?;
        self.input.write_all(b"\n").await?;
        let word = question.split(' ').next().unwrap_or_default();
        self.expect(word).await
    }

    /// CPU time of all its threads.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        self.resources().cpu()
    }

    /// Bytes of memory that it holds now.
    pub(crate) fn resident(&self) -> Result<u64> {
        self.resources().resident()
    }

    /// The most that it has held since the start or the last [`Process::forget_peak`].
    pub(crate) fn peak(&self) -> Result<u64> {
        self.resources().peak()
    }

    /// Counts the peak anew.
    pub(crate) fn forget_peak(&self) -> Result<()> {
        self.resources().forget_peak()
    }

    /// Waits until it does nothing more.
    pub(crate) async fn settle(&self) -> Result<()> {
        let mut before = self.cpu()?;
        loop {
            tokio::time::sleep(QUIET).await;
            let now = self.cpu()?;
            // A tick or two of housekeeping is nothing.
            if now - before <= Duration::from_millis(30) {
                return Ok(());
            }
            before = now;
        }
    }

    fn resources(&self) -> Resources {
        Resources::of([self.identifier])
    }
}
