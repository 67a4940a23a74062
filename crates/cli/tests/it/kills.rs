//! The command, killed again and again while it works.

use std::path::Path;

use listwatch_sim::{
    crash::{self, CrashPlan},
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
