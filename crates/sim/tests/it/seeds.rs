//! Some seeds at each run of the tests; more by hand with `cargo run -p listwatch-sim`.

use listwatch_sim::trial::{self, Subject, Summary};

const REGRESSIONS: &str = include_str!("../../regressions.txt");

/// Runs these seeds, and sees to it that they were worth running.
async fn try_seeds(seeds: &[u64], subject: Subject) {
    let mut total = Summary::default();
    for &seed in seeds {
        let summary = trial::run(seed, &subject).await;
        let summary = summary.unwrap_or_else(|error| panic!("{error:?}"));
        eprintln!("seed {seed}: {summary}");
        total = total.plus(&summary);
    }
    assert!(
        total.conflicts > 0 && total.resumed > 0 && total.bookmarks > 0,
        "{total}"
    );
    assert!(
        total.restarts > 0 && total.lists > 0 && total.reads > 0,
        "{total}"
    );
    assert_eq!(total.refused, 0, "{total}");
    // On a slow machine a server that keeps little may forget what the witness has not seen yet.
    assert!(total.inconclusive < seeds.len(), "{total}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_promise_is_kept_on_a_store_in_memory() {
    try_seeds(&[1, 2, 3], Subject::Memory).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_promise_is_kept_on_the_embedded_store() {
    try_seeds(&[101, 102, 103], Subject::Embedded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_promise_is_kept_by_seeds_that_once_broke_one() {
    let lines = REGRESSIONS.lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let mut words = line.split_whitespace();
        let seed = words.next().and_then(|word| word.parse().ok());
        let subject = words.next().and_then(Subject::named);
        let (Some(seed), Some(subject)) = (seed, subject) else {
            panic!("not a seed and a place: {line:?}");
        };
        let kept = trial::run(seed, &subject).await;
        kept.unwrap_or_else(|error| panic!("{error:?}"));
    }
}
