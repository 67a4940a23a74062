//! Three members of etcd and three servers on loopback, every way between them cuttable.

use std::{path::Path, time::Duration};

use anyhow::Context;
use listwatch_etcd::{
    Settings,
    testing::{Cluster, Program},
};
use tokio::time::{Instant, sleep, timeout};

use super::{
    fault::{MEMBERS, SERVERS},
    line::{Caller, Line, Passage, Taken},
    server::Server,
};
use crate::{
    client::{Client, Collection, ListOptions},
    history::{Answerer, Gap, Moment},
};

/// How long a client waits for an answer before it goes to the next server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);

/// How long servers may take to answer when nothing is wrong.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a member may take to say who leads.
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// How often the ports for etcd are chosen; another program may take one before etcd does.
const STARTS_MAX: usize = 3;

/// All processes, and the ways between them.
pub(super) struct Ground {
    etcd: Cluster,
    /// What the members call themselves.
    member_ids: Vec<u64>,
    /// The ways to each member for the others.
    peers: Vec<Line>,
    servers: Vec<Server>,
}

impl Ground {
    /// Starts everything, and waits until every server answers. Data and logs go into the folder.
    pub(super) async fn start(
        program: &Program,
        binary: &Path,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let (mut etcd, peers) = start_etcd(program, folder).await?;
        let statuses = etcd.client().statuses().await.into_iter();
        let ids = statuses.map(|status| Ok(status?.header.member_id));
        let member_ids = ids.collect::<anyhow::Result<_>>()?;
        let mut servers = Vec::new();
        for number in 0..SERVERS {
            let mut lines = Vec::new();
            for member in etcd.members() {
                let line = Line::start(Taken::ByServer).await?;
                line.leads_to(member.client_address());
                lines.push(line);
            }
            let mut server = Server::new(number, binary, lines, folder)?;
            server.start(Moment(0))?;
            servers.push(server);
        }
        let ground = Self {
            etcd,
            member_ids,
            peers,
            servers,
        };
        ground.all_answer().await?;
        Ok(ground)
    }

    /// A client of each server.
    pub(super) fn clients(&self) -> anyhow::Result<Vec<Client>> {
        let clients = self.servers.iter().map(|server| {
            let client = Client::new(&server.address())?;
            Ok(client.with_answer_timeout(ANSWER_TIMEOUT))
        });
        clients.collect()
    }

    /// How to reach each member of etcd without any line.
    pub(super) fn etcd_settings(&mut self) -> Vec<Settings> {
        let members = self.etcd.members().iter();
        let settings = members.map(|member| Settings {
            connect_timeout: STATUS_TIMEOUT,
            ..Settings::new([member.address()])
        });
        settings.collect()
    }

    /// Waits until every server answers a consistent read.
    pub(super) async fn all_answer(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + READY_TIMEOUT;
        let clients = self.clients()?;
        for (client, server) in clients.iter().zip(&self.servers) {
            let namespaces = Collection::core("namespaces");
            while let Err(error) = client.list(&namespaces, &ListOptions::default()).await {
                let late = Instant::now() > deadline;
                anyhow::ensure!(
                    !late,
                    "a server does not answer: {error}; it wrote:\n{}",
                    server.log_tail()
                );
                sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    /// The member that leads now, as far as any member says.
    pub(super) async fn leader(&mut self) -> Option<usize> {
        for settings in self.etcd_settings() {
            let Ok(client) = listwatch_etcd::Client::new(settings) else {
                continue;
            };
            if let Ok(Ok(status)) = timeout(STATUS_TIMEOUT, client.status()).await
                && let Some(leader) = status.leader
            {
                return self.member_ids.iter().position(|id| *id == leader);
            }
        }
        None
    }

    pub(super) fn kill_member(&mut self, member: usize) -> anyhow::Result<()> {
        Ok(self.etcd.members()[member].kill()?)
    }

    /// Starts a killed member again, without waiting for it.
    pub(super) fn start_member(&mut self, member: usize) -> anyhow::Result<()> {
        Ok(self.etcd.members()[member].spawn()?)
    }

    pub(super) fn pause_member(&mut self, member: usize) -> anyhow::Result<()> {
        Ok(self.etcd.members()[member].pause()?)
    }

    pub(super) fn resume_member(&mut self, member: usize) -> anyhow::Result<()> {
        Ok(self.etcd.members()[member].resume()?)
    }

    pub(super) async fn defragment(&mut self, member: usize) -> bool {
        let member = &self.etcd.members()[member];
        let done = timeout(STATUS_TIMEOUT, member.defragment()).await;
        matches!(done, Ok(Ok(())))
    }

    pub(super) fn server(&mut self, server: usize) -> &mut Server {
        &mut self.servers[server]
    }

    /// The ways between a member and all others.
    pub(super) fn set_member(&mut self, member: usize, passage: Passage) {
        for other in (0..MEMBERS).filter(|other| *other != member) {
            self.peers[other].set(Caller::Member(self.member_ids[member]), passage);
            self.peers[member].set(Caller::Member(self.member_ids[other]), passage);
        }
        for server in &self.servers {
            server.lines[member].set(Caller::Server, passage);
        }
    }

    /// The ways between a server and all members.
    pub(super) fn set_server(&mut self, server: usize, passage: Passage) {
        for line in &self.servers[server].lines {
            line.set(Caller::Server, passage);
        }
    }

    pub(super) fn set_line(&mut self, server: usize, member: usize, passage: Passage) {
        self.servers[server].lines[member].set(Caller::Server, passage);
    }

    /// Starts servers again that have ended by themselves.
    pub(super) fn tend(&mut self, now: Moment) -> anyhow::Result<()> {
        let mut servers = self.servers.iter_mut();
        servers.try_for_each(|server| server.tend(now))
    }

    /// What servers say that they missed of the objects under a prefix.
    pub(super) fn gaps(&self, prefix: &str) -> Vec<Gap> {
        let servers = self.servers.iter().enumerate();
        let gaps =
            servers.flat_map(|(number, server)| server.gaps(Answerer::Server(number), prefix));
        gaps.collect()
    }

    /// How often servers ended though nobody had killed them.
    pub(super) fn exits(&self) -> usize {
        self.servers.iter().map(Server::exits).sum()
    }
}

async fn start_etcd(program: &Program, folder: &Path) -> anyhow::Result<(Cluster, Vec<Line>)> {
    let mut attempt = 1;
    loop {
        let mut peers = Vec::new();
        for _ in 0..MEMBERS {
            peers.push(Line::start(Taken::ByMembers).await?);
        }
        let ports: Vec<u16> = peers.iter().map(|line| line.address().port()).collect();
        let data = folder.join(format!("etcd-{attempt}"));
        let mut etcd = Cluster::behind(program, &data, &ports)?;
        for (line, member) in peers.iter().zip(etcd.members()) {
            line.leads_to(member.peer_address());
        }
        match etcd.begin().await {
            Ok(()) => return Ok((etcd, peers)),
            Err(_) if attempt < STARTS_MAX => attempt += 1,
            Err(error) => return Err(error).context("etcd does not start"),
        }
    }
}
