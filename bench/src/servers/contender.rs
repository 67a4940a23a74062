//! The servers that are measured: ours on each store, the peer, and those that were given.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use tempfile::TempDir;
use tokio::{
    process::Command,
    time::{Instant, sleep, timeout},
};

use super::{
    endpoint::{Client, Content, Endpoint},
    etcd::Etcd,
    given::Given,
    kube_apiserver,
    program::{self, LOOK, Program},
};
use crate::resources::Resources;

/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a server that answers may take to send the first event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where our server keeps its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    /// In a folder, every write synced: the default.
    Embedded,
    /// Nowhere else.
    Memory,
    /// In an etcd of its own.
    Etcd,
}

/// What can be started, and how.
#[derive(Clone, Debug)]
pub(crate) enum Contender {
    /// `listwatch serve`.
    Ours {
        /// The program.
        program: PathBuf,
        /// Its store.
        store: Store,
        /// The etcd to start for it, if it needs one.
        etcd: Option<PathBuf>,
    },
    /// kube-apiserver on etcd.
    Peer {
        /// The program.
        program: PathBuf,
        /// The etcd to start for it.
        etcd: PathBuf,
    },
    /// A server that is there already.
    Given(Given),
}

/// A server that answers.
pub(crate) struct Running {
    /// How to reach it.
    pub(crate) endpoint: Endpoint,
    /// From the start of the first process to the first event of a watch.
    pub(crate) started_in: Duration,
    given: Resources,
    server: Option<Program>,
    etcd: Option<Etcd>,
    _folder: TempDir,
}

impl Contender {
    /// Starts it on an empty store and waits for the first event of a watch.
    pub(crate) async fn start(&self) -> Result<Running> {
        let folder = tempfile::tempdir()?;
        if let Self::Peer { .. } = self {
            kube_apiserver::prepare(folder.path()).await?;
        }
        let begun = Instant::now();
        let etcd = match self.etcd() {
            Some(file) => Some(Etcd::start(file, folder.path()).await?),
            None => None,
        };
        let (server, endpoint) = self.launch(etcd.as_ref(), &folder)?;
        let given = match self {
            Self::Given(given) => given.resources(),
            Self::Ours { .. } | Self::Peer { .. } => Resources::default(),
        };
        let mut running = Running {
            endpoint,
            started_in: Duration::ZERO,
            given,
            server,
            etcd,
            _folder: folder,
        };
        running.wait(&First::Written).await?;
        running.started_in = begun.elapsed();
        Ok(running)
    }

    /// Whether this one starts and stops it.
    pub(crate) fn is_given(&self) -> bool {
        matches!(self, Self::Given(_))
    }

    /// Whether its objects are there when it is started again.
    pub(crate) fn keeps_objects(&self) -> bool {
        let is_memory = matches!(
            self,
            Self::Ours {
                store: Store::Memory,
                ..
            }
        );
        !is_memory && !self.is_given()
    }

    /// The programs that it is made of.
    pub(crate) fn programs(&self) -> Vec<&Path> {
        match self {
            Self::Ours { program, etcd, .. } => {
                let etcd = etcd.as_deref();
                std::iter::once(program.as_path()).chain(etcd).collect()
            }
            Self::Peer { program, etcd } => vec![program, etcd],
            Self::Given(_) => Vec::new(),
        }
    }

    fn etcd(&self) -> Option<&PathBuf> {
        match self {
            Self::Ours { etcd, .. } => etcd.as_ref(),
            Self::Peer { etcd, .. } => Some(etcd),
            Self::Given(_) => None,
        }
    }

    fn launch(&self, etcd: Option<&Etcd>, folder: &TempDir) -> Result<(Option<Program>, Endpoint)> {
        let etcd = etcd.map_or("", |etcd| &etcd.url);
        match self {
            Self::Given(given) => Ok((None, given.endpoint()?)),
            Self::Peer { program, .. } => {
                let started = kube_apiserver::start(program, etcd, folder.path())?;
                Ok((Some(started.0), started.1))
            }
            Self::Ours { program, store, .. } => {
                let address = program::free_address()?;
                let mut command = Command::new(program);
                command.args(["serve", "--listen", &address]);
                match store {
                    Store::Memory => command.arg("--memory"),
                    Store::Embedded => command.arg("--data").arg(folder.path().join("data")),
                    Store::Etcd => command.args(["--etcd", etcd]),
                };
                let program = Program::start(command, folder.path(), "listwatch")?;
                Ok((Some(program), Endpoint::plain(&address)?))
            }
        }
    }
}

