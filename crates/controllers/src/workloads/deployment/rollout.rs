//! How fast old pods make room for new ones.

use k8s_openapi::{
    api::apps::v1::{Deployment, ReplicaSet},
    apimachinery::pkg::util::intstr::IntOrString,
};
use listwatch::Object;

use super::{Sets, newest_set, resize, size, spec, wanted};
use crate::{
    share::{Rounding, share},
    workloads::{Workloads, pods},
};

/// How pods are replaced.
pub(super) enum Strategy {
    /// All old ones go, then all new ones come.
    Recreate,
    /// A few at a time.
    Rolling(Bounds),
}

/// How far the number of pods may stray from what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) surge: i32,
    pub(super) unavailable: i32,
}

pub(super) fn strategy(deployment: &Object<Deployment>) -> Strategy {
    let strategy = spec(deployment).and_then(|spec| spec.strategy.as_ref());
    if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate") {
        return Strategy::Recreate;
    }
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    let surge = rolling.and_then(|rolling| rolling.max_surge.as_ref());
    let unavailable = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
    Strategy::Rolling(Bounds::resolve(surge, unavailable, wanted(deployment)))
}

impl Bounds {
    /// Parts of a hundred become numbers: the surge is rounded up, the rest down. If both are
    /// nought nothing could move, so one may be unavailable.
    pub(super) fn resolve(
        surge: Option<&IntOrString>,
        unavailable: Option<&IntOrString>,
        wanted: i32,
    ) -> Self {
        let surge = part(surge, wanted, Rounding::Up);
        let unavailable = part(unavailable, wanted, Rounding::Down);
        match (surge, unavailable) {
            (0, 0) => Self {
                surge: 0,
                unavailable: 1,
            },
            (surge, unavailable) => Self { surge, unavailable },
        }
    }
}

fn part(value: Option<&IntOrString>, whole: i32, rounding: Rounding) -> i32 {
    let quarter = IntOrString::String("25%".to_owned());
    share(value.unwrap_or(&quarter), whole, rounding).unwrap_or_default()
}

/// Old pods go, and when all are gone the new ones come.
pub(super) async fn recreate(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    sets: Sets,
) -> kube::Result<()> {
    for set in &sets.old {
        resize(workloads, set, 0).await?;
    }
    let mut old = sets
        .old
        .iter()
        .flat_map(|set| workloads.pods.of(&set.metadata));
    if old.any(|pod| pods::is_active(&pod) || pods::is_terminating(&pod)) {
        return Ok(());
    }
    let replicas = wanted(deployment);
    newest_set(workloads, deployment, (&sets, replicas)).await?;
    match &sets.new {
        Some(set) => resize(workloads, set, replicas).await,
        None => Ok(()),
    }
}

/// As many new pods come, and as many old ones go, as the bounds allow now.
pub(super) async fn roll(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    (sets, bounds): (Sets, Bounds),
) -> kube::Result<()> {
    let replicas = wanted(deployment);
    let total: i32 = sets.all().map(|set| size(set)).sum();
    let room = (replicas + bounds.surge - total).max(0);
    let current = sets.new.as_ref().map_or(0, |set| size(set));
    let next = match current > replicas || sets.old.is_empty() {
        true => replicas,
        false => (current + room).min(replicas),
    };
    newest_set(workloads, deployment, (&sets, next)).await?;
    if let Some(set) = &sets.new {
        resize(workloads, set, next).await?;
    }
    shrink_old(workloads, (&sets, next), replicas - bounds.unavailable).await
}

/// Takes from the old sets what is not needed to keep enough pods available: first those that are
/// not, then from the oldest set on.
async fn shrink_old(
    workloads: &Workloads,
    (sets, new_size): (&Sets, i32),
    available_min: i32,
) -> kube::Result<()> {
    let new_available = sets.new.as_ref().map_or(0, |set| available(set));
    let new_unavailable = (new_size - new_available).max(0);
    let old_total: i32 = sets.old.iter().map(|set| size(set)).sum();
    let mut allowed = (old_total + new_size - available_min - new_unavailable).max(0);
    let mut targets: Vec<i32> = sets.old.iter().map(|set| size(set)).collect();
    for (set, target) in sets.old.iter().zip(&mut targets) {
        let unhealthy = (*target - available(set)).clamp(0, allowed);
        *target -= unhealthy;
        allowed -= unhealthy;
    }
    let old_available: i32 = sets.old.iter().map(|set| available(set)).sum();
    let mut spare = (old_available + new_available - available_min).clamp(0, allowed);
    for target in &mut targets {
        let step = spare.min(*target);
        *target -= step;
        spare -= step;
    }
    for (set, target) in sets.old.iter().zip(targets) {
        resize(workloads, set, target).await?;
    }
    Ok(())
}

/// A paused deployment still has the size that is asked for; nothing else moves.
pub(super) async fn keep_size(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    sets: &Sets,
) -> kube::Result<()> {
    let active: Vec<_> = sets.all().filter(|set| size(set) > 0).collect();
    let newest = active.last().copied().or(sets.new.as_ref());
    let total: i32 = active.iter().map(|set| size(set)).sum();
    match newest {
        Some(set) => {
            let replicas = (size(set) + wanted(deployment) - total).max(0);
            resize(workloads, set, replicas).await
        }
        None => Ok(()),
    }
}

fn available(set: &ReplicaSet) -> i32 {
    let status = set.status.as_ref();
    status
        .and_then(|status| status.available_replicas)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(surge: &str, unavailable: &str, wanted: i32) -> (i32, i32) {
        let value = |text: &str| match text.parse() {
            Ok(number) => IntOrString::Int(number),
            Err(_) => IntOrString::String(text.to_owned()),
        };
        let bounds = Bounds::resolve(Some(&value(surge)), Some(&value(unavailable)), wanted);
        (bounds.surge, bounds.unavailable)
    }

    #[test]
    fn parts_of_a_hundred_are_rounded_so_that_something_can_move() {
        assert_eq!(bounds("25%", "25%", 3), (1, 0));
        assert_eq!(bounds("25%", "25%", 10), (3, 2));
        assert_eq!(bounds("1", "0", 10), (1, 0));
        assert_eq!(bounds("0", "10%", 5), (0, 1));
    }
}
