//! Informers at work for long: a server that goes down, a network that breaks, objects that keep
//! changing. In the end each cache, each index and all that each handler was told equals the list.

mod door;
mod fold;
mod ground;
mod listed;
mod network;
mod observer;
mod observers;
mod population;

use std::{fmt, time::Duration};

use anyhow::Context;
use fastrand::Rng;
use listwatch::Bound;
use tokio::time::{Instant, sleep};

use self::{
    ground::Ground,
    listed::{Kind, Truth},
    observer::{Observed, Observer},
    observers::Observatory,
    population::{Churn, Writers},
};

pub use ground::Place;

/// What happens in a soak.
#[derive(Clone, Debug)]
pub struct SoakPlan {
    /// What all chance follows from.
    pub seed: u64,
    /// How many objects there are.
    pub objects: usize,
    /// For how long things change and break.
    pub duration: Duration,
    /// How many writes are tried in a second, at least one.
    pub writes_per_second: u32,
    /// How often the server goes down, if it is ours.
    pub restarts: u32,
    /// How often the network breaks half of what it carries at once.
    pub storms: u32,
}

/// What a soak went through.
#[derive(Clone, Debug)]
pub struct SoakSummary {
    /// Objects in the end.
    pub objects: usize,
    /// Writes that were acknowledged after the objects had been made.
    pub writes: u64,
    /// How often the server went down.
    pub restarts: u32,
    /// Connections over the network.
    pub connections: u64,
    /// Connections that the network refused or broke.
    pub broken: u64,
    /// How long everything took.
    pub took: Duration,
    /// How long the informers took to reach the end once nothing broke any more.
    pub settled: Duration,
    /// Each informer.
    pub informers: Vec<InformerSummary>,
}

/// What one informer went through.
#[derive(Clone, Debug)]
pub struct InformerSummary {
    /// What it followed, and how.
    pub name: String,
    /// Objects in its cache in the end.
    pub objects: usize,
    /// Events, bookmarks among them.
    pub events: u64,
    /// Watches that it asked for.
    pub watches: u64,
    /// Times that it had to fetch everything again.
    pub relists: u64,
    /// Everything that went wrong for it.
    pub errors: u64,
    /// Notifications to all its handlers.
    pub notifications: u64,
}

/// Soaks informers as planned; an error when one of them did not end equal to the list.
pub async fn run(plan: &SoakPlan, place: &Place) -> anyhow::Result<SoakSummary> {
    let soaked = soak(plan, place).await;
    soaked.with_context(|| format!("seed {} of {plan:?} at {place:?}", plan.seed))
}

async fn soak(plan: &SoakPlan, place: &Place) -> anyhow::Result<SoakSummary> {
    let began = Instant::now();
    let mut random = Rng::with_seed(plan.seed);
    let mut ground = Ground::prepare(place, plan.objects, random.fork()).await?;
    let observers = observers(plan, &ground, &mut random).await?;
    eprintln!("{:.1?}: all informers have synced", began.elapsed());
    let churn = Churn {
        objects: plan.objects,
        writes_per_second: plan.writes_per_second,
    };
    let writers = Writers::start(churn, &ground.server(), &mut random);
    let mut scene = Scene {
        ground: &mut ground,
        observers: &observers,
        writers: &writers,
    };
    let restarts = scene.trouble(plan, &mut random).await?;
    let writes = writers.stop().await?;
    ground.network.calm();
    let calm = Instant::now();
    eprintln!("{:.1?}: nothing changes any more", began.elapsed());
    let truth = Truth::ask(&ground.client()?).await?;
    let mut informers = Vec::new();
    for observer in &observers {
        let observed = observer.judge(&truth).await?;
        let elapsed = began.elapsed();
        eprintln!("{elapsed:.1?}: {} equals the list", observer.name());
        informers.push(InformerSummary::new(observer.name(), &observed));
    }
    let summary = SoakSummary {
        objects: truth.of(Kind::ConfigMaps).len(),
        writes,
        restarts,
        connections: ground.network.connections(),
        broken: ground.network.broken(),
        settled: calm.elapsed(),
        took: began.elapsed(),
        informers,
    };
    drop(observers);
    ground.end().await?;
    Ok(summary)
}

