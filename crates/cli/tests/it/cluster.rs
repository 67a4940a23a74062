//! Three servers in front of three members of etcd, while everything goes wrong; for longer by hand
//! with `cargo run -p listwatch-sim -- cluster`.

use std::time::Duration;

use listwatch_sim::cluster::{self, ClusterParts, ClusterPlan, Fault, Program, Release};

const COMMAND: &str = env!("CARGO_BIN_EXE_listwatch");

#[tokio::test(flavor = "multi_thread")]
async fn every_promise_is_kept_by_three_servers_in_front_of_etcd_whatever_goes_wrong() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let parts = ClusterParts {
        binary: COMMAND.into(),
        program,
        release: Release::Current,
    };
    let plan = ClusterPlan::new(1, Duration::from_secs(24));
    let report = cluster::run(plan, &parts).await;
    let report = report.unwrap_or_else(|error| panic!("{error:?}"));
    eprintln!("{report}");
    let kinds: std::collections::BTreeSet<_> = report
        .faults
        .keys()
        .chain(report.failed_faults.keys())
        .collect();
    assert_eq!(kinds.len(), Fault::KINDS, "{report}");
    assert!(report.faults.len() >= Fault::KINDS - 2, "{report}");
    let summary = &report.summary;
    assert!(summary.acknowledged > 50 && summary.reads > 20, "{report}");
    assert!(summary.resumed > 10 && summary.lists > 20, "{report}");
    assert_eq!(summary.refused, 0, "{report}");
    assert!(
        report.answered.len() == 3,
        "not all servers were asked: {report}"
    );
}
