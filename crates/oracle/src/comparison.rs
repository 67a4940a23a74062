//! Both sides of one script.

use anyhow::{Result, ensure};

use crate::{
    client_go::ClientGo,
    differences::{Logs, Rule},
    replay,
    script::Script,
    shrink, trial,
};

/// Compares scripts by the same rules.
pub(crate) struct Comparison {
    client_go: ClientGo,
    rules: Vec<Rule>,
    checked: usize,
}

impl Comparison {
    pub(crate) fn new(client_go: ClientGo, rules: Vec<Rule>) -> Self {
        Self {
            client_go,
            rules,
            checked: 0,
        }
    }

    /// How many scripts were checked.
    pub(crate) fn checked(&self) -> usize {
        self.checked
    }

    /// Fails if the two informers did different things, with the least script that shows it.
    pub(crate) fn check(&mut self, script: &str) -> Result<()> {
        self.check_with(script, |logs| {
            ensure!(logs.agree(), "the informers differ");
            replay::check(&logs.ours)
        })
    }

    /// Fails if the two informers came to different ends, or a handler to another than its store.
    pub(crate) fn check_end(&mut self, script: &str) -> Result<()> {
        self.check_with(script, |logs| {
            ensure!(logs.end_alike(), "the informers do not end alike");
            replay::check(&logs.ours)
        })
    }

    fn check_with(&mut self, script: &str, judge: fn(&Logs) -> Result<()>) -> Result<()> {
        self.checked += 1;
        let rules = self.rules.clone();
        let Err(error) = judge(&self.run(script, &rules)?) else {
            return Ok(());
        };
        let shortest = shrink::shrink(script, |script| {
            // A script that cannot be run shows nothing.
            let logs = self.run(script, &rules);
            logs.is_ok_and(|logs| judge(&logs).is_err())
        });
        Err(error.context(self.logs(&shortest)?))
    }

    /// Fails unless the two informers did different things and came to the same end.
    pub(crate) fn check_policy(&mut self, script: &str) -> Result<()> {
        self.checked += 1;
        let logs = self.run(script, &self.rules.clone())?;
        ensure!(
            !logs.agree(),
            "the informers do not differ, so the difference must not be listed"
        );
        ensure!(
            logs.end_alike(),
            "the informers do not end alike:\n{}",
            self.logs(script)?
        );
        Ok(())
    }

    /// A script and both logs as they are compared.
    pub(crate) fn logs(&mut self, script: &str) -> Result<String> {
        let logs = self.run(script, &self.rules.clone())?;
        Ok(format!(
            "--- script\n{script}\n--- client-go\n{}--- ours\n{}",
            logs.client_go, logs.ours
        ))
    }

    /// The rules without which all of these scripts would still be the same.
    pub(crate) fn unneeded_rules(&mut self, scripts: &[String]) -> Result<Vec<Rule>> {
        let mut unneeded = Vec::new();
        for rule in self.rules.clone() {
            let others = self.rules.iter().copied().filter(|other| *other != rule);
            let others: Vec<Rule> = others.collect();
            let mut is_needed = false;
            for script in scripts {
                is_needed |= !self.run(script, &others)?.agree();
            }
            if !is_needed {
                unneeded.push(rule);
            }
        }
        Ok(unneeded)
    }

    fn run(&mut self, script: &str, rules: &[Rule]) -> Result<Logs> {
        let mut logs = Logs {
            ours: trial::run(&Script::parse(script)?)?,
            client_go: self.client_go.run(script)?,
        };
        logs.reduce(rules);
        Ok(logs)
    }
}