impl Running {
    /// The processes of the server and its store.
    pub(crate) fn resources(&self) -> Resources {
        if self.given.is_known() {
            return self.given.clone();
        }
        let server = self.server.as_ref().and_then(Program::process);
        let etcd = self.etcd.as_ref().and_then(|etcd| etcd.program.process());
        Resources::of(server.into_iter().chain(etcd))
    }

    /// The process of the store, if that is one of its own.
    pub(crate) fn store(&self) -> Resources {
        let etcd = self.etcd.as_ref().and_then(|etcd| etcd.program.process());
        Resources::of(etcd)
    }

    /// Kills the server and its store, starts both again and tells how long it took until a watch
    /// of `path` brought an event.
    pub(crate) async fn restart_all(&mut self, path: &str) -> Result<Duration> {
        let server = self.server.as_mut().context("it was started elsewhere")?;
        server.stop().await?;
        let begun = Instant::now();
        if let Some(etcd) = &mut self.etcd {
            etcd.restart().await?;
        }
        server.restart().await?;
        self.wait(&First::There(path)).await?;
        Ok(begun.elapsed())
    }

    /// Kills the server, starts it again on the same store and waits until it answers.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        let server = self.server.as_mut().context("it was started elsewhere")?;
        server.restart().await?;
        self.wait(&First::Written).await
    }

    /// Stops what was started.
    pub(crate) async fn stop(mut self) -> Result<()> {
        if let Some(server) = &mut self.server {
            server.stop().await?;
        }
        if let Some(etcd) = &mut self.etcd {
            etcd.program.stop().await?;
        }
        Ok(())
    }

    async fn wait(&mut self, first: &First<'_>) -> Result<()> {
        let begun = Instant::now();
        let mut reason = anyhow::anyhow!("there was no time");
        while begun.elapsed() < START_TIMEOUT {
            if let Some(server) = &mut self.server {
                server.check().context("the server does not start")?;
            }
            match timeout(EVENT_TIMEOUT, first.come(&self.endpoint)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => reason = error,
                Err(_) => reason = anyhow::anyhow!("no event comes"),
            }
            sleep(LOOK).await;
        }
        let words = self.server.as_ref().map(Program::last_words);
        bail!(
            "the server does not answer: {reason:#}\n{}",
            words.unwrap_or_default()
        )
    }
}

/// Which event is waited for.
enum First<'path> {
    /// That of a write.
    Written,
    /// That of any object that is there already.
    There(&'path str),
}

impl First<'_> {
    /// Watches, writes if need be, and reads the event.
    async fn come(&self, endpoint: &Endpoint) -> Result<()> {
        const MAPS: &str = "/api/v1/namespaces/default/configmaps";
        let path = match self {
            Self::Written => format!("{MAPS}?watch=1"),
            Self::There(path) => format!("{path}?watch=1&resourceVersion=0"),
        };
        let mut watch = endpoint.connect(Client::Reading).await?;
        let head = watch.begin(&endpoint.get(&path)).await?;
        let status = head.status;
        anyhow::ensure!(status == 200, "a watch was answered with {status}");
        if let Self::Written = self {
            write(endpoint, MAPS).await?;
        }
        let mut body = head.body;
        let mut seen = 0;
        while seen == 0 {
            watch.take(&mut body, |part| seen += part.len()).await?;
        }
        Ok(())
    }
}

async fn write(endpoint: &Endpoint, path: &str) -> Result<()> {
    const BODY: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"first"}}"#;
    let mut request = Vec::new();
    let create = endpoint.request("POST", path, Content::Object(BODY));
    create.fill(0, 0, &mut request);
    let mut connection = endpoint.connect(Client::Reading).await?;
    let answer = connection.send(&request).await?;
    if answer.status != 409 {
        answer.granted()?;
    }
    Ok(())
}
