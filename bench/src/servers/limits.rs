//! Open files: ten thousand watches need as many on both sides.

use anyhow::{Result, ensure};

use super::sizes::Sizes;

/// Files beside those of watches.
const OTHERS: u64 = 1_500;

/// Fails unless so many connections may be open as a run of these sizes opens.
pub(crate) fn check(sizes: &Sizes) -> Result<()> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let needed = sizes.watchers_max().max(sizes.watches) + OTHERS;
    let allowed = open_files(&limits).unwrap_or(u64::MAX);
    ensure!(
        allowed >= needed,
        "a process may open {allowed} files and needs {needed}: \
         `ulimit -n {needed}`, or fewer --watchers"
    );
    Ok(())
}

/// The soft limit; nothing if there is none.
fn open_files(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|it| it.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_one_that_holds_now() {
        let limits = "Max processes  7 8 processes\nMax open files   1024    20000   files\n";
        assert_eq!(open_files(limits), Some(1024));
        assert_eq!(
            open_files("Max open files  unlimited unlimited files"),
            None
        );
    }
}
