//! Which servers a run measures, and why others are missing.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::{
    Beside, Plan,
    contender::{Contender, Store},
    group::Group,
    program,
    report::Role,
};

/// A server of the run, and its column.
pub(crate) struct Entry {
    /// Whose column.
    pub(crate) role: Role,
    /// What stands above it.
    pub(crate) name: String,
    /// What to start.
    pub(crate) contender: Contender,
    /// Where ours keeps its objects, if it is started here.
    pub(crate) store: Option<Store>,
}

impl Entry {
    /// Whether it is ours as it comes or the peer.
    pub(crate) fn is_compared(&self) -> bool {
        self.role != Role::Beside
    }

    /// Its role among the stores, or among servers.
    pub(crate) fn role_in(&self, group: Group) -> Role {
        match (group, self.store) {
            (Group::Stores, Some(Store::Embedded)) => Role::Ours,
            (Group::Stores, Some(Store::Etcd)) => Role::Theirs,
            (Group::Stores, Some(Store::Memory)) => Role::Beside,
            (_, _) => self.role,
        }
    }

    /// What stands above its column.
    pub(crate) fn name_in(&self, group: Group) -> String {
        match (group, self.store) {
            (Group::Stores, Some(Store::Embedded)) => "embedded".to_owned(),
            (Group::Stores, Some(Store::Etcd)) => "on etcd".to_owned(),
            (Group::Stores, Some(Store::Memory)) => "in memory".to_owned(),
            (_, _) => self.name.clone(),
        }
    }
}

/// The servers, and what is said of those that are missing.
pub(crate) fn entries(plan: &Plan) -> Result<(Vec<Entry>, Vec<String>)> {
    let (mut entries, mut missing) = (Vec::new(), Vec::new());
    let etcd = program::find(plan.etcd.as_deref(), "etcd");
    match &plan.ours {
        Some(given) => entries.push(Entry {
            role: Role::Ours,
            name: "ours".to_owned(),
            contender: Contender::Given(given.clone()),
            store: None,
        }),
        None => {
            for (index, store) in plan.stores.iter().enumerate() {
                match ours(plan, *store, etcd.as_ref()) {
                    Ok(contender) => entries.push(Entry {
                        role: if index == 0 { Role::Ours } else { Role::Beside },
                        name: store.column(index).to_owned(),
                        contender,
                        store: Some(*store),
                    }),
                    Err(reason) => missing.push(format!("ours on {store:?} is missing: {reason}.")),
                }
            }
        }
    }
    match theirs(plan, etcd) {
        Ok(contender) => entries.push(Entry {
            role: Role::Theirs,
            name: "kube-apiserver".to_owned(),
            contender,
            store: None,
        }),
        Err(reason) => missing.push(format!("The peer is missing: {reason}.")),
    }
    if entries.is_empty() {
        bail!("there is nothing to measure: {}", missing.join(" "));
    }
    Ok((entries, missing))
}

fn ours(plan: &Plan, store: Store, etcd: Option<&PathBuf>) -> Result<Contender> {
    let etcd = match store {
        Store::Etcd => Some(etcd.context("there is no etcd on the PATH and no --etcd")?),
        Store::Embedded | Store::Memory => None,
    };
    Ok(Contender::Ours {
        program: plan.listwatch.clone(),
        store,
        etcd: etcd.cloned(),
    })
}

fn theirs(plan: &Plan, etcd: Option<PathBuf>) -> Result<Contender> {
    if let Some(given) = &plan.theirs {
        return Ok(Contender::Given(given.clone()));
    }
    if let Beside::Nobody = plan.beside {
        bail!("it was not asked for");
    }
    let program = program::find(plan.kube_apiserver.as_deref(), "kube-apiserver");
    Ok(Contender::Peer {
        program: program.context("there is no kube-apiserver on the PATH")?,
        etcd: etcd.context("there is no etcd on the PATH")?,
    })
}

impl Store {
    fn column(self, index: usize) -> &'static str {
        match self {
            Self::Embedded if index == 0 => "ours",
            Self::Embedded => "ours, embedded",
            Self::Memory => "ours in memory",
            Self::Etcd => "ours on etcd",
        }
    }
}
