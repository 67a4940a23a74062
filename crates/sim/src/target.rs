//! The server under test, which can be started, stopped and killed.

mod binary;
mod in_process;

use crate::client::Client;

pub use binary::Binary;
pub(crate) use binary::signal;
pub use in_process::InProcess;

use crate::history::StopManner;

/// A server that keeps its data from one start to the next.
pub enum Target {
    /// A server in this process.
    InProcess(InProcess),
    /// The `listwatch` command as a process of its own.
    Binary(Binary),
}

impl Target {
    /// Starts the server and returns a client of it.
    pub async fn start(&mut self) -> anyhow::Result<Client> {
        match self {
            Self::InProcess(server) => server.start().await,
            Self::Binary(binary) => binary.start().await,
        }
    }

    /// Stops the server.
    pub async fn stop(&mut self, manner: StopManner) -> anyhow::Result<()> {
        match self {
            Self::InProcess(server) => server.stop(manner).await,
            Self::Binary(binary) => binary.stop(manner).await,
        }
    }
}
