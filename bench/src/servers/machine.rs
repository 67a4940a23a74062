//! On what, with what and when a run was made.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::program;

/// How a run was made.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Run {
    /// The command line.
    pub(crate) command: String,
    /// The day, in UTC.
    pub(crate) date: String,
    /// Cores and memory.
    pub(crate) machine: String,
    /// How busy the cores were before it began.
    pub(crate) load: String,
    /// What ran, and what each says of its version.
    pub(crate) versions: Vec<(String, String)>,
    /// Who could not be measured, each a sentence.
    pub(crate) missing: Vec<String>,
}

impl Run {
    /// The run that begins now, with these programs.
    pub(crate) async fn begin(
        programs: impl Iterator<Item = &Path>,
        mut missing: Vec<String>,
    ) -> Self {
        if cfg!(debug_assertions) {
            missing.push("The load generator was not built for release.".to_owned());
        }
        let load = read("/proc/loadavg");
        Self {
            command: command_line(std::env::args().skip(1)),
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            machine: machine(),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
            versions: versions(programs).await,
            missing,
        }
    }

    /// Corrects what a program says of its version.
    pub(crate) fn call(&mut self, program: &str, version: &str) {
        for (name, says) in &mut self.versions {
            if name == program {
                version.clone_into(says);
            }
        }
    }

    /// The programs with their versions, for people.
    pub(crate) fn versions_text(&self) -> String {
        let each = self.versions.iter();
        let each = each.map(|(name, version)| format!("{name} {version}"));
        each.collect::<Vec<String>>().join(", ")
    }
}

fn read(file: &str) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = field(&read("/proc/cpuinfo"), "model name");
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let kilobytes: u64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
    let gigabytes = kilobytes.div_ceil(1024 * 1024);
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel = kernel.trim();
    format!("{cores} cores ({processor}), {gigabytes} GiB, Linux {kernel}")
}

async fn versions(programs: impl Iterator<Item = &Path>) -> Vec<(String, String)> {
    let mut versions = Vec::new();
    for program in programs {
        let name = program.file_name().unwrap_or_default();
        let name = name.display().to_string();
        let version = program::version(program).await;
        let version = version.trim_start_matches(&name).trim();
        let version = version.trim_start_matches("version").trim();
        let version = version.trim_start_matches("Kubernetes v").to_owned();
        versions.push((name, version));
    }
    versions
}

/// The words of a command line without the folders of this machine.
fn command_line(words: impl Iterator<Item = String>) -> String {
    let words = words.map(|word| match word.rsplit_once('/') {
        Some((folder, name)) if folder.starts_with('/') || folder.is_empty() => name.to_owned(),
        Some(_) | None => word,
    });
    words.collect::<Vec<String>>().join(" ")
}

fn field(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':'));
    value.map_or_else(String::new, |(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_name() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n";
        assert_eq!(field(text, "model name"), "Some CPU @ 2 GHz");
        assert_eq!(field(text, "absent"), "");
    }

    #[test]
    fn a_command_line_names_no_folder_of_this_machine() {
        let words = ["bench", "--etcd", "/opt/bin/etcd", "docs/benchmarks.md"];
        let line = command_line(words.iter().map(ToString::to_string));
        assert_eq!(line, "bench --etcd etcd docs/benchmarks.md");
    }
}
