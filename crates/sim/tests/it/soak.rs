//! Informers on a server that goes down, over a network that breaks; for longer and with more
//! objects by hand with `cargo run -p listwatch-sim -- soak`.

use std::time::Duration;

use listwatch_sim::soak::{self, Place, SoakPlan, SoakSummary};

async fn soaked(plan: &SoakPlan, place: &Place) -> SoakSummary {
    let summary = soak::run(plan, place).await;
    let summary = summary.unwrap_or_else(|error| panic!("{error:?}"));
    eprintln!("{summary}");
    summary
}

#[tokio::test(flavor = "multi_thread")]
async fn informers_end_equal_to_the_list_whatever_breaks_on_the_way() {
    let plan = SoakPlan {
        seed: 1,
        objects: 3_000,
        duration: Duration::from_secs(4),
        writes_per_second: 600,
        restarts: 2,
        storms: 4,
    };
    let summary = soaked(&plan, &Place::InProcess).await;
    assert_eq!(summary.restarts, 2);
    assert!(summary.writes > 0 && summary.broken > 0, "{summary}");
    assert!(summary.relists() > 0, "nobody was away too long: {summary}");
}
