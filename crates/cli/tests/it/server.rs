//! The command, serving on a free port.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// Killed when dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(directory: &Path) -> Self {
        let directory = directory.to_str().unwrap().to_owned();
        Self::start_with(&["--data".to_owned(), directory])
    }

    /// Serves with these flags.
    pub(crate) fn start_with(flags: &[String]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_listwatch"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            // What tests count is what they have written.
            .arg("--controllers=namespace,garbage-collector")
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .unwrap()
            .to_owned();
        Self { process, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
