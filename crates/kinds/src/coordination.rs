//! Leases, and who may hold them.

use listwatch_api::name;
use serde_json::Value;

use crate::field::{Field, check};
use crate::rules::Rules;
use crate::tree::clear;

const STRATEGIES: [&str; 1] = ["OldestEmulationVersion"];

/// Leases.
pub(crate) const LEASES: Rules = Rules {
    begin: |lease| drop_strategy(&mut lease["spec"]),
    adjust: |_, next| drop_strategy(&mut next["spec"]),
    check_new: |lease| check(lease, check_lease),
    check_change: |change| check(change.next, check_lease),
    ..Rules::NONE
};

/// LeaseCandidates.
pub(crate) const LEASE_CANDIDATES: Rules = Rules {
    check_new: |candidate| check(candidate, check_candidate),
    check_change: |change| {
        check(change.next, |candidate| {
            check_candidate(candidate);
            let before = candidate.with_value(change.before);
            let (spec, old) = (candidate.child("spec"), before.child("spec"));
            spec.child("leaseName").immutable(old.child("leaseName"));
        })
    },
    ..Rules::NONE
};

/// Coordinated elections are off, and so are these.
fn drop_strategy(spec: &mut Value) {
    clear(spec, "strategy");
    clear(spec, "preferredHolder");
}

fn check_lease(lease: &Field<'_, '_>) {
    let spec = lease.child("spec");
    let (seconds, transitions) = (
        spec.child("leaseDurationSeconds"),
        spec.child("leaseTransitions"),
    );
    if seconds.integer().is_some_and(|seconds| seconds <= 0) {
        seconds.invalid("must be greater than 0");
    }
    transitions.non_negative();
}

/// Reported under a member of its own name, as Kubernetes does.
fn check_strategy(strategy: &Field<'_, '_>) {
    let place = strategy.child("strategy").with_value(strategy.value());
    match strategy.text().contains('/') {
        true => place.named(name::check_qualified_name),
        false => place.one_of(&STRATEGIES),
    }
}

fn check_candidate(candidate: &Field<'_, '_>) {
    let spec = candidate.child("spec");
    spec.child("leaseName").need();
    let (emulated, binary) = (spec.child("emulationVersion"), spec.child("binaryVersion"));
    let emulated_version = parse_version(emulated.text());
    if !emulated.is_empty() && emulated_version.is_none() {
        emulated.invalid("must be a valid semantic version");
    }
    let binary_version = parse_version(binary.text());
    if binary.need() && binary_version.is_none() {
        binary.invalid("must be a valid semantic version");
    }
    let both_given = !emulated.is_empty() && !binary.is_empty();
    if both_given && binary_version.unwrap_or_default() < emulated_version.unwrap_or_default() {
        binary.invalid("must be greater than or equal to `emulationVersion`");
    }
    let strategy = spec.child("strategy");
    if !strategy.need() {
        return;
    }
    if strategy.text() == "OldestEmulationVersion" && emulated_version.unwrap_or_default() == [0; 3]
    {
        emulated.required("must be specified when `strategy` is 'OldestEmulationVersion'");
    }
    check_strategy(&strategy);
}

/// The numbers of a version such as `1.37.0`; what follows a dash or plus is not compared.
fn parse_version(text: &str) -> Option<[u64; 3]> {
    let core = text.split(['-', '+']).next().unwrap_or(text);
    let mut numbers = core.split('.').map(|part| {
        let is_plain = part == "0" || !part.starts_with('0');
        part.parse::<u64>()
            .ok()
            .filter(|_| is_plain && !part.starts_with('+'))
    });
    let version = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(version)
}
