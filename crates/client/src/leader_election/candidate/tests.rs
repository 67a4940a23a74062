use k8s_openapi::jiff::Timestamp;

use super::*;

fn wall(second: i64) -> MicroTime {
    MicroTime(Timestamp::from_second(second).unwrap())
}

fn candidate() -> Candidate {
    Candidate::new("lock".to_owned(), "me".to_owned(), 15)
}

/// A lease at version 3, acquired at 100 and renewed at 200.
fn lease_of(holder: &str) -> Lease {
    let mut lease = Lease::default();
    lease.metadata.name = Some("lock".to_owned());
    lease.metadata.resource_version = Some("3".to_owned());
    let record = Record {
        holder: (!holder.is_empty()).then(|| holder.to_owned()),
        lease_seconds: 10,
        acquired: Some(wall(100)),
        renewed: Some(wall(200)),
        transitions: 4,
    };
    record.write_to(&mut lease);
    lease
}

fn replaced(bid: Bid) -> (Record, String) {
    match bid {
        Bid::Replace(lease) => (Record::of(&lease), lease.metadata.resource_version.unwrap()),
        other => panic!("{other:?}"),
    }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn without_a_lease_one_is_made() {
    let mut candidate = candidate();
    candidate.observe(None, Instant::now());
    let Bid::Create(lease) = candidate.bid(Instant::now(), wall(300)) else {
        panic!("there is nothing to replace");
    };
    let expected = Record {
        holder: Some("me".to_owned()),
        lease_seconds: 15,
        acquired: Some(wall(300)),
        renewed: Some(wall(300)),
        transitions: 0,
    };
    assert_eq!(Record::of(&lease), expected);
    assert_eq!(lease.metadata.name.as_deref(), Some("lock"));
}

#[test]
fn a_lease_that_another_holds_is_waited_for_from_when_we_first_saw_it() {
    let mut candidate = candidate();
    let seen = Instant::now();
    candidate.observe(Some(lease_of("other")), seen);
    candidate.observe(Some(lease_of("other")), seen + seconds(5));
    let expected = Bid::Wait {
        holder: "other".to_owned(),
        until: seen + seconds(10),
    };
    let almost = seen + Duration::from_millis(9999);
    // The lease says it ended long ago. Clocks lie, so it does not matter.
    assert_eq!(candidate.bid(almost, wall(1_000_000)), expected);
}

#[test]
fn a_lease_that_is_not_renewed_is_taken_over() {
    let mut candidate = candidate();
    let seen = Instant::now();
    candidate.observe(Some(lease_of("other")), seen);
    let (record, version) = replaced(candidate.bid(seen + seconds(10), wall(1)));
    assert_eq!(record.holder.as_deref(), Some("me"));
    assert_eq!(record.transitions, 5);
    assert_eq!(record.acquired, Some(wall(1)));
    assert_eq!(record.lease_seconds, 15);
    assert_eq!(version, "3");
}

#[test]
fn a_renewal_by_the_holder_begins_the_wait_anew() {
    let mut candidate = candidate();
    let seen = Instant::now();
    candidate.observe(Some(lease_of("other")), seen);
    let mut renewed = lease_of("other");
    renewed.spec.as_mut().unwrap().renew_time = Some(wall(201));
    candidate.observe(Some(renewed), seen + seconds(9));
    let bid = candidate.bid(seen + seconds(18), wall(1));
    assert!(matches!(bid, Bid::Wait { until, .. } if until == seen + seconds(19)));
}

#[test]
fn a_label_set_by_somebody_is_no_renewal() {
    let mut candidate = candidate();
    let seen = Instant::now();
    candidate.observe(Some(lease_of("other")), seen);
    let mut labelled = lease_of("other");
    labelled.metadata.resource_version = Some("4".to_owned());
    labelled.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    candidate.observe(Some(labelled), seen + seconds(9));
    let (_, version) = replaced(candidate.bid(seen + seconds(10), wall(1)));
    assert_eq!(version, "4");
}

#[test]
fn a_lease_that_nobody_holds_is_taken_at_once() {
    let mut candidate = candidate();
    let seen = Instant::now();
    candidate.observe(Some(lease_of("")), seen);
    let (record, _) = replaced(candidate.bid(seen, wall(300)));
    assert_eq!(record.holder.as_deref(), Some("me"));
    assert_eq!(record.transitions, 5);
}

#[test]
fn a_lease_of_our_own_from_an_earlier_life_is_taken_at_once_as_a_new_term() {
    let mut candidate = candidate();
    let seen = Instant::now();
    candidate.observe(Some(lease_of("me")), seen);
    let (record, _) = replaced(candidate.bid(seen, wall(300)));
    assert_eq!(record.transitions, 4);
    assert_eq!(record.acquired, Some(wall(300)));
}

#[test]
fn a_renewal_keeps_when_it_was_acquired_and_what_others_wrote() {
    let mut candidate = candidate();
    let mut lease = lease_of("me");
    lease.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    lease.spec.as_mut().unwrap().strategy = Some("OldestEmulationVersion".to_owned());
    candidate.observe(Some(lease.clone()), Instant::now());
    let renewed = candidate.renewal(wall(300)).unwrap();
    let spec = lease.spec.as_mut().unwrap();
    spec.renew_time = Some(wall(300));
    spec.lease_duration_seconds = Some(15);
    assert_eq!(*renewed, lease);
}

#[test]
fn a_release_leaves_no_holder_one_second_and_the_count_of_transitions() {
    let mut candidate = candidate();
    candidate.observe(Some(lease_of("me")), Instant::now());
    let released = candidate.release(wall(300)).unwrap();
    let spec = released.spec.as_ref().unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(""));
    assert_eq!(spec.lease_duration_seconds, Some(1));
    assert_eq!(spec.lease_transitions, Some(4));
    assert_eq!(spec.renew_time, Some(wall(300)));
    assert_eq!(released.metadata.resource_version.as_deref(), Some("3"));
}

