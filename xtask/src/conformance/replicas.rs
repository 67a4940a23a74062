//! Everybody's clients while servers and members of etcd are killed and come back.
//!
//! Three servers on three members of etcd stand behind a plain TCP balancer. One after the other,
//! each server and each member is killed, while kubectl writes and others watch. Every change must
//! be told exactly once to those who go on by themselves.

mod balancer;
mod cluster;
mod follower;
mod kubectl;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use self::{
    balancer::Balancer,
    cluster::Cluster,
    follower::Follower,
    kubectl::{Created, Creator, Kubectl, Watch},
};
use super::session::Session;
use crate::workspace;

/// The object that comes last.
const LAST: &str = "last";
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn run() -> Result<()> {
    let mut cluster = Cluster::start(&folder())?;
    match go_through_deaths(&mut cluster) {
        Ok(()) => Ok(()),
        Err(error) => bail!("{}\n{error:#}", cluster.log_tails()),
    }
}

/// Where data and logs of all programs lie.
fn folder() -> PathBuf {
    workspace::target().join("conformance/replicas")
}

fn go_through_deaths(cluster: &mut Cluster) -> Result<()> {
    let balancer = Balancer::start(cluster.addresses()?)?;
    let kubectl = Kubectl::new(balancer.url());
    let mut followers = [
        Follower::listwatch(
            "listwatch watch at three addresses",
            &cluster.urls().join(","),
        )?,
        Follower::listwatch("listwatch watch at the balancer", &balancer.url())?,
        Follower::client_go("client-go's informer at the balancer", &balancer.url())?,
    ];
    let mut story = Story::begin(kubectl);
    story.create("before")?;
    for follower in &mut followers {
        follower.hear("ADDED before")?;
    }
    let watch = Watch::start(&story.kubectl, LAST);
    let mut wait = story.wait_for_last()?;
    let creator = Creator::start(Kubectl::new(balancer.url()));
    for index in Cluster::indexes() {
        story.kill_and_revive(cluster, index)?;
        for follower in &mut followers {
            follower.hear(&format!("ADDED after-{index}"))?;
        }
        story.delete(&format!("without-{index}"))?;
    }
    story.add(creator.end()?);
    story.create(LAST)?;
    ensure!(wait.wait()?.success(), "kubectl wait did not see `{LAST}`");
    for follower in &mut followers {
        follower.hear(&format!("ADDED {LAST}"))?;
        follower.heard_each_once(&story.changes)?;
    }
    watch.shows_each_once(&story.present)?;
    story.compare_with_a_list()
}

/// What kubectl has done.
struct Story {
    kubectl: Kubectl,
    /// Such as `ADDED color`.
    changes: Vec<String>,
    /// The objects that are there now.
    present: Vec<String>,
}

impl Story {
    fn begin(kubectl: Kubectl) -> Self {
        Self {
            kubectl,
            changes: Vec::new(),
            present: Vec::new(),
        }
    }

    /// Writes while a server and a member of etcd are down, while they come back, and after.
    fn kill_and_revive(&mut self, cluster: &mut Cluster, index: usize) -> Result<()> {
        cluster.kill(index)?;
        let begun = Instant::now();
        self.create(&format!("without-{index}"))?;
        let outage = begun.elapsed().as_secs_f64();
        self.apply(&index.to_string())?;
        cluster.revive(index)?;
        self.create(&format!("reviving-{index}"))?;
        cluster.wait_until_ready(index)?;
        self.create(&format!("after-{index}"))?;
        println!(
            "   server {index} and etcd {index} were killed: the next write took {outage:.1} s"
        );
        Ok(())
    }

    /// Applies one object with this content.
    fn apply(&mut self, content: &str) -> Result<()> {
        let manifest = folder().join("applied.yaml");
        let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}";
        fs::write(&manifest, format!("{head}\ndata: {{is: '{content}'}}\n"))?;
        let manifest = manifest.display().to_string();
        self.kubectl
            .until_done(&["apply", "--filename", &manifest], "")?;
        let name = "applied".to_owned();
        if self.present.contains(&name) {
            self.changes.push(format!("MODIFIED {name}"));
        } else {
            self.created(name);
        }
        Ok(())
    }

    fn create(&mut self, name: &str) -> Result<()> {
        self.kubectl.create(name)?;
        self.created(name.to_owned());
        Ok(())
    }

    fn created(&mut self, name: String) {
        self.changes.push(format!("ADDED {name}"));
        self.present.push(name);
    }

    fn add(&mut self, created: Created) {
        self.kubectl.in_vain += created.in_vain;
        for name in created.names {
            self.created(name);
        }
    }

    fn delete(&mut self, name: &str) -> Result<()> {
        let arguments = ["delete", "configmap", name];
        self.kubectl.until_done(&arguments, "not found")?;
        self.changes.push(format!("DELETED {name}"));
        self.present.retain(|there| there != name);
        Ok(())
    }

    fn wait_for_last(&self) -> Result<Session> {
        let timeout = format!("--timeout={}s", WAIT_TIMEOUT.as_secs());
        let object = format!("configmap/{LAST}");
        Session::start(
            &mut self
                .kubectl
                .command(&["wait", &object, "--for=create", &timeout]),
        )
        .context("cannot wait")
    }

    fn compare_with_a_list(mut self) -> Result<()> {
        let arguments = ["get", "configmaps", "--output=name"];
        let listed = self.kubectl.until_done(&arguments, "")?;
        let mut listed = listed.lines().collect::<Vec<_>>();
        listed.sort_unstable();
        let present = self.present.iter().map(|name| format!("configmap/{name}"));
        let mut present = present.collect::<Vec<_>>();
        present.sort_unstable();
        ensure!(
            listed == present,
            "kubectl lists {listed:?}, and not {present:?}"
        );
        let (writes, in_vain) = (self.changes.len(), self.kubectl.in_vain);
        println!("   kubectl: {writes} writes, {in_vain} tries in vain");
        Ok(())
    }
}
