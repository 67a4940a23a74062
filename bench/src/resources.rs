//! CPU time and memory of processes, seen from outside. Reads `/proc`: Linux only.

use std::time::Duration;

use anyhow::{Context, Result};

/// Ticks of a second in which Linux counts CPU time.
const TICKS: f64 = 100.0;

/// Processes that are counted together, such as a server and its store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resources {
    processes: Vec<u32>,
}

impl Resources {
    /// These processes.
    pub(crate) fn of(processes: impl IntoIterator<Item = u32>) -> Self {
        Self {
            processes: processes.into_iter().collect(),
        }
    }

    /// This program.
    pub(crate) fn own() -> Self {
        Self::of([std::process::id()])
    }

    /// Whether there is anything to look at.
    pub(crate) fn is_known(&self) -> bool {
        !self.processes.is_empty()
    }

    /// CPU time of all threads.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let ticks = self.processes.iter().map(|process| ticks(*process));
        let ticks: f64 = ticks.sum::<Result<f64>>()?;
        Ok(Duration::from_secs_f64(ticks / TICKS))
    }

    /// Bytes of memory held now.
    pub(crate) fn resident(&self) -> Result<u64> {
        self.status("VmRSS:")
    }

    /// The most that was held since the start or the last [`Resources::forget_peak`].
    pub(crate) fn peak(&self) -> Result<u64> {
        self.status("VmHWM:")
    }

    /// Counts the peak anew.
    pub(crate) fn forget_peak(&self) -> Result<()> {
        for process in &self.processes {
            #[expect(clippy::disallowed_methods, reason = "/proc is no disk")]
            std::fs::write(format!("/proc/{process}/clear_refs"), "5")?;
        }
        Ok(())
    }

    fn status(&self, field: &str) -> Result<u64> {
        let bytes = self.processes.iter().map(|process| {
            let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
            status_bytes(&status, field).context("an odd /proc")
        });
        bytes.sum()
    }
}

fn ticks(process: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))
        .with_context(|| format!("process {process} has ended"))?;
    stat_ticks(&stat).context("an odd /proc")
}

/// Ticks of user and system time.
fn stat_ticks(stat: &str) -> Option<f64> {
    // The name of the program, in parentheses, may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    Some(ticks.filter_map(|field| field.parse::<f64>().ok()).sum())
}

fn status_bytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with(field))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_is_user_and_system_time_whatever_the_program_is_called() {
        let stat = "7 (odd) name 1) S 1 7 7 0 -1 4194304 1 2 3 4 150 25 9 9 20 0 5 0 1 2";
        assert_eq!(stat_ticks(stat), Some(175.0));
    }

    #[test]
    fn memory_is_told_in_bytes() {
        let status = "Name:\tserver\nVmHWM:\t    2000 kB\nVmRSS:\t    1500 kB\n";
        assert_eq!(status_bytes(status, "VmRSS:"), Some(1500 * 1024));
        assert_eq!(status_bytes(status, "VmSwap:"), None);
    }

    #[test]
    fn this_program_uses_memory() {
        let own = Resources::own();
        assert!(own.resident().unwrap() > 0);
        assert!(own.peak().unwrap() >= own.resident().unwrap() / 2);
    }
}
