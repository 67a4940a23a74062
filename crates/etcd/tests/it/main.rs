//! The client against real etcd servers, those that are here.

#![cfg(test)]

mod failover;
mod keys;
mod leases;
mod transactions;
mod watches;

use listwatch_etcd::{
    Client,
    testing::{Cluster, Program},
};

/// Runs a test on a server of its own for every etcd that is here.
async fn on_every_release(test: impl AsyncFn(Client)) {
    for program in Program::all_or_skip() {
        let etcd = Cluster::single(&program).await.unwrap();
        test(etcd.client()).await;
    }
}
