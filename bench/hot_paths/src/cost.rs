//! What a path costs, found by running this program under callgrind.
//!
//! A run leaves its profile behind, which holds what was counted and nothing else.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
    thread,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    counter::{Allocated, SECTION},
    paths::HotPath,
};

/// glibc's copies of more than 4 KB are otherwise one instruction that counts once for each byte.
const TUNABLES: &str = "glibc.cpu.x86_rep_movsb_threshold=1000000000:\
                        glibc.cpu.x86_rep_stosb_threshold=1000000000";

/// The cost of one turn, or of one more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    /// Instructions of the program; those of the kernel are not known.
    pub(crate) instructions: f64,
    /// How often memory was asked for, or more of it.
    pub(crate) allocations: f64,
    /// How much in all.
    pub(crate) bytes: f64,
}

/// What one run took.
#[derive(Clone, Copy)]
struct Taken {
    instructions: u64,
    allocated: Allocated,
}

/// The costs of paths, in the order of the paths. As many run at a time as there are cores.
pub(crate) fn of(paths: &[&'static HotPath]) -> Result<Vec<Cost>> {
    let waiting = Mutex::new(paths.iter().enumerate());
    let work = || {
        let mut found = Vec::new();
        loop {
            let next = waiting.lock().ok().and_then(|mut waiting| waiting.next());
            let Some((index, path)) = next else {
                return found;
            };
            let cost = measure(path).with_context(|| format!("cannot measure {}", path.name));
            found.push((index, cost));
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut found = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let found = workers.into_iter().map(thread::ScopedJoinHandle::join);
        found
            .flat_map(Result::unwrap_or_default)
            .collect::<Vec<_>>()
    });
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, cost)| cost).collect()
}

/// Where the profiles of a path are, the one that costs more first.
pub(crate) fn profiles(path: &HotPath) -> Result<Vec<PathBuf>> {
    let program = env::current_exe()?;
    let folder = program.parent().context("the program is in no folder")?;
    let folder = folder.join("hot-paths");
    let file = |size| folder.join(format!("{}-{size}.callgrind", path.name));
    Ok(path.sizes().into_iter().map(file).collect())
}

fn measure(path: &HotPath) -> Result<Cost> {
    let taken = path.sizes().into_iter().zip(profiles(path)?);
    let taken: Vec<Taken> = taken
        .map(|(size, profile)| run(path, size, &profile))
        .collect::<Result<_>>()?;
    let share = |of: fn(&Taken) -> u64| {
        let base = taken.get(1).map_or(0, of);
        of(&taken[0]).saturating_sub(base) as f64 / path.parts() as f64
    };
    Ok(Cost {
        instructions: share(|taken| taken.instructions),
        allocations: share(|taken| taken.allocated.times),
        bytes: share(|taken| taken.allocated.bytes),
    })
}

fn run(path: &HotPath, size: u64, profile: &Path) -> Result<Taken> {
    fs::create_dir_all(profile.parent().context("a profile is in a folder")?)?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--toggle-collect=*{SECTION}*"))
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(env::current_exe()?)
        .args(["run", path.name, &size.to_string()])
        .env("GLIBC_TUNABLES", TUNABLES)
        .output()
        .context("cannot run valgrind")?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("valgrind ended with {}: {said}{complaint}", output.status);
    }
    let instructions = totals(&fs::read_to_string(profile)?)?;
    ensure!(instructions > 0, "callgrind found no {SECTION}");
    Ok(Taken {
        instructions,
        allocated: read_allocated(&said)?,
    })
}

/// What a run says of itself.
pub(crate) fn print_allocated(allocated: Allocated) -> String {
    format!("allocations {} bytes {}", allocated.times, allocated.bytes)
}

fn read_allocated(line: &str) -> Result<Allocated> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["allocations", times, "bytes", bytes] = words[..] else {
        bail!("the program said `{line}`");
    };
    Ok(Allocated {
        times: times.parse()?,
        bytes: bytes.parse()?,
    })
}

/// The instructions of a profile.
fn totals(profile: &str) -> Result<u64> {
    let line = profile
        .lines()
        .find_map(|line| line.strip_prefix("totals: "));
    let number = line.and_then(|numbers| numbers.split_whitespace().next());
    Ok(number.context("the profile has no totals")?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_are_the_first_of_the_totals() {
        let profile = "events: Ir\nfn=(1) main\n1 7\n\ntotals: 123456\n";
        assert_eq!(totals(profile).unwrap(), 123_456);
        assert!(totals("events: Ir\n").is_err());
    }

    #[test]
    fn a_run_says_what_it_allocated_and_is_understood() {
        let allocated = Allocated {
            times: 12,
            bytes: 3_456,
        };
        let said = print_allocated(allocated);
        assert_eq!(read_allocated(&said).unwrap(), allocated);
        assert!(read_allocated("allocations 12").is_err());
    }
}
