//! The server of a soak, and all ways to it: straight, over the network, and within the process.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use fastrand::Rng;
use listwatch_api::selector::LabelSelector;
use listwatch_server::watch_cache::{Area, Interest};
use tokio::{net::lookup_host, sync::watch, time::sleep};

use super::{
    door::Door,
    listed::Choice,
    network::Network,
    population::{Server, Writers},
};
use crate::{
    client::Client,
    history::StopManner,
    target::{Binary, InProcess, Target},
    workload::{CacheSize, Circumstances, Past, StreamLife},
};

/// How long the server is down at most.
const DOWN_MAX: Duration = Duration::from_millis(800);

/// The longest silence of a server that sends a bookmark every second.
const SILENCE_MAX: Duration = Duration::from_secs(4);

/// The server that a soak is about.
#[derive(Clone, Debug)]
pub enum Place {
    /// The `listwatch` command, killed and started again.
    Command(PathBuf),
    /// A server in this process that keeps little of the past, stopped and started again.
    InProcess,
    /// Any server of the Kubernetes API at `http://host:port`, such as a cluster behind
    /// `kubectl proxy`. It is left running.
    Elsewhere(String),
}

/// The server and the ways to it.
pub(super) struct Ground {
    target: Option<Target>,
    client: watch::Sender<Option<Client>>,
    pub(super) network: Network,
    doors: Vec<(Choice, Arc<Door>)>,
    /// How many changes the server keeps, if it can be told.
    past_changes: u32,
}

impl Ground {
    /// Starts the server, or finds it.
    ///
    /// A list of many objects takes long, and what changes meanwhile has to be kept: else who lists
    /// again would have to list again at once.
    pub(super) async fn prepare(
        place: &Place,
        objects: usize,
        random: Rng,
    ) -> anyhow::Result<Self> {
        let past_changes = 200 + u32::try_from(objects / 50)?;
        let circumstances = Circumstances {
            cache: CacheSize::Small,
            past: Past::Changes(past_changes),
            streams: StreamLife::Long,
        };
        let (target, doors) = match place {
            Place::Command(path) => {
                let command = Binary::new(path, &circumstances)?;
                (Some(Target::Binary(command)), Vec::new())
            }
            Place::InProcess => {
                let server = InProcess::on_disk(&circumstances)?;
                (Some(Target::InProcess(server)), doors()?)
            }
            Place::Elsewhere(_) => (None, Vec::new()),
        };
        let mut ground = Self {
            target,
            client: watch::Sender::new(None),
            network: Network::start(random).await?,
            doors,
            past_changes,
        };
        match place {
            Place::Command(_) | Place::InProcess => ground.start().await?,
            Place::Elsewhere(address) => ground.is_up(Client::new(address)?).await?,
        }
        Ok(ground)
    }

    /// A way past the network.
    pub(super) fn client(&self) -> anyhow::Result<Client> {
        let client = self.client.borrow().clone();
        client.context("the server is down")
    }

    /// The way past the network, which changes with each start.
    pub(super) fn server(&self) -> Server {
        self.client.subscribe()
    }

    /// The ways without a network.
    pub(super) fn doors(&self) -> &[(Choice, Arc<Door>)] {
        &self.doors
    }

    /// Whether the server can be stopped.
    pub(super) fn is_ours(&self) -> bool {
        self.target.is_some()
    }

    /// The longest silence of a watch that works; `None` if that is not known.
    pub(super) fn silence_max(&self) -> Option<Duration> {
        self.is_ours().then_some(SILENCE_MAX)
    }

    /// Stops the server, mostly by force, and starts it again.
    pub(super) async fn restart(&mut self, random: &mut Rng) -> anyhow::Result<()> {
        let manner = match random.u8(0..4) {
            0 => StopManner::Graceful,
            _ => StopManner::Abrupt,
        };
        self.is_down()?;
        let target = self.target.as_mut().context("the server is not ours")?;
        target.stop(manner).await?;
        sleep(DOWN_MAX.mul_f64(random.f64())).await;
        self.start().await
    }

    /// Cuts everybody off from the server, writers excepted, for more changes than it keeps.
    pub(super) async fn outage(&mut self, writers: &Writers) -> anyhow::Result<()> {
        self.network.leads_to(None);
        writers
            .acknowledge(2 * u64::from(self.past_changes))
            .await?;
        let address = address(&self.client()?).await?;
        self.network.leads_to(Some(address));
        Ok(())
    }

    /// Stops the server for good.
    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        self.is_down()?;
        match &mut self.target {
            Some(target) => target.stop(StopManner::Graceful).await,
            None => Ok(()),
        }
    }

    async fn start(&mut self) -> anyhow::Result<()> {
        let target = self.target.as_mut().context("the server is not ours")?;
        let client = target.start().await?;
        self.is_up(client).await
    }

    async fn is_up(&mut self, client: Client) -> anyhow::Result<()> {
        self.network.leads_to(Some(address(&client).await?));
        if let Some(Target::InProcess(target)) = &self.target {
            for (_, door) in &self.doors {
                door.leads_to(target.server())?;
            }
        }
        self.client.send_replace(Some(client));
        Ok(())
    }

    fn is_down(&self) -> anyhow::Result<()> {
        self.client.send_replace(None);
        self.network.leads_to(None);
        for (_, door) in &self.doors {
            door.leads_to(None)?;
        }
        Ok(())
    }
}

fn doors() -> anyhow::Result<Vec<(Choice, Arc<Door>)>> {
    [Choice::Everything, Choice::Shown]
        .map(|choice| {
            let mut interest = Interest::everything_in(Area::Everywhere);
            if let Some(selector) = choice.label_selector() {
                interest.labels = LabelSelector::parse(selector)?;
            }
            Ok((choice, Door::new(interest)))
        })
        .into_iter()
        .collect()
}

async fn address(client: &Client) -> anyhow::Result<SocketAddr> {
    let mut found = lookup_host(client.authority()).await?;
    found.next().context("an address without a host")
}