#[test]
fn a_leader_knows_its_own_term_from_another_under_its_name() {
    let mut candidate = candidate();
    let taken = |holder: &str| {
        Err(Loss::Taken {
            holder: holder.to_owned(),
        })
    };
    assert_eq!(candidate.still_ours(&wall(100)), Err(Loss::Removed));
    candidate.observe(Some(lease_of("me")), Instant::now());
    assert_eq!(candidate.still_ours(&wall(100)), Ok(()));
    assert_eq!(candidate.still_ours(&wall(99)), taken("me"));
    candidate.observe(Some(lease_of("other")), Instant::now());
    assert_eq!(candidate.still_ours(&wall(100)), taken("other"));
    candidate.observe(Some(lease_of("")), Instant::now());
    assert_eq!(candidate.still_ours(&wall(100)), Err(Loss::Removed));
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    for holder in ["me", ""] {
        let record = Record::of(&lease_of(holder));
        let mut lease = Lease::default();
        record.write_to(&mut lease);
        let text = serde_json::to_vec(&lease).unwrap();
        assert_eq!(Record::of(&serde_json::from_slice(&text).unwrap()), record);
    }
}

#[test]
fn a_lease_without_anything_in_it_is_nobodys() {
    assert_eq!(Record::of(&Lease::default()), Record::default());
    let mut candidate = candidate();
    candidate.observe(Some(Lease::default()), Instant::now());
    assert_eq!(candidate.leader(), None);
}

#[test]
fn the_leader_is_who_holds_the_lease() {
    let mut candidate = candidate();
    assert_eq!(candidate.leader(), None);
    candidate.observe(Some(lease_of("other")), Instant::now());
    assert_eq!(candidate.leader(), Some("other"));
    candidate.observe(None, Instant::now());
    assert_eq!(candidate.leader(), None);
}
