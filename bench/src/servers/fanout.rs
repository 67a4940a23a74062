//! One write to many watches: how many events, how soon, at what cost.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, ensure};

use super::{
    drive::{Limit, Load, Pace, drive_metered},
    endpoint::Endpoint,
    histogram::Histogram,
    measure::{Bar, Unit},
    meter::Spent,
    objects::{self, PODS, Pods},
    plot::Across,
    rounds,
    stage::{Stage, expect},
    template::GROUPS,
    tls::Protocol,
    watch::{Tally, Watches},
};

/// Connections that write.
const WRITING: usize = 8;
/// Updates of a round that goes as fast as it can.
const UPDATES: std::ops::RangeInclusive<u64> = 20..=2_000;
/// Updates that an audience hears at the most.
const UPDATES_MAX: u64 = 100_000;
/// Events in a second that a paced round does not go beyond.
const PACED_EVENTS_MAX: f64 = 20_000.0;
/// Below this, selecting watches are not worth a row.
const SELECTING_MIN: u64 = 100;

/// What watches want to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Every pod.
    All,
    /// The pods of a hundredth, by a label.
    Label,
    /// The pod of a node.
    Node,
}

/// Who is to watch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seats {
    /// Watches that are read.
    pub(crate) watchers: u64,
    /// Watches beside them that are not.
    pub(crate) stalled: usize,
    /// What they want to see.
    pub(crate) interest: Interest,
    /// How they come.
    pub(crate) protocol: Protocol,
}

/// Watches that are open, and what they have seen.
pub(crate) struct Audience {
    seats: Seats,
    tally: Arc<Tally>,
    /// Updates of earlier rounds.
    heard: u64,
    _open: Watches,
}

/// What came of a round.
pub(crate) struct Fanned {
    /// Merge patches that were sent.
    pub(crate) updates: u64,
    /// Events that came.
    pub(crate) events: u64,
    /// Events that should have come.
    expected: u64,
    /// Watches that the server has ended.
    ended: u64,
    /// From the first request to the last event.
    pub(crate) elapsed: Duration,
    /// CPU time.
    pub(crate) spent: Spent,
    /// From request to event.
    pub(crate) latency: Histogram,
}

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    let pods = stage.fill(stage.sizes.watchers_max().max(GROUPS)).await?;
    for watchers in stage.sizes.watchers.clone() {
        let mut audience = Audience::gather(stage, Seats::all(watchers)).await?;
        fast(stage, &pods, &mut audience).await?;
        paced(stage, &pods, &mut audience).await?;
        drop(audience);
        if watchers >= SELECTING_MIN {
            for interest in [Interest::Label, Interest::Node] {
                let seats = Seats {
                    interest,
                    ..Seats::all(watchers)
                };
                let mut audience = Audience::gather(stage, seats).await?;
                fast(stage, &pods, &mut audience).await?;
            }
        }
    }
    Ok(())
}

/// As many updates as the server takes.
pub(crate) async fn fast(
    stage: &mut Stage<'_>,
    pods: &Pods,
    audience: &mut Audience,
) -> Result<()> {
    let (watchers, interest) = (audience.seats.watchers, audience.seats.interest);
    let each = interest.events_of_update(watchers, 0).max(1);
    let updates = (stage.sizes.events / each).clamp(*UPDATES.start(), *UPDATES.end());
    let mut heard = Vec::new();
    for _ in 0..stage.sizes.rounds {
        heard.push(audience.hear(stage, pods, (updates, Pace::Closed)).await?);
    }
    let fanned = rounds::middle(heard, Fanned::dearness).context("there was a round")?;
    let name = audience.seats.name();
    fanned.note_losses(stage, &name);
    let rate = |count: u64| count as f64 / fanned.elapsed.as_secs_f64();
    let found = &mut stage.findings;
    let events = format!("{name}: events");
    found.add(events, rate(fanned.events), Unit::PerSecond);
    let updates = format!("{name}: updates");
    found.add(updates, rate(fanned.updates), Unit::PerSecond);
    let (unit, count, bar) = match interest {
        Interest::All => ("event", fanned.events, 8.0),
        Interest::Label | Interest::Node => ("update", fanned.updates, 20.0),
    };
    let found = stage.cpu(format!("{name}: CPU per {unit}"), fanned.spent, count);
    if (watchers, audience.seats.protocol) == (1_000, Protocol::Http1) {
        expect(found, Bar::Better(bar));
    }
    if (interest, audience.seats.protocol) == (Interest::All, Protocol::Http1) {
        let each = fanned.spent.cpu_each(fanned.events);
        stage.draw_growth("CPU per event", Across::Watches(watchers), each);
    }
    Ok(())
}

