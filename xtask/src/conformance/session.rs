//! A child process that is talked to line by line, and never outlives its owner.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, bail};

/// Lines read ahead; at the bound the child waits for us.
const LINES_AHEAD_MAX: usize = 1024;

pub(super) struct Session {
    child: Child,
    lines: Receiver<String>,
}

impl Session {
    /// Starts a command with its standard input and output in our hands.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().display().to_string();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let output = child.stdout.take().context("its output was taken")?;
        let (sender, lines) = sync_channel(LINES_AHEAD_MAX);
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines
                .into_iter()
                .try_for_each(|line| sender.send(line))
                .ok();
        });
        Ok(Self { child, lines })
    }

    /// The next line; `None` when the child has closed its output.
    pub(super) fn next_line(&mut self, deadline: Instant) -> Result<Option<String>> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => bail!("it took too long"),
        }
    }

    /// Writes to the child's standard input.
    pub(super) fn say(&mut self, text: &str) -> Result<()> {
        let input = self.child.stdin.as_mut().context("its input is closed")?;
        input.write_all(text.as_bytes())?;
        input.flush()?;
        Ok(())
    }

    /// Asks the child to end, and waits until it has.
    pub(super) fn terminate(&mut self) -> Result<ExitStatus> {
        let process = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &process]).status()?;
        if !asked.success() {
            bail!("cannot signal process {process}");
        }
        Ok(self.child.wait()?)
    }

    /// Ends the child at once, as a crash would.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits for the child to end by itself.
    pub(super) fn wait(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended already; either way nothing is left behind.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
