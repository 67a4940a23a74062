//! The server as a part of this process, on a real socket and a runtime of its own.

use std::{sync::Arc, time::Duration};

use crate::client::Client;
use anyhow::Context;
use listwatch_server::{RunningServer, Settings};
use listwatch_store::{EmbeddedOptions, EmbeddedStore, MemoryStore, Store};
use tempfile::TempDir;
use tokio::{net::TcpListener, runtime::Runtime};

use crate::{history::StopManner, workload::Circumstances};

/// How long the threads of a stopped server may take to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server in this process.
pub struct InProcess {
    storage: Storage,
    settings: Settings,
    running: Option<Running>,
}

/// What keeps the data while the server is stopped.
#[derive(Clone)]
enum Storage {
    /// A store that outlives the server.
    Memory(Arc<MemoryStore>),
    /// A directory, opened at each start.
    Embedded(Arc<TempDir>, EmbeddedOptions),
}

struct Running {
    server: Option<RunningServer>,
    /// Taken when it is shut down: a runtime must not be dropped where tasks run.
    runtime: Option<Runtime>,
}

impl InProcess {
    /// A server on a store in memory, which outlives it.
    pub fn on_memory(circumstances: &Circumstances) -> Self {
        let store = MemoryStore::with_history(circumstances.memory_history());
        Self {
            storage: Storage::Memory(Arc::new(store)),
            settings: circumstances.settings(),
            running: None,
        }
    }

    /// A server on the embedded store in a directory of its own.
    pub fn on_disk(circumstances: &Circumstances) -> anyhow::Result<Self> {
        let options = circumstances.embedded_options();
        Ok(Self {
            storage: Storage::Embedded(Arc::new(tempfile::tempdir()?), options),
            settings: circumstances.settings(),
            running: None,
        })
    }

    /// The server, while it runs.
    pub fn server(&self) -> Option<&RunningServer> {
        self.running.as_ref()?.server.as_ref()
    }

    pub(super) async fn start(&mut self) -> anyhow::Result<Client> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let storage = self.storage.clone();
        let settings = self.settings.clone();
        let started = runtime.spawn(async move {
            let store = storage.open().await?;
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            anyhow::Ok(RunningServer::start(listener, store, settings).await?)
        });
        let running = self.running.insert(Running {
            server: None,
            runtime: Some(runtime),
        });
        let server = started.await??;
        let address = server.address();
        running.server = Some(server);
        Ok(Client::new(&format!("http://{address}"))?)
    }

    pub(super) async fn stop(&mut self, manner: StopManner) -> anyhow::Result<()> {
        let mut running = self.running.take().context("the server is not running")?;
        let server = running
            .server
            .take()
            .context("the server has not started")?;
        let runtime = running.runtime.take().context("the server has a runtime")?;
        match manner {
            StopManner::Graceful => runtime.spawn(server.shutdown()).await?,
            StopManner::Abrupt => server.abort(),
        }
        tokio::task::spawn_blocking(move || runtime.shutdown_timeout(PATIENCE)).await?;
        Ok(())
    }
}

impl Storage {
    async fn open(self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(match self {
            Self::Memory(store) => store,
            Self::Embedded(directory, options) => {
                Arc::new(EmbeddedStore::open_directory(directory.path(), options).await?)
            }
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
