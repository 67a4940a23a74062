//! One write to many watches: how many events, how soon, at what cost.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use tokio::time::Instant;

use super::{
    drive::{Limit, Load, Pace, drive},
    endpoint::Endpoint,
    measure::{Bar, Unit},
    meter::{Meter, Spent},
    objects::{self, PODS, Pods},
    stage::{Stage, expect},
    template::GROUPS,
    watch::{Tally, Watches},
};

/// Connections that write.
const WRITING: usize = 8;
/// Updates of a round that goes as fast as it can.
const UPDATES: std::ops::RangeInclusive<u64> = 50..=2_000;
/// Events in a second that a paced round does not go beyond.
const PACED_EVENTS_MAX: f64 = 20_000.0;
/// Below this, selecting watches are not worth a row.
const SELECTING_MIN: u64 = 100;

/// What the watches of a round want to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Every pod.
    All,
    /// The pods of a hundredth, by a label.
    Label,
    /// The pod of a node.
    Node,
}

/// What is asked of a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// Open watches.
    pub(crate) watchers: u64,
    /// Watches beside them that are not read.
    pub(crate) stalled: usize,
    /// What they want to see.
    pub(crate) interest: Interest,
    /// Merge patches that are sent.
    pub(crate) updates: u64,
    /// How fast.
    pub(crate) pace: Pace,
}

/// What came of it.
pub(crate) struct Fanned {
    /// Events that came.
    pub(crate) events: u64,
    /// Events that should have come.
    expected: u64,
    /// From the first request to the last event.
    pub(crate) elapsed: Duration,
    /// CPU time.
    pub(crate) spent: Spent,
    /// From request to event.
    pub(crate) tally: Arc<Tally>,
}

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    let pods = stage.fill(stage.sizes.watchers_max().max(GROUPS)).await?;
    for watchers in stage.sizes.watchers.clone() {
        fast(stage, &pods, watchers, Interest::All).await?;
        paced(stage, &pods, watchers).await?;
        if watchers >= SELECTING_MIN {
            fast(stage, &pods, watchers, Interest::Label).await?;
            fast(stage, &pods, watchers, Interest::Node).await?;
        }
    }
    Ok(())
}

/// The latency of watches that are read beside others that are not.
pub(crate) async fn measure_stalled(stage: &mut Stage<'_>) -> Result<()> {
    let watchers = stage.sizes.watchers_max().min(100);
    let pods = stage.fill(GROUPS).await?;
    let updates = (stage.sizes.rate * stage.sizes.seconds).max(10.0) as u64;
    let mut alone = None;
    for stalled in stage.sizes.stalled.clone() {
        let round = Round {
            watchers,
            stalled,
            interest: Interest::All,
            updates,
            pace: Pace::PerSecond(stage.sizes.rate),
        };
        let fanned = run(stage, &pods, round).await?;
        let slow = fanned.tally.latency.quantile(0.99);
        let name = format!("{watchers} watches beside {stalled} that are stalled");
        fanned.note_losses(stage, &name);
        stage.findings.time(format!("{name}: p99"), slow);
        let before = *alone.get_or_insert(slow);
        if stalled > 0 {
            let tax = slow.as_secs_f64() - before.as_secs_f64();
            let found = stage
                .findings
                .add(format!("{name}: tax on p99"), tax, Unit::Seconds);
            found.bar(Bar::Below(0.001));
        }
    }
    Ok(())
}

/// As many updates as the server takes.
async fn fast(stage: &mut Stage<'_>, pods: &Pods, watchers: u64, interest: Interest) -> Result<()> {
    let each = interest.events_of_update(watchers, 0).max(1);
    let round = Round {
        watchers,
        stalled: 0,
        interest,
        updates: (stage.sizes.events / each).clamp(*UPDATES.start(), *UPDATES.end()),
        pace: Pace::Closed,
    };
    let fanned = run(stage, pods, round).await?;
    let name = interest.name(watchers);
    fanned.note_losses(stage, &name);
    let rate = fanned.events as f64 / fanned.elapsed.as_secs_f64();
    stage
        .findings
        .add(format!("{name}: events"), rate, Unit::PerSecond);
    let updates = round.updates as f64 / fanned.elapsed.as_secs_f64();
    stage
        .findings
        .add(format!("{name}: updates"), updates, Unit::PerSecond);
    match interest {
        Interest::All => {
            let found = stage.cpu(
                format!("{name}: CPU per event"),
                fanned.spent,
                fanned.events,
            );
            if watchers >= 1_000 {
                expect(found, Bar::Better(8.0));
            }
        }
        Interest::Label | Interest::Node => {
            let name = format!("{name}: CPU per update");
            let found = stage.cpu(name, fanned.spent, round.updates);
            if watchers >= 1_000 {
                expect(found, Bar::Better(20.0));
            }
        }
    }
    Ok(())
}

