//! Work that is done only while leading.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use listwatch::leader_election::{Loss, NotFinished};
use serde_json::json;
use tokio::time::timeout;

use super::{Election, PATIENCE, lasting, sees};

/// Tells that it was dropped.
struct Trace(Arc<AtomicBool>);

impl Drop for Trace {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn work_that_ends_gives_its_result_and_the_lease_back() {
    let election = Election::start().await;
    let elector = election.candidate(lasting("a"));
    let token = elector.run_while_leader(async |token| token).await.unwrap();
    assert!(token.number() > 0);
    let spec = election.spec().await;
    assert_eq!(spec.holder_identity.as_deref(), Some(""));
}

#[tokio::test]
async fn work_is_cancelled_when_leading_is_lost() {
    let election = Election::start().await;
    let elector = election.candidate(lasting("a"));
    let dropped = Arc::new(AtomicBool::new(false));
    let trace = Trace(Arc::clone(&dropped));
    let take = async {
        sees(&mut elector.leader(), Some("a")).await;
        election
            .patch(json!({"spec": {"holderIdentity": "b"}}))
            .await;
    };
    let work = elector.run_while_leader(async move |_| {
        let _trace = trace;
        pending::<()>().await;
    });
    let (outcome, ()) = timeout(PATIENCE, async { tokio::join!(work, take) })
        .await
        .unwrap();
    let holder = "b".to_owned();
    assert_eq!(outcome, Err(NotFinished::Lost(Loss::Taken { holder })));
    assert!(dropped.load(Ordering::SeqCst));
}

#[tokio::test]
async fn work_ends_before_the_lease_is_given_back_when_all_is_cancelled() {
    let election = Election::start().await;
    let elector = election.candidate(lasting("a"));
    let dropped = Arc::new(AtomicBool::new(false));
    let trace = Trace(Arc::clone(&dropped));
    let mut leader = elector.leader();
    let work = elector.run_while_leader(async move |_| {
        let _trace = trace;
        pending::<()>().await;
    });
    tokio::select! {
        _ = work => panic!("the work never ends"),
        () = sees(&mut leader, Some("a")) => {}
    }
    assert!(dropped.load(Ordering::SeqCst));
    sees(&mut leader, None).await;
    assert_eq!(election.spec().await.holder_identity.as_deref(), Some(""));
}
