//! Real etcd servers for tests and examples: found, started, paused, killed, restarted.

mod certificates;
mod member;
mod program;

use std::{io, path::Path, time::Duration};

use tempfile::TempDir;
use thiserror::Error as ThisError;
use tokio::time::timeout;

use self::{certificates::Transport, member::Peers};
pub use self::{
    member::Member,
    program::{Program, Release},
};
use crate::{Client, Error, Settings, client::Repeat, wire};

/// How long a new or restarted cluster has to answer its first request.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Its question is empty, like that for the status.
const DEFRAGMENT: &str = "/etcdserverpb.Maintenance/Defragment";
/// How often a start is tried; another program may take a port between its choice and its use.
const STARTS_MAX: usize = 5;

/// An etcd cluster on loopback, its data in a folder that goes away with it unless it was given.
#[derive(Debug)]
pub struct Cluster {
    members: Vec<Member>,
    _directory: Option<TempDir>,
}

/// Why etcd did not start.
#[derive(Debug, ThisError)]
pub enum StartError {
    /// The folder, a port or the program could not be had.
    #[error("cannot start etcd: {0}")]
    System(#[from] io::Error),
    /// It ended, or answered nothing.
    #[error("etcd does not answer; it wrote:\n{log}")]
    Silent {
        /// The end of what it wrote.
        log: String,
    },
}

impl Cluster {
    /// Starts one server and waits until it answers.
    pub async fn single(program: &Program) -> Result<Self, StartError> {
        Self::start(program, 1).await
    }

    /// Starts one server that speaks TLS and asks its clients for certificates.
    pub async fn single_with_tls(program: &Program) -> Result<Self, StartError> {
        Self::repeatedly(|| Self::try_start(program, 1, Transport::Tls)).await
    }

    /// Starts a cluster of this many members and waits until all of them answer.
    pub async fn start(program: &Program, count: usize) -> Result<Self, StartError> {
        Self::repeatedly(|| Self::try_start(program, count, Transport::Plain)).await
    }

    async fn repeatedly<F>(start: impl Fn() -> F) -> Result<Self, StartError>
    where
        F: Future<Output = Result<Self, StartError>>,
    {
        let mut attempt = 1;
        loop {
            match start().await {
                Err(StartError::Silent { .. }) if attempt < STARTS_MAX => attempt += 1,
                result => return result,
            }
        }
    }

    async fn try_start(
        program: &Program,
        count: usize,
        transport: Transport,
    ) -> Result<Self, StartError> {
        let directory = tempfile::tempdir()?;
        let peers = Peers::Direct(count);
        let mut cluster = Self {
            members: Member::plan(program, transport, directory.path(), peers)?,
            _directory: Some(directory),
        };
        cluster.begin().await?;
        Ok(cluster)
    }

    /// A cluster that is not started yet, its data and its log in this folder. Its members are
    /// told to reach each other through these ports of loopback, from which connections are to be
    /// passed on to [`Member::peer_address`].
    pub fn behind(program: &Program, directory: &Path, ports: &[u16]) -> Result<Self, StartError> {
        let peers = Peers::Through(ports);
        Ok(Self {
            members: Member::plan(program, Transport::Plain, directory, peers)?,
            _directory: None,
        })
    }

    /// Starts all members and waits until all of them answer.
    pub async fn begin(&mut self) -> Result<(), StartError> {
        for member in &mut self.members {
            member.spawn()?;
        }
        for member in &mut self.members {
            wait_until_it_answers(member).await?;
        }
        Ok(())
    }

    /// A client of all members, with the usual settings.
    pub fn client(&self) -> Client {
        Client::new(self.settings()).expect("addresses of loopback are valid")
    }

    /// The usual settings, with the addresses of all members.
    pub fn settings(&self) -> Settings {
        let addresses = self.members.iter().map(Member::address);
        Settings {
            tls: self.members.first().and_then(Member::client_tls),
            ..Settings::new(addresses)
        }
    }

    /// The members, in the order of [`Cluster::settings`].
    pub fn members(&mut self) -> &mut [Member] {
        &mut self.members
    }

    /// Ends the first member as if by a power cut, and starts it again.
    pub async fn crash_and_restart(&mut self) -> Result<(), StartError> {
        let first = &mut self.members[0];
        first.kill()?;
        first.restart().await
    }
}

impl Member {
    /// Lets it write its database anew without the holes; it answers nothing meanwhile.
    pub async fn defragment(&self) -> Result<(), Error> {
        let client = Client::new(Settings {
            tls: self.client_tls(),
            ..Settings::new([self.address()])
        })?;
        let question = wire::StatusRequest {};
        let answer: Result<wire::HeaderResponse, Error> =
            client.call(DEFRAGMENT, question, Repeat::Harmless).await;
        answer.map(drop)
    }

    /// Starts a killed member again on its old data, and waits until it answers.
    pub async fn restart(&mut self) -> Result<(), StartError> {
        self.spawn()?;
        wait_until_it_answers(self).await
    }
}

async fn wait_until_it_answers(member: &mut Member) -> Result<(), StartError> {
    let settings = Settings {
        tls: member.client_tls(),
        ..Settings::new([member.address()])
    };
    let client = Client::new(settings).expect("addresses of loopback are valid");
    let answers = async {
        while client.revision().await.is_err() {
            if member.has_ended()? {
                return Ok(false);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        io::Result::Ok(true)
    };
    match timeout(START_TIMEOUT, answers).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Err(error)) => Err(error.into()),
        Ok(Ok(false)) | Err(_) => Err(StartError::Silent { log: member.log() }),
    }
}
