//! Lets everything go wrong that is planned, at its time, and puts it right again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use listwatch_etcd::{Client, Compaction, Settings};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use super::{
    fault::{Fault, MEMBERS, PlannedFault, SERVERS},
    ground::Ground,
    line::Passage,
    stage::Stage,
    witness::Record,
};
use crate::history::{Moment, Restart, StopManner};

/// How often servers are looked after that may have ended by themselves.
const TENDING_INTERVAL: Duration = Duration::from_millis(200);

/// How long a compaction is tried: etcd may have no leader for a while.
const COMPACTION_TIMEOUT: Duration = Duration::from_secs(6);

/// What went wrong in a run.
#[derive(Debug, Default)]
pub(super) struct Toll {
    /// How often each kind of fault came about.
    pub(super) faults: BTreeMap<&'static str, usize>,
    /// Faults that could not be brought about, since something else was wrong.
    pub(super) failed: BTreeMap<&'static str, usize>,
    /// What was killed and started again.
    pub(super) restarts: Vec<Restart>,
}

/// What one planned fault does at one time.
enum Event {
    Begin(usize),
    /// In the middle of those that have one.
    Middle(usize),
    End(usize),
}

/// A fault under way, and whom it hit.
struct Struck {
    began: Moment,
    victims: Vec<usize>,
}

pub(super) struct Injector<'a> {
    ground: &'a mut Ground,
    stage: Arc<Stage>,
    compactor: Compactor,
    compactions: JoinSet<(&'static str, bool)>,
    under_way: BTreeMap<usize, Struck>,
    toll: Toll,
}

impl<'a> Injector<'a> {
    pub(super) fn new(
        ground: &'a mut Ground,
        stage: Arc<Stage>,
        record: Arc<Record>,
    ) -> anyhow::Result<Self> {
        let endpoints = ground.etcd_settings();
        let endpoints = endpoints.into_iter().flat_map(|each| each.endpoints);
        let client = Client::new(Settings {
            request_timeout: Duration::from_secs(1),
            ..Settings::new(endpoints)
        })?;
        Ok(Self {
            ground,
            stage,
            compactor: Compactor { client, record },
            compactions: JoinSet::new(),
            under_way: BTreeMap::new(),
            toll: Toll::default(),
        })
    }

    /// Does what is planned. In the end nothing is wrong any more.
    pub(super) async fn run(mut self) -> anyhow::Result<Toll> {
        let faults = self.stage.plan.faults.clone();
        for (offset, event) in events(&faults) {
            self.tend_until(self.stage.moment(offset)).await?;
            match event {
                Event::Begin(number) => self.begin(number, faults[number].fault).await?,
                Event::Middle(number) => self.compact(faults[number].fault),
                Event::End(number) => self.end(number, faults[number].fault).await?,
            }
        }
        let end = self.stage.moment(self.stage.plan.duration);
        self.tend_until(end).await?;
        while let Some(compacted) = self.compactions.join_next().await {
            self.count(compacted?);
        }
        Ok(self.toll)
    }

    async fn tend_until(&mut self, moment: Instant) -> anyhow::Result<()> {
        while Instant::now() < moment {
            self.ground.tend(self.stage.ledger.now())?;
            sleep_until(moment.min(Instant::now() + TENDING_INTERVAL)).await;
        }
        Ok(())
    }

    async fn begin(&mut self, number: usize, fault: Fault) -> anyhow::Result<()> {
        let began = self.stage.ledger.now();
        let Some(victims) = self.victims(fault).await else {
            self.count((fault.kind(), false));
            return Ok(());
        };
        for &victim in &victims {
            self.strike(fault, victim).await?;
        }
        match fault {
            Fault::Compact => self.compact(fault),
            // It counts once etcd has been compacted.
            Fault::CompactBehindServer(..) => {}
            Fault::Defragment(member) => {
                let done = self.ground.defragment(member).await;
                self.count((fault.kind(), done));
            }
            Fault::RestartEverything => {
                self.kill_everything().await?;
                self.count((fault.kind(), true));
            }
            _ => self.count((fault.kind(), true)),
        }
        self.under_way.insert(number, Struck { began, victims });
        Ok(())
    }

    /// Whom a fault hits, each by its number; `None` if nobody leads who was to be hit.
    async fn victims(&mut self, fault: Fault) -> Option<Vec<usize>> {
        match fault {
            Fault::KillMember(member)
            | Fault::PauseMember(member)
            | Fault::IsolateMember(member, _) => Some(vec![member]),
            Fault::KillLeader | Fault::PauseLeader | Fault::IsolateLeader(_) => {
                Some(vec![self.ground.leader().await?])
            }
            Fault::KillMajority(spared) => {
                Some((0..MEMBERS).filter(|member| *member != spared).collect())
            }
            Fault::KillServer(server)
            | Fault::PauseServer(server)
            | Fault::IsolateServer(server, _)
            | Fault::CompactBehindServer(server, _)
            | Fault::CutLine { server, .. } => Some(vec![server]),
            Fault::Compact | Fault::Defragment(_) | Fault::RestartEverything => Some(Vec::new()),
        }
    }

