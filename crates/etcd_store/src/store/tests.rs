mod contract;
mod faults;
mod lifetimes;
mod neighbours;
mod numbering;

use listwatch_etcd::{
    Put,
    testing::{Cluster as Servers, Program, Release},
};
use listwatch_store::{Condition, KeyRange, contract::script};

use super::*;

/// Options for keys under this prefix.
fn options(etcd: &Servers, prefix: &str) -> EtcdOptions {
    EtcdOptions {
        connection: etcd.settings(),
        keys: KeyMount::new("", prefix),
        compaction: Compaction::ByOthers,
    }
}

async fn open(etcd: &Servers, prefix: &str) -> EtcdStore {
    EtcdStore::open(options(etcd, prefix)).await.unwrap()
}

/// One server of each release that is at hand.
async fn servers() -> Vec<Servers> {
    let mut servers = Vec::new();
    for program in Program::all_or_skip() {
        servers.push(Servers::single(&program).await.unwrap());
    }
    servers
}

/// One current server, if it is at hand.
async fn current() -> Option<Servers> {
    let program = Program::find_or_skip(Release::Current)?;
    Some(Servers::single(&program).await.unwrap())
}