/// Fills the server, with some informers there before and some that come after.
async fn observers(
    plan: &SoakPlan,
    ground: &Ground,
    random: &mut Rng,
) -> anyhow::Result<Vec<Box<dyn Observer>>> {
    let address = ground.network.address();
    let mut observatory = Observatory::new(address, ground.silence_max(), random.fork())?;
    let mut observers = observatory.first()?;
    for observer in &observers {
        observer.add_handler(Bound::Block(256))?;
    }
    let began = Instant::now();
    population::fill(&ground.client()?, plan.objects, random).await?;
    eprintln!("{:.1?}: the server is filled", began.elapsed());
    let mut later = observatory.later()?;
    for (choice, door) in ground.doors() {
        later.push(observatory.through(door.clone(), *choice)?);
    }
    for observer in &later {
        observer.add_handler(Bound::Coalesce)?;
    }
    observers.extend(later);
    for observer in &observers {
        observer.synced().await?;
    }
    Ok(observers)
}

/// What goes wrong besides the small mishaps of the network, at a moment of its own.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Restart,
    Storm,
    /// Informers miss more than a server with little history can tell them again.
    Outage,
    /// Every informer gets one more handler, which is told only the latest when it is slow.
    LateHandlers,
}

/// Everything that can be troubled.
struct Scene<'a> {
    ground: &'a mut Ground,
    observers: &'a [Box<dyn Observer>],
    writers: &'a Writers,
}

impl Scene<'_> {
    /// Lets everything go wrong that is planned, and says how often the server went down.
    async fn trouble(&mut self, plan: &SoakPlan, random: &mut Rng) -> anyhow::Result<u32> {
        let began = Instant::now();
        let restarts = if self.ground.is_ours() {
            plan.restarts
        } else {
            0
        };
        for (moment, trouble) in troubles(plan, restarts, random) {
            sleep(moment.saturating_sub(began.elapsed())).await;
            match trouble {
                Trouble::Restart => self.ground.restart(random).await?,
                Trouble::Storm => self.ground.network.storm(),
                Trouble::Outage => self.ground.outage(self.writers).await?,
                Trouble::LateHandlers => {
                    for observer in self.observers {
                        observer.add_handler(Bound::Drop(64))?;
                    }
                }
            }
        }
        sleep(plan.duration.saturating_sub(began.elapsed())).await;
        Ok(restarts)
    }
}

/// What goes wrong, and when, in order.
fn troubles(plan: &SoakPlan, restarts: u32, random: &mut Rng) -> Vec<(Duration, Trouble)> {
    let troubles = (0..restarts).map(|_| Trouble::Restart);
    let troubles = troubles.chain((0..plan.storms).map(|_| Trouble::Storm));
    let troubles = troubles.chain([Trouble::Outage, Trouble::LateHandlers]);
    let mut troubles: Vec<_> = troubles
        .map(|trouble| (plan.duration.mul_f64(random.f64()), trouble))
        .collect();
    troubles.sort_by_key(|(moment, _)| *moment);
    troubles
}

impl InformerSummary {
    fn new(name: &str, observed: &Observed) -> Self {
        Self {
            name: name.to_owned(),
            objects: observed.objects,
            events: observed.counts.events,
            watches: observed.counts.watches,
            relists: observed.counts.relists,
            errors: observed.counts.errors,
            notifications: observed.notifications,
        }
    }
}

impl SoakSummary {
    /// How often informers had to fetch everything again, in all.
    pub fn relists(&self) -> u64 {
        self.informers.iter().map(|informer| informer.relists).sum()
    }
}

impl fmt::Display for SoakSummary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{} objects, {} writes, {} restarts, {} of {} connections broken, {:.1?} in all, \
             settled in {:.1?}",
            self.objects,
            self.writes,
            self.restarts,
            self.broken,
            self.connections,
            self.took,
            self.settled,
        )?;
        for informer in &self.informers {
            writeln!(
                formatter,
                "  {:<22} {:>7} objects {:>8} events {:>5} watches {:>4} relists {:>5} errors \
                 {:>9} notifications",
                informer.name,
                informer.objects,
                informer.events,
                informer.watches,
                informer.relists,
                informer.errors,
                informer.notifications,
            )?;
        }
        Ok(())
    }
}