    async fn strike(&mut self, fault: Fault, victim: usize) -> anyhow::Result<()> {
        let ground = &mut self.ground;
        match fault {
            Fault::KillMember(_) | Fault::KillLeader | Fault::KillMajority(_) => {
                ground.kill_member(victim)?;
            }
            Fault::PauseMember(_) | Fault::PauseLeader => ground.pause_member(victim)?,
            Fault::IsolateMember(_, passage) | Fault::IsolateLeader(passage) => {
                ground.set_member(victim, passage);
            }
            Fault::KillServer(_) => ground.server(victim).kill().await?,
            Fault::PauseServer(_) => ground.server(victim).pause().await?,
            Fault::IsolateServer(_, passage) | Fault::CompactBehindServer(_, passage) => {
                ground.set_server(victim, passage);
            }
            Fault::CutLine {
                member, passage, ..
            } => ground.set_line(victim, member, passage),
            Fault::Compact | Fault::Defragment(_) | Fault::RestartEverything => {}
        }
        Ok(())
    }

    async fn end(&mut self, number: usize, fault: Fault) -> anyhow::Result<()> {
        let Some(struck) = self.under_way.remove(&number) else {
            return Ok(());
        };
        for &victim in &struck.victims {
            self.repair(fault, victim).await?;
        }
        if fault == Fault::RestartEverything {
            self.start_everything()?;
        }
        let killed = matches!(
            fault,
            Fault::KillMember(_)
                | Fault::KillLeader
                | Fault::KillMajority(_)
                | Fault::KillServer(_)
                | Fault::RestartEverything
        );
        if killed {
            self.toll.restarts.push(Restart {
                began: struck.began,
                ended: self.stage.ledger.now(),
                manner: StopManner::Abrupt,
            });
        }
        Ok(())
    }

    async fn repair(&mut self, fault: Fault, victim: usize) -> anyhow::Result<()> {
        let ground = &mut self.ground;
        match fault {
            Fault::KillMember(_) | Fault::KillLeader | Fault::KillMajority(_) => {
                ground.start_member(victim)?;
            }
            Fault::PauseMember(_) | Fault::PauseLeader => ground.resume_member(victim)?,
            Fault::IsolateMember(..) | Fault::IsolateLeader(_) => {
                ground.set_member(victim, Passage::Open);
            }
            Fault::KillServer(_) => ground.server(victim).start(self.stage.ledger.now())?,
            Fault::PauseServer(_) => ground.server(victim).resume().await?,
            Fault::IsolateServer(..) | Fault::CompactBehindServer(..) => {
                ground.set_server(victim, Passage::Open);
            }
            Fault::CutLine { member, .. } => ground.set_line(victim, member, Passage::Open),
            Fault::Compact | Fault::Defragment(_) | Fault::RestartEverything => {}
        }
        Ok(())
    }

    async fn kill_everything(&mut self) -> anyhow::Result<()> {
        for member in 0..MEMBERS {
            self.ground.kill_member(member)?;
        }
        for server in 0..SERVERS {
            self.ground.server(server).kill().await?;
        }
        Ok(())
    }

    fn start_everything(&mut self) -> anyhow::Result<()> {
        for member in 0..MEMBERS {
            self.ground.start_member(member)?;
        }
        for server in 0..SERVERS {
            self.ground.server(server).start(self.stage.ledger.now())?;
        }
        Ok(())
    }

    fn compact(&mut self, fault: Fault) {
        let compactor = self.compactor.clone();
        let compact = async move { (fault.kind(), compactor.compact().await) };
        self.compactions.spawn(compact);
    }

    fn count(&mut self, (kind, came_about): (&'static str, bool)) {
        let counts = match came_about {
            true => &mut self.toll.faults,
            false => &mut self.toll.failed,
        };
        *counts.entry(kind).or_default() += 1;
    }
}

fn events(faults: &[PlannedFault]) -> Vec<(Duration, Event)> {
    let mut events = Vec::new();
    for (number, planned) in faults.iter().enumerate() {
        let PlannedFault { begins, ends, .. } = *planned;
        events.push((begins, Event::Begin(number)));
        if let Fault::CompactBehindServer(..) = planned.fault {
            events.push((begins + (ends - begins).mul_f64(0.7), Event::Middle(number)));
        }
        events.push((ends, Event::End(number)));
    }
    events.sort_by_key(|(offset, _)| *offset);
    events
}

/// Makes etcd forget the past, but never what the witness has still to see.
#[derive(Clone)]
struct Compactor {
    client: Client,
    record: Arc<Record>,
}

impl Compactor {
    /// Whether etcd forgot everything before what was its newest revision.
    async fn compact(&self) -> bool {
        let deadline = Instant::now() + COMPACTION_TIMEOUT;
        while Instant::now() < deadline {
            if self.try_compact().await.is_some() {
                return true;
            }
            sleep(Duration::from_millis(100)).await;
        }
        false
    }

    async fn try_compact(&self) -> Option<()> {
        let newest = self.client.revision().await.ok()?;
        let seen = self.record.reach(newest, Duration::from_secs(2)).await;
        let revision = if seen { newest } else { self.record.newest() };
        let done = self.client.compact(revision, Compaction::Done).await;
        done.ok().map(drop)
    }
}
