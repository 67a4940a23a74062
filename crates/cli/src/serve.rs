//! `listwatch serve`: chooses a store, starts the server, waits for the signal to stop.

use std::{io::Write, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use clap::value_parser;
use listwatch_server::{RunningServer, Settings};
use listwatch_store::{EmbeddedOptions, EmbeddedStore, MemoryHistory, MemoryStore, Store};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use crate::{kubeconfig, logging::LogFormat};

/// What `listwatch serve` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address to listen on; port 0 picks a free one and prints it. Loopback only: there is no
    /// TLS and no authentication yet
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// Directory that keeps the data; made if it is not there
    #[arg(
        long,
        value_name = "DIR",
        default_value = "./listwatch-data",
        conflicts_with = "memory"
    )]
    data: PathBuf,

    /// Keep everything in memory and forget it at the end
    #[arg(long)]
    memory: bool,

    /// Write a kubeconfig that points at this server
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Seconds between bookmarks on a watch while nothing happens
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    #[arg(value_parser = value_parser!(u64).range(1..=3600))]
    bookmark_seconds: u64,

    /// Seconds that Event objects live after their last change
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    event_ttl_seconds: u64,

    /// Watches open at one time, in all
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    max_watches: usize,

    /// Watches open at one time from one client address
    #[arg(long, value_name = "COUNT", default_value_t = 50_000)]
    max_watches_per_client: usize,

    /// Bytes of past changes to keep, for watches and pages that go on later. At the bound the
    /// older ones are forgotten, and who asks for them gets 410 Expired. Left out: the store's
    /// own bound
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u32).range(64 * 1024..))]
    history_bytes: Option<u32>,

    /// How log lines look
    #[arg(long, value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
}

/// Serves until SIGTERM or Ctrl-C.
#[tokio::main]
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    refuse_open_network(arguments.listen)?;
    let store = open_store(&arguments).await?;
    let listener = TcpListener::bind(arguments.listen).await.with_context(|| {
        let address = arguments.listen;
        format!("cannot listen on {address}; choose another address with --listen")
    })?;
    let server = RunningServer::start(listener, store, settings(&arguments)).await?;
    announce(&server, &arguments)?;
    stop_signal().await?;
    tracing::info!("shutting down: finishing what is in flight");
    server.shutdown().await;
    Ok(())
}

/// Nothing is open to the network without TLS and authentication.
fn refuse_open_network(address: SocketAddr) -> Result<()> {
    if !address.ip().is_loopback() {
        bail!(
            "refusing to listen on {address}: there is no TLS and no authentication yet, so \
             everybody who can reach it could read and change everything. Listen on 127.0.0.1, \
             or put a proxy that authenticates in front of it"
        );
    }
    Ok(())
}

async fn open_store(arguments: &Arguments) -> Result<Arc<dyn Store>> {
    if arguments.memory {
        return Ok(Arc::new(MemoryStore::with_history(memory_history(
            arguments,
        ))));
    }
    let directory = &arguments.data;
    let store = EmbeddedStore::open_directory(directory, embedded_options(arguments))
        .await
        .with_context(|| format!("cannot open the data directory {}", directory.display()))?;
    Ok(Arc::new(store))
}

fn memory_history(arguments: &Arguments) -> MemoryHistory {
    let mut history = MemoryHistory::default();
    if let Some(bytes) = arguments.history_bytes {
        history.bytes_max = bytes as usize;
    }
    history
}

/// Whole files of the log are forgotten, so little history needs small files.
fn embedded_options(arguments: &Arguments) -> EmbeddedOptions {
    let mut options = EmbeddedOptions::default();
    if let Some(bytes) = arguments.history_bytes {
        options.history_bytes = bytes.into();
        options.segment_bytes = options.segment_bytes.min(bytes / 4);
    }
    options
}

/// Says on standard output where the server listens, for people and for scripts.
fn announce(server: &RunningServer, arguments: &Arguments) -> Result<()> {
    let url = format!("http://{}", server.address());
    if let Some(path) = &arguments.kubeconfig {
        kubeconfig::write(path, &url)?;
    }
    let mut output = std::io::stdout().lock();
    writeln!(output, "listening on {url}")?;
    output.flush()?;
    eprintln!("{}", hint(&url, arguments));
    Ok(())
}

/// What to type next.
fn hint(url: &str, arguments: &Arguments) -> String {
    let kubectl = match &arguments.kubeconfig {
        Some(path) => format!("kubectl --kubeconfig {}", path.display()),
        None if url == "http://127.0.0.1:8080" => "kubectl".to_owned(),
        None => format!("kubectl --server {url}"),
    };
    let kept = if arguments.memory {
        "data: in memory, gone when the server stops".to_owned()
    } else {
        format!("data: {}", arguments.data.display())
    };
    format!(
        "{kept}
try, in another terminal:
  {kubectl} create configmap color --from-literal=is=blue
  {kubectl} get configmaps --watch
stop with Ctrl-C"
    )
}

fn settings(arguments: &Arguments) -> Settings {
    let mut settings = Settings {
        bookmark_interval: Duration::from_secs(arguments.bookmark_seconds),
        event_lifetime: Duration::from_secs(arguments.event_ttl_seconds),
        watches_max: arguments.max_watches,
        watches_per_client_max: arguments.max_watches_per_client,
        ..Settings::default()
    };
    if let Some(bytes) = arguments.history_bytes {
        settings.cache.history_bytes_max = bytes as usize;
    }
    settings
}

/// Waits for SIGTERM or Ctrl-C.
async fn stop_signal() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
