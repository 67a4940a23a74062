//! `listwatch serve`: chooses a store, starts the server, waits for the signal to stop.

use std::{future, io::Write, net::SocketAddr, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use anyhow::{Context, Result, anyhow, bail};
use clap::{ValueEnum, value_parser};
use listwatch_controllers::{Choice, Controllers, Settings as ControllerSettings, Standing};
use listwatch_etcd_store::EtcdOptions;
use listwatch_server::{PodAccounts, PortRange, RunningServer, ServiceAddresses, Settings};
use listwatch_store::{EmbeddedOptions, EmbeddedStore, MemoryHistory, MemoryStore, Store};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use crate::{
    copy,
    etcd::{self, EtcdIdentity},
    kubeconfig,
    logging::LogFormat,
};

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

    /// Keep everything in an etcd cluster, which other servers may share: the addresses of its
    /// members
    #[arg(long, value_name = "URL,URL,...", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["memory", "data"])]
    etcd: Vec<String>,

    /// What all keys in etcd begin with
    #[arg(
        long,
        value_name = "PATH",
        default_value = etcd::DEFAULT_PREFIX,
        requires = "etcd"
    )]
    etcd_prefix: String,

    #[command(flatten)]
    etcd_identity: EtcdIdentity,

    /// Seconds of history that etcd keeps at the least, and twice that at the most; 0 leaves
    /// compaction to somebody else. The servers agree who does it
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "etcd")]
    etcd_compaction_seconds: u64,

    /// Write a kubeconfig that points at this server
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Seconds between bookmarks on a watch while nothing happens
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    #[arg(value_parser = value_parser!(u64).range(1..=3600))]
    bookmark_seconds: u64,

    /// Seconds for which a list can be continued, or asked for as it was; by default for as long as
    /// that is remembered. kube-apiserver forgets after 5 to 10 minutes
    #[arg(long, value_name = "SECONDS")]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    list_seconds: Option<u64>,

    /// Seconds that Event objects live after their last change
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    event_ttl_seconds: u64,

    /// Requests that only read and are answered at one time; further ones wait, clients in turn,
    /// for a quarter of their time (15 seconds), and then get 429. Watches have their own bounds
    #[arg(long, value_name = "COUNT", default_value_t = 400)]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    max_requests_inflight: u32,

    /// Requests that may change something and are answered at one time; further ones wait in the
    /// same way. More is faster only while the store is slow and takes many writes at once
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    max_mutating_requests_inflight: u32,

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

    /// Addresses that services get: one range, or one of IPv4 and one of IPv6, the family that
    /// services have by default first
    #[arg(long, value_name = "CIDR[,CIDR]", default_value = "10.0.0.0/16")]
    service_cluster_ip_range: ServiceAddresses,

    /// Ports on nodes that services get
    #[arg(long, value_name = "FIRST-LAST", default_value = "30000-32767")]
    service_node_port_range: PortRange,

    /// What the server does about the service accounts of pods: nothing, names the default one, or
    /// also demands that they exist and gives pods their tokens and secrets
    #[arg(long, value_enum, default_value_t)]
    pod_accounts: PodAccountsChoice,

    /// Controllers to run in this process: names, -names, and * for those that run by default:
    /// namespace (empties deleted namespaces), garbage-collector (deletes what has no owner left),
    /// serviceaccount (gives namespaces their default account), root-ca (and the cluster's root
    /// certificate), storage-protection (lets unused volumes and claims go), disruption (says how
    /// many pods of a budget may go). `*,-root-ca` leaves one out, an empty list all. By choice
    /// also deployment, replicaset, replicationcontroller, statefulset, daemonset, job, cronjob,
    /// endpoint, endpointslice and endpointslicemirroring. Of several servers on one etcd one runs
    /// them
    #[arg(
        long,
        value_name = "NAME,NAME,...",
        default_value = "*",
        allow_hyphen_values = true
    )]
    controllers: Choice,

    /// Pretend that there are so many nodes: pods are placed on them, start, become ready and end,
    /// though nothing is run. Also runs all controllers that have to do with pods
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    #[arg(value_parser = value_parser!(u32).range(..=1000))]
    simulate_nodes: u32,

    /// How log lines look
    #[arg(long, value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
}

/// Serves until SIGTERM or Ctrl-C.
#[tokio::main]
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    refuse_open_network(arguments.listen)?;
    let opened = open_store(&arguments).await?;
    copy::refuse_unfinished(&*opened.store).await?;
    let listener = TcpListener::bind(arguments.listen).await.with_context(|| {
        let address = arguments.listen;
        format!("cannot listen on {address}; choose another address with --listen")
    })?;
    let server = RunningServer::start(listener, opened.store, settings(&arguments)).await?;
    announce(&server, &arguments)?;
    let controllers = Controllers::start(server.handle(), control(&server, &arguments));
    let ended = tokio::select! {
        stopped = stop_signal() => stopped,
        reason = opened.lost => Err(anyhow!(reason)),
    };
    tracing::info!("shutting down: finishing what is in flight");
    controllers.stop().await;
    server.shutdown().await;
    ended
}

