//! Runs steps one after the other, and says how each went.

use std::{process::Command, time::Instant};

use anyhow::{Context, Result, bail};

/// How a step ended when it did not fail.
pub(crate) enum Outcome {
    /// It ran, and all was well.
    Passed,
    /// It could not run here, for this reason.
    Skipped(String),
}

/// Counts steps. The first failure ends the run.
#[derive(Default)]
pub(crate) struct Progress {
    passed: usize,
    skipped: Vec<String>,
}

impl Progress {
    /// Runs one step.
    pub(crate) fn step(
        &mut self,
        name: &str,
        step: impl FnOnce() -> Result<Outcome>,
    ) -> Result<()> {
        println!("== {name}");
        let begun = Instant::now();
        let outcome = step();
        let seconds = begun.elapsed().as_secs_f64();
        match outcome {
            Ok(Outcome::Passed) => {
                self.passed += 1;
                println!("== {name}: passed in {seconds:.1} s");
                Ok(())
            }
            Ok(Outcome::Skipped(reason)) => {
                println!("== {name}: SKIPPED: {reason}");
                self.skipped.push(format!("{name}: {reason}"));
                Ok(())
            }
            Err(error) => {
                println!("== {name}: FAILED after {seconds:.1} s");
                println!("{error:#}");
                self.close(1);
                bail!("`{name}` failed; what came before it passed")
            }
        }
    }

    /// Says how the run went.
    pub(crate) fn finish(&self) {
        self.close(0);
    }

    fn close(&self, failed: usize) {
        for reason in &self.skipped {
            println!("NOT CHECKED HERE: {reason}");
        }
        println!("{} passed, {failed} failed", self.passed);
    }
}

/// Runs a command to its end; its failure is an error that names it.
pub(crate) fn command(command: &mut Command) -> Result<Outcome> {
    let program = command.get_program().display().to_string();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    if !status.success() {
        let arguments = command
            .get_args()
            .map(|argument| argument.display().to_string());
        let line = arguments.fold(program, |line, argument| line + " " + &argument);
        bail!("`{line}` ended with {status}");
    }
    Ok(Outcome::Passed)
}