/// Few enough updates that nothing queues, to see how soon each event comes.
pub(crate) async fn paced(
    stage: &mut Stage<'_>,
    pods: &Pods,
    audience: &mut Audience,
) -> Result<()> {
    let watchers = audience.seats.watchers;
    let rate = stage.sizes.rate.min(PACED_EVENTS_MAX / watchers as f64);
    let mut heard = Vec::new();
    for _ in 0..stage.sizes.rounds {
        let updates = (rate * stage.sizes.seconds).max(10.0) as u64;
        let pace = Pace::PerSecond(rate);
        heard.push(audience.hear(stage, pods, (updates, pace)).await?);
    }
    let fanned = rounds::middle(heard, Fanned::slow).context("there was a round")?;
    let name = format!("{}, {rate:.0} updates/s", audience.seats.name());
    fanned.note_losses(stage, &name);
    let latency = &fanned.latency;
    let found = &mut stage.findings;
    found.time(format!("{name}: p50"), latency.quantile(0.5));
    let slow = found.time(format!("{name}: p99"), latency.quantile(0.99));
    if (watchers, audience.seats.protocol) == (100, Protocol::Http1) {
        slow.bar(Bar::Below(0.005));
    }
    found.time(format!("{name}: longest"), latency.longest());
    if watchers > 1 && audience.seats.protocol == Protocol::Http1 {
        stage.draw_latency(&name, latency);
    }
    Ok(())
}

impl Audience {
    /// Opens the watches.
    pub(crate) async fn gather(stage: &Stage<'_>, seats: Seats) -> Result<Self> {
        let endpoint = &stage.running.endpoint;
        let tally = Tally::new(UPDATES_MAX);
        let open = seats.open(endpoint, &tally).await?;
        Ok(Self {
            seats,
            tally,
            heard: 0,
            _open: open,
        })
    }

    /// Writes, and waits until every event has come or none comes any more.
    pub(crate) async fn hear(
        &mut self,
        stage: &Stage<'_>,
        pods: &Pods,
        (updates, pace): (u64, Pace),
    ) -> Result<Fanned> {
        let pool = self.seats.watchers.max(GROUPS);
        let load = Load {
            pace,
            ..Load::closed(WRITING, Limit::Turns(updates))
        };
        let (patch, sending, first) = (pods.patch(), Arc::clone(&self.tally), self.heard);
        self.heard += updates;
        self.tally.forget();
        let driven = drive_metered(&stage.running, load, move |turn, request| {
            let mark = sending.sending(first + turn.number);
            patch.fill(turn.number % pool, mark, request);
        });
        let (driven, meter) = driven.await?;
        let begun = driven.clean()?.begun;
        let Seats {
            watchers, interest, ..
        } = self.seats;
        let of_update = |update: u64| interest.events_of_update(watchers, update % pool);
        let expected = (0..updates).map(of_update).sum();
        let events = self.tally.reach(expected).await;
        let spent = meter.stop()?;
        ensure!(events > 0, "no event of {expected} came");
        Ok(Fanned {
            updates,
            events,
            expected,
            ended: self.tally.ended(),
            elapsed: self.tally.last_event_after(begun),
            spent,
            latency: self.tally.latency.take(),
        })
    }
}

impl Fanned {
    /// The latency that one of a hundred events exceeded, in seconds.
    pub(crate) fn slow(&self) -> f64 {
        self.latency.quantile(0.99).as_secs_f64()
    }

    fn dearness(&self) -> f64 {
        self.spent.dearness(self.events)
    }

    /// Tells what did not come; a client that resumed would have seen it later.
    pub(crate) fn note_losses(&self, stage: &mut Stage<'_>, name: &str) {
        let (events, expected, ended) = (self.events, self.expected, self.ended);
        if events < expected {
            let ended = format!("the server ended {ended} watches");
            stage.note(format!(
                "{name}: {events} events of {expected} came, {ended}"
            ));
        }
    }
}

impl Seats {
    /// Watches that want to see everything, each over a connection of its own.
    pub(crate) fn all(watchers: u64) -> Self {
        Self {
            watchers,
            stalled: 0,
            interest: Interest::All,
            protocol: Protocol::Http1,
        }
    }

    async fn open(self, endpoint: &Endpoint, tally: &Arc<Tally>) -> Result<Watches> {
        let version = objects::resource_version(endpoint, PODS).await?;
        let path = format!("{PODS}?watch=1&resourceVersion={version}");
        let mut open = Watches::new();
        open.open_stalled(endpoint, self.stalled, &path).await?;
        let paths = (0..self.watchers).map(|watcher| self.interest.path(&path, watcher));
        match self.protocol {
            Protocol::Http1 => open.open(endpoint, tally, paths).await?,
            Protocol::Http2 => open.open_multiplexed(endpoint, tally, paths).await?,
        }
        Ok(open)
    }

    fn name(self) -> String {
        let count = Unit::Count.text(self.watchers as f64);
        match self.interest {
            Interest::All if self.watchers == 1 => "1 watch".to_owned(),
            Interest::All => format!("{count} watches"),
            Interest::Label => format!("{count} watches, 1 % interested by label"),
            Interest::Node => format!("{count} watches, each of its node"),
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
