//! On what, with what and when a run was made.

use std::path::Path;

use super::program;

/// Cores, memory and how busy they were.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let processor = field(&read("/proc/cpuinfo"), "model name");
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let kilobytes: u64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
    let gigabytes = kilobytes.div_ceil(1024 * 1024);
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    format!("{cores} cores ({processor}), {gigabytes} GiB, load before the run {load}")
}

/// Today, in UTC.
pub(crate) fn date() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// What runs, as each says of itself.
pub(crate) async fn versions(programs: impl Iterator<Item = &Path>) -> String {
    let mut versions = Vec::new();
    for program in programs {
        let name = program
            .file_name()
            .unwrap_or_default()
            .display()
            .to_string();
        let version = program::version(program).await;
        let version = version.trim_start_matches(&name).trim();
        versions.push(format!("{name} {version}"));
    }
    versions.join(", ")
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
}
