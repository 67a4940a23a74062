//! The command, killed again and again while it works.

use std::{path::Path, time::Duration};

use listwatch_sim::{
    crash::{self, CrashPlan},
    soak::{self, Place, SoakPlan},
    trial::{self, Subject, Summary},
};

const COMMAND: &str = env!("CARGO_BIN_EXE_listwatch");

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_write_is_there_after_each_kill() {
    let plan = CrashPlan {
        seed: 1,
        connections: 64,
        kills: 3,
        writes_per_life_max: 400,
        object_bytes: 1024,
    };
    let summary = crash::run(&plan, Path::new(COMMAND)).await;
    let summary = summary.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(summary.kills, 3);
    assert!(summary.acknowledged >= 600, "{summary:?}");
    assert!(summary.objects >= summary.acknowledged, "{summary:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_promise_is_kept_through_kills() {
    let subject = Subject::Binary(COMMAND.into());
    let mut total = Summary::default();
    for seed in 201..=203 {
        let summary = trial::run(seed, &subject).await;
        let summary = summary.unwrap_or_else(|error| panic!("{error:?}"));
        total = total.plus(&summary);
    }
    assert!(total.restarts > 0 && total.resumed > 0, "{total}");
}

#[tokio::test(flavor = "multi_thread")]
async fn informers_end_equal_to_the_list_through_kills_and_broken_connections() {
    let plan = SoakPlan {
        seed: 301,
        objects: 2_000,
        duration: Duration::from_secs(3),
        writes_per_second: 400,
        restarts: 3,
        storms: 3,
    };
    let summary = soak::run(&plan, &Place::Command(COMMAND.into())).await;
    let summary = summary.unwrap_or_else(|error| panic!("{error:?}"));
    assert!(summary.writes > 0 && summary.broken > 0, "{summary}");
    assert_eq!(summary.restarts, 3);
}
