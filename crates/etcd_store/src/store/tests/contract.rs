use std::sync::atomic::{AtomicUsize, Ordering};

use listwatch_store::contract::{self, Terms};

use super::*;

/// The stores of one server after the other, each under a prefix of its own.
async fn keep_the_contract(release: Release) {
    let Some(program) = Program::find_or_skip(release) else {
        return;
    };
    let etcd = Servers::single(&program).await.unwrap();
    let made = AtomicUsize::new(0);
    let make = async || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        open(&etcd, &format!("/contract/{number}/")).await
    };
    contract::run(Terms::real_time(), make).await;
}

#[tokio::test]
async fn over_a_current_etcd_it_keeps_the_contract() {
    keep_the_contract(Release::Current).await;
}

#[tokio::test]
async fn over_an_etcd_of_old_it_keeps_the_contract() {
    keep_the_contract(Release::Debian).await;
}
