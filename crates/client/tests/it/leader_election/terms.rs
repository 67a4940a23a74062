//! One term: how it is won, kept, lost and given back.

use std::time::Duration;

use kube::api::DeleteParams;
use listwatch::leader_election::{ElectionSettings, Loss};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::{Election, LEASE, PATIENCE, hasty, lasting, mortal, sees};

const LEASE_PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/lock";

/// Renews so rarely that a test is over before.
fn slow(identity: &str) -> ElectionSettings {
    ElectionSettings {
        retry_period: Duration::from_secs(20),
        ..lasting(identity)
    }
}

#[tokio::test]
async fn the_first_candidate_leads_and_the_lease_says_so() {
    let election = Election::start().await;
    let leadership = election.candidate(slow("a")).campaign().await.unwrap();
    assert!(leadership.is_leading());
    let spec = election.spec().await;
    assert_eq!(spec.holder_identity.as_deref(), Some("a"));
    assert_eq!(spec.lease_duration_seconds, Some(60));
    assert_eq!(spec.lease_transitions, Some(0));
    assert!(spec.acquire_time.is_some());
    assert_eq!(spec.acquire_time, spec.renew_time);
}

#[tokio::test]
async fn a_renewal_is_one_request_and_keeps_when_the_lease_was_acquired() {
    let election = Election::start().await;
    let (proxy, elector) = election.candidate_behind_a_proxy(lasting("a")).await;
    let leadership = elector.campaign().await.unwrap();
    let won = election.spec().await;
    proxy.forget();
    let renewed = async {
        while proxy.requests().len() < 3 {
            election.spec().await;
        }
    };
    timeout(PATIENCE, renewed).await.unwrap();
    assert_eq!(
        proxy.requests()[..3],
        [(); 3].map(|()| format!("PUT {LEASE_PATH}"))
    );
    leadership.release().await.unwrap();
    let released = election.spec().await;
    assert!(released.renew_time > won.renew_time);
    assert_eq!(released.lease_transitions, Some(0));
}

#[tokio::test]
async fn a_leader_goes_on_when_somebody_else_writes_into_the_lease() {
    let election = Election::start().await;
    let leadership = election.candidate(lasting("a")).campaign().await.unwrap();
    let won = election.spec().await;
    election.label().await;
    let labelled = election.spec().await.renew_time;
    let renewed = async { while election.spec().await.renew_time <= labelled {} };
    timeout(PATIENCE, renewed).await.unwrap();
    assert!(leadership.is_leading());
    let lease = election.leases().get(LEASE).await.unwrap();
    assert_eq!(lease.metadata.labels.unwrap()["seen"], "yes");
    assert_eq!(lease.spec.unwrap().acquire_time, won.acquire_time);
}

#[tokio::test]
async fn a_leader_that_cannot_renew_stops_before_its_lease_runs_out() {
    let election = Election::start().await;
    let (proxy, elector) = election.candidate_behind_a_proxy(hasty("a")).await;
    let leadership = elector.campaign().await.unwrap();
    proxy.fall_silent();
    let silent = Instant::now();
    let loss = timeout(PATIENCE, leadership.lost()).await.unwrap();
    assert_eq!(loss, Loss::NotRenewed);
    // The last renewal may have been sent just before.
    assert!(
        silent.elapsed() < hasty("a").lease_duration,
        "{:?}",
        silent.elapsed()
    );
    assert!(!leadership.is_leading());
    assert_eq!(leadership.lost().await, Loss::NotRenewed);
}

#[tokio::test]
async fn an_elector_leads_again_after_it_has_lost() {
    let election = Election::start().await;
    let (proxy, elector) = election.candidate_behind_a_proxy(hasty("a")).await;
    let first = elector.campaign().await.unwrap();
    proxy.fall_silent();
    timeout(PATIENCE, first.lost()).await.unwrap();
    proxy.resume();
    let second = timeout(PATIENCE, elector.campaign())
        .await
        .unwrap()
        .unwrap();
    assert!(second.fencing_token() > first.fencing_token());
    assert!(second.is_leading() && !first.is_leading());
}

#[tokio::test]
async fn a_leader_learns_that_its_lease_was_taken() {
    let election = Election::start().await;
    let elector = election.candidate(lasting("a"));
    let leadership = elector.campaign().await.unwrap();
    election
        .patch(json!({"spec": {"holderIdentity": "b"}}))
        .await;
    let loss = timeout(PATIENCE, leadership.lost()).await.unwrap();
    let holder = "b".to_owned();
    assert_eq!(loss, Loss::Taken { holder });
    sees(&mut elector.leader(), Some("b")).await;
}

