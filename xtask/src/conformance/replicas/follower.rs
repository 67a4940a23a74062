//! Programs that print each change of the ConfigMaps in the default namespace, and go on by
//! themselves when their server dies.

use std::{
    collections::BTreeMap,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use super::super::session::Session;
use crate::workspace;

/// How long a follower may need to hear of something after it has happened.
const HEAR_TIMEOUT: Duration = Duration::from_secs(30);

/// One program, and what it has printed so far.
pub(super) struct Follower {
    name: &'static str,
    session: Session,
    changes: Vec<String>,
}

impl Follower {
    /// `listwatch watch`, which prints a line such as `ADDED     default/color   @5`.
    pub(super) fn listwatch(name: &'static str, servers: &str) -> Result<Self> {
        let mut command = Command::new(workspace::target().join("debug/listwatch"));
        command.args(["watch", "configmaps", "--server", servers]);
        Self::start(name, &mut command)
    }

    /// An informer of client-go that prints the same.
    pub(super) fn client_go(name: &'static str, server: &str) -> Result<Self> {
        let mut command = Command::new(workspace::tools().join("go"));
        command.arg("tell").env("LISTWATCH_SERVER", server);
        Self::start(name, &mut command)
    }

    fn start(name: &'static str, command: &mut Command) -> Result<Self> {
        let log = super::folder().join(format!("{name}.log"));
        let session = Session::start(command.stderr(std::fs::File::create(log)?))?;
        Ok(Self {
            name,
            session,
            changes: Vec::new(),
        })
    }

    /// Waits until it has told this change.
    pub(super) fn hear(&mut self, change: &str) -> Result<()> {
        let deadline = Instant::now() + HEAR_TIMEOUT;
        while !self.changes.iter().any(|told| told == change) {
            let line = self
                .session
                .next_line(deadline)
                .and_then(|line| line.context("it ended"));
            let line = line.with_context(|| {
                let told = self.changes.join("\n  ");
                format!("{} never told `{change}`; it told\n  {told}", self.name)
            })?;
            let line = line.split(" @").next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let (event, key) = (
                words.next().unwrap_or_default(),
                words.next().unwrap_or_default(),
            );
            let object = key.strip_prefix("default/").unwrap_or(key);
            self.changes.push(format!("{event} {object}"));
        }
        Ok(())
    }

    /// Checks that it was told of each change once, and of nothing else.
    pub(super) fn heard_each_once(&self, expected: &[String]) -> Result<()> {
        let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
        for change in &self.changes {
            *counts.entry(change).or_default() += 1;
        }
        for change in expected {
            *counts.entry(change).or_default() -= 1;
        }
        let wrong = counts.iter().filter(|(_, count)| **count != 0);
        let wrong = wrong.map(|(change, count)| match count {
            ..0 => format!("  `{change}` was not told"),
            0.. => format!("  `{change}` was told {count} times too often"),
        });
        let wrong = wrong.collect::<Vec<_>>();
        ensure!(wrong.is_empty(), "{}:\n{}", self.name, wrong.join("\n"));
        println!(
            "   {}: {} changes, each told once",
            self.name,
            expected.len()
        );
        Ok(())
    }
}
