//! What the informers that are measured have in common: how they answer the benchmark.

use std::{
    io::{BufRead, Write},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use anyhow::Result;

/// Answers the lines of standard input until it ends, each with itself once it is done.
///
/// `reset` forgets the updates that were counted, `events N` waits for N of them; all else goes to
/// `other`.
pub fn answer(updates: &AtomicU64, other: impl Fn(&str) -> Result<()>) -> Result<()> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line == "reset" {
            updates.store(0, Ordering::Relaxed);
        } else if let Some(wanted) = line.strip_prefix("events ") {
            let wanted: u64 = wanted.parse()?;
            while updates.load(Ordering::Relaxed) < wanted {
                #[expect(clippy::disallowed_methods, reason = "a thread of its own polls")]
                std::thread::sleep(Duration::from_millis(1));
            }
        } else {
            other(&line)?;
        }
        say(&line)?;
    }
    Ok(())
}

/// Prints a line at once.
pub fn say(line: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")?;
    Ok(output.flush()?)
}
