//! Some seeds at each run of the tests; more with `cargo run -p listwatch-sim -- informers`.

use super::*;

/// Seeds that once broke a promise.
const REGRESSIONS: [u64; 3] = [121, 500, 20_020];

#[test]
fn informers_keep_every_promise_whatever_goes_wrong() {
    let mut total = Summary::default();
    for seed in (0..12).chain(REGRESSIONS) {
        let summary = run(seed).unwrap_or_else(|error| panic!("{error:?}"));
        total = total.plus(&summary);
    }
    assert!(total.changes > 1_000 && total.told > 1_000, "{total}");
    assert!(total.restores > 3 && total.faults > 50, "{total}");
    assert!(total.removed > 5 && total.lagged > 5, "{total}");
    assert!(total.panics > 5 && total.resyncs > 5, "{total}");
    assert!(total.compared > 50 && total.reads > 5, "{total}");
}

#[test]
fn a_seed_decides_everything() {
    let fingerprint = |seed| record(seed).unwrap().fingerprint;
    for seed in [3, 77] {
        assert_eq!(fingerprint(seed), fingerprint(seed));
    }
    assert_ne!(fingerprint(3), fingerprint(77));
}