#[tokio::test]
async fn a_leader_steps_down_when_its_lease_is_cleared_by_hand() {
    let election = Election::start().await;
    let leadership = election.candidate(lasting("a")).campaign().await.unwrap();
    election
        .patch(json!({"spec": {"holderIdentity": ""}}))
        .await;
    let loss = timeout(PATIENCE, leadership.lost()).await.unwrap();
    assert_eq!(loss, Loss::Removed);
}

#[tokio::test]
async fn a_deleted_lease_ends_the_term_and_the_next_token_is_still_greater() {
    let election = Election::start().await;
    let elector = election.candidate(lasting("a"));
    let first = elector.campaign().await.unwrap();
    let options = DeleteParams::default();
    election.leases().delete(LEASE, &options).await.unwrap();
    let loss = timeout(PATIENCE, first.lost()).await.unwrap();
    assert_eq!(loss, Loss::Removed);
    let second = timeout(PATIENCE, elector.campaign())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(second.transitions(), 0);
    assert!(second.fencing_token() > first.fencing_token());
}

#[tokio::test]
async fn of_two_with_one_name_only_the_later_leads() {
    let election = Election::start().await;
    let first = election.candidate(lasting("a")).campaign().await.unwrap();
    let second = election.candidate(lasting("a")).campaign().await.unwrap();
    let loss = timeout(PATIENCE, first.lost()).await.unwrap();
    let holder = "a".to_owned();
    assert_eq!(loss, Loss::Taken { holder });
    assert!(second.is_leading());
    assert!(second.fencing_token() > first.fencing_token());
}

#[tokio::test]
async fn a_lease_is_given_back_although_somebody_else_wrote_into_it() {
    let election = Election::start().await;
    let leadership = election.candidate(slow("a")).campaign().await.unwrap();
    election.label().await;
    leadership.release().await.unwrap();
    let spec = election.spec().await;
    assert_eq!(spec.holder_identity.as_deref(), Some(""));
    assert_eq!(spec.lease_duration_seconds, Some(1));
    assert_eq!(spec.lease_transitions, Some(0));
}

#[tokio::test]
async fn a_lease_that_another_took_is_not_given_back() {
    let election = Election::start().await;
    let leadership = election.candidate(slow("a")).campaign().await.unwrap();
    election
        .patch(json!({"spec": {"holderIdentity": "b"}}))
        .await;
    leadership.release().await.unwrap();
    let spec = election.spec().await;
    assert_eq!(spec.holder_identity.as_deref(), Some("b"));
}

#[tokio::test]
async fn a_dropped_leadership_is_given_back_in_the_background() {
    let election = Election::start().await;
    let elector = election.candidate(slow("a"));
    drop(elector.campaign().await.unwrap());
    sees(&mut elector.leader(), None).await;
    assert_eq!(election.spec().await.holder_identity.as_deref(), Some(""));
}

#[tokio::test]
async fn an_elector_does_not_campaign_against_itself() {
    let election = Election::start().await;
    let elector = election.candidate(lasting("a"));
    let first = elector.campaign().await.unwrap();
    let mut second = Box::pin(elector.campaign());
    tokio::select! {
        biased;
        _ = &mut second => panic!("led twice"),
        released = first.release() => released.unwrap(),
    }
    timeout(PATIENCE, second).await.unwrap().unwrap();
}

#[tokio::test]
async fn who_keeps_a_lost_leadership_in_hand_is_unhealthy() {
    let election = Election::start().await;
    let elector = election.candidate(mortal(hasty("a")));
    let leadership = elector.campaign().await.unwrap();
    assert_eq!(elector.check_health(Duration::ZERO), Ok(()));
    election
        .patch(json!({"spec": {"holderIdentity": "b"}}))
        .await;
    timeout(PATIENCE, leadership.lost()).await.unwrap();
    let overdue = async {
        loop {
            match elector.check_health(Duration::ZERO) {
                Err(overdue) => break overdue,
                Ok(()) => election.spec().await,
            };
        }
    };
    let overdue = timeout(PATIENCE, overdue).await.unwrap();
    assert_eq!(overdue.token, leadership.fencing_token());
    drop(leadership);
    assert_eq!(elector.check_health(Duration::ZERO), Ok(()));
}
