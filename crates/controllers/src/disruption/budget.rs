//! The status of a budget, as it follows from its pods.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    api::policy::v1::PodDisruptionBudgetStatus,
    apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, Time},
};

use super::{
    expectation::Expectation,
    member::{Health, Members},
};
use crate::moment;

/// How long a pod whose eviction was allowed may take to show that it goes. Then it stays.
const EVICTION_SECONDS: i64 = 120;

/// The one condition of a budget.
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";

/// How the pods of a budget are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tally {
    healthy: i32,
    /// Those that were allowed to go and do not show it yet, and since when.
    evicted: BTreeMap<String, Time>,
    /// When the first of them is no longer waited for.
    pub(super) recheck: Option<Duration>,
}

impl Tally {
    pub(super) fn of(pods: &Members, known: &PodDisruptionBudgetStatus, now: &MicroTime) -> Self {
        let mut tally = Self {
            healthy: 0,
            evicted: BTreeMap::new(),
            recheck: None,
        };
        let evicted = known.disrupted_pods.as_ref();
        for pod in pods {
            let name = pod.key.name();
            let since = evicted.and_then(|evicted| evicted.get(name));
            let left = since.and_then(|since| moment::left(since, EVICTION_SECONDS, now));
            match (pod.health, since, left) {
                (Health::Ending, _, _) => {}
                (_, Some(since), Some(left)) => {
                    tally.evicted.insert(name.to_owned(), since.clone());
                    tally.recheck = Some(tally.recheck.map_or(left, |first| first.min(left)));
                }
                (Health::Ready, _, _) => tally.healthy += 1,
                (Health::NotReady, _, _) => {}
            }
        }
        tally
    }
}

/// The status that says so.
pub(super) fn status(
    known: &PodDisruptionBudgetStatus,
    (tally, expectation): (Tally, Expectation),
    (generation, now): (Option<i64>, &MicroTime),
) -> PodDisruptionBudgetStatus {
    let spare = tally.healthy.saturating_sub(expectation.healthy).max(0);
    // Without pods nothing is allowed, so that the first ones are safe before they are counted.
    let allowed = match expectation.pods > 0 {
        true => spare,
        false => 0,
    };
    let (value, reason) = match allowed > 0 {
        true => ("True", "SufficientPods"),
        false => ("False", "InsufficientPods"),
    };
    let condition = condition((value, reason, ""), generation, now);
    PodDisruptionBudgetStatus {
        current_healthy: tally.healthy,
        desired_healthy: expectation.healthy,
        expected_pods: expectation.pods,
        disruptions_allowed: allowed,
        disrupted_pods: Some(tally.evicted).filter(|evicted| !evicted.is_empty()),
        observed_generation: generation,
        conditions: Some(with(known.conditions.clone(), condition)),
    }
}

/// The status of a budget of which not enough is known: nothing may go.
pub(super) fn failed(
    known: &PodDisruptionBudgetStatus,
    why: &str,
    now: &MicroTime,
) -> PodDisruptionBudgetStatus {
    let mut status = known.clone();
    status.disruptions_allowed = 0;
    let condition = condition(("False", "SyncFailed", why), known.observed_generation, now);
    status.conditions = Some(with(status.conditions, condition));
    status
}

fn condition(
    (status, reason, message): (&str, &str, &str),
    generation: Option<i64>,
    now: &MicroTime,
) -> Condition {
    Condition {
        type_: DISRUPTION_ALLOWED.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: generation,
        last_transition_time: moment::second(now),
    }
}

/// The conditions with this one in its place.
fn with(conditions: Option<Vec<Condition>>, mut condition: Condition) -> Vec<Condition> {
    let mut conditions = conditions.unwrap_or_default();
    match conditions.iter_mut().find(|it| it.type_ == condition.type_) {
        Some(known) => {
            if known.status == condition.status {
                condition.last_transition_time = known.last_transition_time.clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
    conditions
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::jiff::Timestamp;
    use listwatch::{Labels, Object, ObjectKey, Version};

    use super::{super::member::Member, *};

    fn at(second: i64) -> MicroTime {
        MicroTime(Timestamp::from_second(second).unwrap())
    }

    fn pods(healths: &[Health]) -> Members {
        let pods = healths.iter().enumerate().map(|(number, health)| {
            Arc::new(Object {
                key: ObjectKey::new(Some("default"), &format!("p{number}")),
                version: Version::parse("1").unwrap(),
                uid: None,
                labels: Labels::default(),
                body: Member {
                    health: *health,
                    controller: None,
                },
            })
        });
        pods.collect()
    }

    fn told(
        pods: &Members,
        known: &PodDisruptionBudgetStatus,
        healthy: i32,
    ) -> PodDisruptionBudgetStatus {
        let expectation = Expectation {
            pods: i32::try_from(pods.len()).unwrap(),
            healthy,
        };
        let tally = Tally::of(pods, known, &at(1000));
        status(known, (tally, expectation), (Some(1), &at(1000)))
    }

    #[test]
    fn only_pods_that_are_ready_and_stay_count() {
        let pods = pods(&[
            Health::Ready,
            Health::Ready,
            Health::NotReady,
            Health::Ending,
        ]);
        let status = told(&pods, &PodDisruptionBudgetStatus::default(), 1);
        assert_eq!((status.current_healthy, status.disruptions_allowed), (2, 1));
        assert_eq!(status.conditions.unwrap()[0].reason, "SufficientPods");
    }

    #[test]
    fn a_pod_that_was_evicted_and_does_not_go_counts_again_after_two_minutes() {
        let pods = pods(&[Health::Ready, Health::Ready]);
        let evicted = [("p0", 1000 - 119), ("p1", 1000 - 121), ("gone", 999)];
        let evicted = evicted.map(|(name, second)| (name.to_owned(), Time(at(second).0)));
        let known = PodDisruptionBudgetStatus {
            disrupted_pods: Some(BTreeMap::from(evicted)),
            ..PodDisruptionBudgetStatus::default()
        };
        let tally = Tally::of(&pods, &known, &at(1000));
        assert_eq!(tally.recheck, Some(Duration::from_secs(1)));
        let status = told(&pods, &known, 1);
        assert_eq!((status.current_healthy, status.disruptions_allowed), (1, 0));
        let left: Vec<_> = status.disrupted_pods.unwrap().into_keys().collect();
        assert_eq!(left, ["p0"]);
    }

    #[test]
    fn a_budget_without_pods_allows_nothing() {
        let status = told(&Vec::new(), &PodDisruptionBudgetStatus::default(), 0);
        assert_eq!(status.disruptions_allowed, 0);
        assert_eq!(status.conditions.unwrap()[0].reason, "InsufficientPods");
    }

    #[test]
    fn a_condition_remembers_when_it_last_changed_its_mind() {
        let pods = pods(&[Health::Ready]);
        let mut known = told(&pods, &PodDisruptionBudgetStatus::default(), 1);
        known.conditions.as_mut().unwrap()[0].last_transition_time = Time(at(1).0);
        let again = told(&pods, &known, 1);
        assert_eq!(again.conditions, known.conditions);
        let failed = failed(&told(&pods, &known, 0), "why", &at(2000));
        let condition = &failed.conditions.unwrap()[0];
        assert_eq!(
            (condition.status.as_str(), &*condition.message),
            ("False", "why")
        );
        assert_eq!(condition.last_transition_time, Time(at(2000).0));
    }
}
