//! Several candidates: one leads, and another after it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use listwatch::leader_election::{ElectionSettings, FencingToken, Handover, LeaderElector, OnDrop};
use parking_lot::Mutex;
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{Election, PATIENCE, hasty, lasting, mortal, sees};

/// Releases the lease of one candidate, and waits for another to take it.
async fn hand_over(settings: impl Fn(&str) -> ElectionSettings) {
    let election = Election::start().await;
    let first = election.candidate(settings("a")).campaign().await.unwrap();
    let second = election.candidate(settings("b"));
    let mut leader = second.leader();
    let (first_token, second) = tokio::join!(
        async {
            sees(&mut leader, Some("a")).await;
            let token = first.fencing_token();
            first.release().await.unwrap();
            token
        },
        // The lease itself would last a minute.
        timeout(PATIENCE, second.campaign()),
    );
    let second = second.unwrap().unwrap();
    assert!(second.fencing_token() > first_token);
    assert_eq!(second.transitions(), 1);
}

#[tokio::test]
async fn a_released_lease_is_taken_over_at_once() {
    hand_over(|identity| ElectionSettings {
        // The next look would come after the test has lost its patience.
        retry_period: PATIENCE + Duration::from_secs(1),
        ..lasting(identity)
    })
    .await;
}

#[tokio::test]
async fn a_released_lease_is_taken_over_at_the_next_look_by_who_does_not_watch() {
    hand_over(|identity| ElectionSettings {
        handover: Handover::Polled,
        ..lasting(identity)
    })
    .await;
}

#[tokio::test]
async fn the_lease_of_a_killed_leader_is_taken_over_when_it_has_run_out() {
    let election = Election::start().await;
    let first = election
        .candidate(mortal(hasty("a")))
        .campaign()
        .await
        .unwrap();
    let first_token = first.fencing_token();
    let second = election.candidate(hasty("b"));
    let mut leader = second.leader();
    let campaign = async {
        let second = second.campaign().await.unwrap();
        (second, Instant::now())
    };
    let kill = async {
        sees(&mut leader, Some("a")).await;
        drop(first);
        Instant::now()
    };
    let ((second, won), killed) = timeout(PATIENCE, async { tokio::join!(campaign, kill) })
        .await
        .unwrap();
    // It may have been renewed up to a retry period before.
    let waited = won.duration_since(killed);
    let shortest = hasty("b").lease_duration - 2 * hasty("b").retry_period;
    assert!(waited >= shortest, "only {waited:?}");
    assert!(second.fencing_token() > first_token);
    assert_eq!(second.transitions(), 1);
}

/// Something that leaders write to: it refuses a token smaller than one it has seen.
#[derive(Default)]
struct Resource {
    greatest: Mutex<Option<FencingToken>>,
    terms: Mutex<Vec<(String, FencingToken)>>,
}

#[derive(Debug)]
struct Refused;

impl Resource {
    fn write(&self, token: FencingToken) -> Result<(), Refused> {
        let mut greatest = self.greatest.lock();
        if Some(token) < *greatest {
            return Err(Refused);
        }
        *greatest = Some(token);
        Ok(())
    }

    fn terms(&self) -> usize {
        self.terms.lock().len()
    }
}

const TERMS: usize = 9;

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn there_are_never_two_leaders_at_once() {
    let election = Election::start().await;
    let resource = Arc::new(Resource::default());
    let candidates =
        ["a", "b", "c"].map(|identity| Arc::new(election.candidate(settings(identity))));
    let mut running = JoinSet::new();
    for (name, candidate) in ["a", "b", "c"].into_iter().zip(candidates) {
        running.spawn(lead_in_turn(name, candidate, Arc::clone(&resource)));
    }
    let done = async { while running.join_next().await.transpose().unwrap().is_some() {} };
    timeout(2 * PATIENCE, done).await.unwrap();

    let terms = resource.terms.lock();
    let tokens: BTreeSet<_> = terms.iter().map(|(_, token)| token).collect();
    assert!(
        tokens.len() >= TERMS && tokens.len() == terms.len(),
        "{terms:?}"
    );
    let leaders: BTreeSet<_> = terms.iter().map(|(name, _)| name).collect();
    assert!(leaders.len() > 1, "{terms:?}");
}

/// One of the three dies where the others give back.
fn settings(identity: &str) -> ElectionSettings {
    ElectionSettings {
        on_drop: match identity {
            "c" => OnDrop::LetExpire,
            _ => OnDrop::Release,
        },
        random: fastrand::Rng::with_seed(u64::from(identity.as_bytes()[0])),
        ..hasty(identity)
    }
}

async fn lead_in_turn(name: &'static str, candidate: Arc<LeaderElector>, resource: Arc<Resource>) {
    while resource.terms() < TERMS {
        let Ok(campaign) = timeout(Duration::from_secs(3), candidate.campaign()).await else {
            continue;
        };
        let leadership = campaign.unwrap();
        let token = leadership.fencing_token();
        resource.terms.lock().push((name.to_owned(), token));
        for _ in 0..100 {
            let written = resource.write(token);
            assert!(written.is_ok() || !leadership.is_leading(), "two leaders");
            tokio::task::yield_now().await;
        }
        drop(leadership);
    }
}