/// Few enough updates that nothing queues, to see how soon each event comes.
async fn paced(stage: &mut Stage<'_>, pods: &Pods, watchers: u64) -> Result<()> {
    let rate = stage.sizes.rate.min(PACED_EVENTS_MAX / watchers as f64);
    let round = Round {
        watchers,
        stalled: 0,
        interest: Interest::All,
        updates: (rate * stage.sizes.seconds).max(10.0) as u64,
        pace: Pace::PerSecond(rate),
    };
    let fanned = run(stage, pods, round).await?;
    let name = format!("{}, {rate:.0} updates/s", Interest::All.name(watchers));
    fanned.note_losses(stage, &name);
    let latency = &fanned.tally.latency;
    let found = &mut stage.findings;
    found.time(format!("{name}: p50"), latency.quantile(0.5));
    let slow = found.time(format!("{name}: p99"), latency.quantile(0.99));
    if watchers == 100 {
        slow.bar(Bar::Below(0.005));
    }
    found.time(format!("{name}: longest"), latency.longest());
    Ok(())
}

/// Opens the watches, writes, and waits until every event has come or none comes any more.
pub(crate) async fn run(stage: &Stage<'_>, pods: &Pods, round: Round) -> Result<Fanned> {
    let endpoint = &stage.running.endpoint;
    let tally = Tally::new(round.updates);
    let open = open(endpoint, &tally, round).await?;
    let pool = round.watchers.max(GROUPS);
    let load = Load {
        pace: round.pace,
        ..Load::closed(WRITING, Limit::Turns(round.updates))
    };
    let (patch, sending) = (pods.patch(), Arc::clone(&tally));
    let meter = Meter::start(&stage.running)?;
    let begun = Instant::now();
    let driven = drive(endpoint, load, move |turn, request| {
        let mark = sending.sending(turn.number);
        patch.fill(turn.number % pool, mark, request);
    });
    driven.await?.clean()?;
    let of_update = |update: u64| {
        let pod = update % pool;
        round.interest.events_of_update(round.watchers, pod)
    };
    let expected = (0..round.updates).map(of_update).sum();
    let events = tally.reach(expected).await;
    let spent = meter.stop()?;
    drop(open);
    ensure!(events > 0, "no event of {expected} came");
    Ok(Fanned {
        events,
        expected,
        elapsed: tally.last_event_after(begun),
        spent,
        tally,
    })
}

async fn open(endpoint: &Endpoint, tally: &Arc<Tally>, round: Round) -> Result<Watches> {
    let version = objects::resource_version(endpoint, PODS).await?;
    let path = format!("{PODS}?watch=1&resourceVersion={version}");
    let mut open = Watches::new();
    open.open_stalled(endpoint, round.stalled, &path).await?;
    let paths = (0..round.watchers).map(|watcher| round.interest.path(&path, watcher));
    open.open(endpoint, tally, paths).await?;
    Ok(open)
}

impl Fanned {
    /// Tells what did not come; a client that resumed would have seen it later.
    fn note_losses(&self, stage: &mut Stage<'_>, name: &str) {
        let (events, expected, ended) = (self.events, self.expected, self.tally.ended());
        if events < expected {
            let ended = format!("the server ended {ended} watches");
            stage.note(format!(
                "{name}: {events} events of {expected} came, {ended}"
            ));
        }
    }
}

impl Interest {
    fn path(self, path: &str, watcher: u64) -> String {
        match self {
            Self::All => path.to_owned(),
            Self::Label => format!("{path}&labelSelector=group%3Dg-{:08}", watcher % GROUPS),
            Self::Node => format!("{path}&fieldSelector=spec.nodeName%3Dnode-{watcher:08}"),
        }
    }

    /// How many of the watches see an update of this pod.
    fn events_of_update(self, watchers: u64, pod: u64) -> u64 {
        match self {
            Self::All => watchers,
            Self::Label => (watchers + GROUPS - 1 - pod % GROUPS) / GROUPS,
            Self::Node => u64::from(pod < watchers),
        }
    }

    fn name(self, watchers: u64) -> String {
        match self {
            Self::All if watchers == 1 => "1 watch".to_owned(),
            Self::All => format!("{watchers} watches"),
            Self::Label => format!("{watchers} watches, 1 % interested by label"),
            Self::Node => format!("{watchers} watches, each of its node"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_events_of_an_update_are_counted_by_who_watches_what() {
        for (watchers, pod) in [(1_000, 7), (150, 49), (150, 50), (20, 19), (20, 20)] {
            let wanted = (0..watchers).filter(|watcher| watcher % GROUPS == pod % GROUPS);
            let counted = Interest::Label.events_of_update(watchers, pod);
            assert_eq!(counted, wanted.count() as u64, "{watchers} {pod}");
        }
        assert_eq!(Interest::All.events_of_update(1_000, 3), 1_000);
        assert_eq!(Interest::Node.events_of_update(20, 20), 0);
    }
}