/// A store, and what tells when it cannot be used any longer.
struct Opened {
    store: Arc<dyn Store>,
    lost: Pin<Box<dyn Future<Output = String> + Send>>,
}

impl Opened {
    /// A store that stays what it is.
    fn lasting(store: impl Store) -> Self {
        Self {
            store: Arc::new(store),
            lost: Box::pin(future::pending()),
        }
    }
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

async fn open_store(arguments: &Arguments) -> Result<Opened> {
    if arguments.memory {
        let history = memory_history(arguments);
        return Ok(Opened::lasting(MemoryStore::with_history(history)));
    }
    if !arguments.etcd.is_empty() {
        return open_etcd(arguments).await;
    }
    let directory = &arguments.data;
    let store = EmbeddedStore::open_directory(directory, embedded_options(arguments))
        .await
        .with_context(|| format!("cannot open the data directory {}", directory.display()))?;
    Ok(Opened::lasting(store))
}

async fn open_etcd(arguments: &Arguments) -> Result<Opened> {
    let options = EtcdOptions {
        connection: arguments.etcd_identity.settings(&arguments.etcd)?,
        keys: etcd::keys_under(&arguments.etcd_prefix)?,
        compaction: etcd::compaction(arguments.etcd_compaction_seconds),
    };
    let store = Arc::new(etcd::open_patiently(&options).await?);
    let watched = Arc::clone(&store);
    Ok(Opened {
        store,
        lost: Box::pin(async move { watched.lost().await }),
    })
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
    } else if !arguments.etcd.is_empty() {
        let members = arguments.etcd.join(", ");
        format!(
            "data: in etcd at {members}, under {}",
            arguments.etcd_prefix
        )
    } else {
        format!("data: {}", arguments.data.display())
    };
    let pods = match arguments.simulate_nodes {
        0 => {
            "pods: none live here; --simulate-nodes 2 lets them, and deployments and jobs make some"
        }
        _ => "pods: live on simulated nodes, without running anything",
    };
    format!(
        "{kept}
{pods}
try, in another terminal:
  {kubectl} create configmap color --from-literal=is=blue
  {kubectl} get configmaps --watch
stop with Ctrl-C"
    )
}

/// What the server does about the service accounts of pods.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum PodAccountsChoice {
    /// Pods run as whom they name, or as nobody
    None,
    /// Pods that name nobody run as `default`
    #[default]
    Default,
    /// Accounts must exist, and pods get their tokens and secrets, as in Kubernetes
    Mounted,
}

impl From<PodAccountsChoice> for PodAccounts {
    fn from(choice: PodAccountsChoice) -> Self {
        match choice {
            PodAccountsChoice::None => Self::None,
            PodAccountsChoice::Default => Self::Default,
            PodAccountsChoice::Mounted => Self::Mounted,
        }
    }
}

/// Servers on one etcd agree on who runs the controllers.
fn control(server: &RunningServer, arguments: &Arguments) -> ControllerSettings {
    let standing = match arguments.etcd.is_empty() {
        true => Standing::Alone,
        false => Standing::Candidate {
            identity: format!("{}_{}", server.address(), std::process::id()),
        },
    };
    let choice = arguments.controllers.clone();
    ControllerSettings {
        choice: match arguments.simulate_nodes {
            0 => choice,
            _ => choice.with_workloads(),
        },
        standing,
        simulated_nodes: arguments.simulate_nodes,
        ..ControllerSettings::default()
    }
}

/// How much of the past a server on etcd begins with: enough for the watches that come back after
/// a restart, none of which then needs a watch of its own on etcd.
const ETCD_HISTORY_AT_START_REVISIONS: u64 = 10_000;

fn settings(arguments: &Arguments) -> Settings {
    let mut settings = Settings {
        bookmark_interval: Duration::from_secs(arguments.bookmark_seconds),
        event_lifetime: Duration::from_secs(arguments.event_ttl_seconds),
        list_lifetime: arguments.list_seconds.map(Duration::from_secs),
        reads_in_flight_max: arguments.max_requests_inflight as usize,
        writes_in_flight_max: arguments.max_mutating_requests_inflight as usize,
        watches_max: arguments.max_watches,
        watches_per_client_max: arguments.max_watches_per_client,
        service_addresses: arguments.service_cluster_ip_range,
        node_ports: arguments.service_node_port_range,
        pod_accounts: arguments.pod_accounts.into(),
        ..Settings::default()
    };
    if let Some(bytes) = arguments.history_bytes {
        settings.cache.history_bytes_max = bytes as usize;
    }
    if !arguments.etcd.is_empty() {
        settings.cache.history_at_start_revisions = ETCD_HISTORY_AT_START_REVISIONS;
    }
    settings
}

/// Waits for SIGTERM or Ctrl-C.
pub(crate) async fn stop_signal() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
