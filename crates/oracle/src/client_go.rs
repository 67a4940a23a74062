//! client-go's side: a program that answers each script with a log.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::log::Log;

/// The running program.
pub(crate) struct ClientGo {
    program: Child,
    scripts: ChildStdin,
    logs: BufReader<ChildStdout>,
}

impl ClientGo {
    /// Starts the program that `cargo xtask tools informer_oracle` has built.
    pub(crate) fn start(path: &Path) -> Result<Self> {
        let mut command = Command::new(path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command
            .spawn()
            .with_context(|| format!("cannot run {}", path.display()))?;
        let scripts = program.stdin.take().context("no way in")?;
        let logs = program.stdout.take().context("no way out")?;
        Ok(Self {
            program,
            scripts,
            logs: BufReader::new(logs),
        })
    }

    /// What client-go's informer does with a script.
    pub(crate) fn run(&mut self, script: &str) -> Result<Log> {
        ensure!(
            script.lines().all(|line| line != "end"),
            "a script cannot have a line `end`"
        );
        writeln!(self.scripts, "{}\nend", script.trim_end()).context("client-go's side is gone")?;
        let mut log = String::new();
        loop {
            let begin = log.len();
            let length = self.logs.read_line(&mut log)?;
            ensure!(length > 0, "client-go's side ended after:\n{log}");
            if &log[begin..] == "end\n" {
                log.truncate(begin);
                break;
            }
        }
        match log.strip_prefix("error: ") {
            Some(error) => bail!("client-go's side: {error}"),
            None => Log::parse(&log),
        }
    }
}

impl Drop for ClientGo {
    fn drop(&mut self) {
        // It may have ended by itself, and nobody is left to be told otherwise.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
