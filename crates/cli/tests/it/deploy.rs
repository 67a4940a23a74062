//! What `deploy` offers: the script to try it all, and the units for systemd.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{self, Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use listwatch_etcd::testing::{Program, Release};

/// Ports to begin the search with; those that systems give to clients by themselves come later.
const PORTS: std::ops::Range<u16> = 10_000..30_000;

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// The script, with programs, ports and a folder of its own; `None` where there is no etcd.
fn try_three(folder: &Path) -> Option<Command> {
    let etcd = Program::find_or_skip(Release::Current)?;
    let ports = free_ports(9);
    let mut command = Command::new(deploy().join("try-three"));
    command
        .env("ETCD", etcd.path())
        .env("LISTWATCH", env!("CARGO_BIN_EXE_listwatch"))
        .arg("--data")
        .arg(folder)
        .args(["--etcd-ports", &ports[..3].join(",")])
        .args(["--peer-ports", &ports[3..6].join(",")])
        .args(["--server-ports", &ports[6..].join(",")]);
    Some(command)
}

/// Ports that nobody has now. Tests that run at the same time, in this process or others, begin to
/// look at different places.
fn free_ports(count: usize) -> Vec<String> {
    static TESTS: AtomicU32 = AtomicU32::new(0);
    let test = process::id() * 2 + TESTS.fetch_add(1, Ordering::Relaxed);
    let span = u32::from(PORTS.end - PORTS.start);
    let shift = u16::try_from(test * 16 % span).unwrap();
    let candidates = (PORTS.start + shift..PORTS.end).chain(PORTS);
    let free = candidates.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.take(count).map(|port| port.to_string()).collect()
}

fn logs(folder: &Path) -> String {
    let parts = fs::read_dir(folder).unwrap().map(|part| part.unwrap());
    let logs = parts.map(|part| {
        let log = fs::read_to_string(part.path().join("log")).unwrap_or_default();
        format!("{}:\n{log}\n", part.path().display())
    });
    logs.collect()
}

#[test]
fn one_of_each_may_die_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut command) = try_three(folder.path()) else {
        return;
    };
    let output = command.arg("--check").output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        said(&output),
        logs(folder.path())
    );
    assert!(said(&output).ends_with("all is well\n"), "{output:?}");
}

#[test]
fn the_script_stops_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut command) = try_three(folder.path()) else {
        return;
    };
    let mut script = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(script.stdout.take().unwrap()).lines();
    let is_ready = |line: Result<String, _>| line.unwrap() == "Ctrl-C stops everything.";
    assert!(lines.any(is_ready), "{}", logs(folder.path()));
    let started: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|part| fs::read_to_string(part.unwrap().path().join("pid")).unwrap())
        .collect();
    assert_eq!(started.len(), 6);
    assert!(started.iter().all(|process| signal("-0", process)));
    assert!(signal("-TERM", &script.id().to_string()));
    assert_eq!(script.wait().unwrap().code(), Some(143));
    let left: Vec<&String> = started.iter().filter(|one| signal("-0", one)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_units_use_only_flags_that_exist() {
    let help = Command::new(env!("CARGO_BIN_EXE_listwatch"))
        .args(["serve", "--help"])
        .output()
        .unwrap();
    let known = flags(&said(&help));
    for file in ["listwatch.service", "listwatch.env", "listwatch-tls.conf"] {
        let used = flags(&unit(file));
        let unknown: Vec<&String> = used.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
        assert!(!used.is_empty(), "{file}");
    }
}

#[test]
fn systemd_understands_the_units() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["listwatch", "listwatch-etcd"] {
        let parts = folder.path().join(format!("{name}.service.d"));
        fs::create_dir(&parts).unwrap();
        install(&format!("{name}.service"), folder.path());
        install(&format!("{name}-tls.conf"), &parts);
    }
    let units = ["listwatch.service", "listwatch-etcd.service"];
    let units = units.map(|unit| folder.path().join(unit));
    let mut verify = Command::new("systemd-analyze");
    let Ok(output) = verify.arg("verify").args(units).output() else {
        eprintln!("SKIPPED: there is no systemd-analyze here to check the units with");
        return;
    };
    let (complaints, ok) = (said(&output), output.status.success());
    let about_ours = complaints.lines().any(|line| line.contains("listwatch"));
    assert!(ok && !about_ours, "{complaints}");
}

#[test]
fn the_metrics_that_operators_are_told_of_exist() {
    let root = deploy().join("..");
    let page = fs::read_to_string(root.join("docs/operations.md")).unwrap();
    let source = fs::read_to_string(root.join("crates/server/src/metrics.rs")).unwrap();
    let ours = |name: &&str| name.starts_with("listwatch_") || name.starts_with("apiserver_");
    let named: Vec<&str> = page.split('`').filter(ours).collect();
    assert!(named.len() > 10, "{named:?}");
    for name in named {
        let registered = format!("\"{}\"", name.trim_end_matches("_total"));
        assert!(source.contains(&registered), "there is no metric {name}");
    }
}

/// Copies a part of a unit to a folder, with a program in it that exists everywhere.
fn install(file: &str, folder: &Path) {
    let text = unit(file)
        .replace("/usr/local/bin/listwatch", "/bin/sh")
        .replace("/usr/local/bin/etcd", "/bin/sh");
    let name = if file.ends_with("-tls.conf") {
        "tls.conf"
    } else {
        file
    };
    let mut copy = File::create(folder.join(name)).unwrap();
    copy.write_all(text.as_bytes()).unwrap();
}

fn unit(file: &str) -> String {
    fs::read_to_string(deploy().join("systemd").join(file)).unwrap()
}

/// All words that look like `--flag`.
fn flags(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let flags = words.filter(|word| word.starts_with("--") && word.len() > 2);
    flags.map(str::to_owned).collect()
}

fn said(output: &Output) -> String {
    let both = [output.stderr.as_slice(), &output.stdout].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn signal(signal: &str, process: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args([signal, process.trim()]).stderr(Stdio::null());
    kill.status().unwrap().success()
}
