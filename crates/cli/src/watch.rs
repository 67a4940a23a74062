//! Our informer at the command line: prints each change as it comes.

mod difference;
mod kind;
mod print;

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    sync::Arc,
};

use anyhow::{Context, Result};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use listwatch::{
    Bound, Decoder, HandlerOptions, KubernetesSource, SharedInformer,
    source::kubernetes::{SeveralServers, Transport},
};

use self::{
    kind::{Kind, Scope},
    print::{Colours, Format, Printer},
};

/// Where `listwatch serve` listens unless told otherwise.
const LOCAL_SERVER: &str = "http://127.0.0.1:8080";

/// Events that may wait for a slow terminal. Then the watch waits as well, and none is lost.
const WAITING_EVENTS_MAX: usize = 1024;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to watch: pods, deploy, Deployment, ingresses.networking.k8s.io, …
    resource: String,
    /// The namespace; without it the one of the kubeconfig, or `default`
    #[arg(short, long, conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Every namespace
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Only objects with these labels, such as app=web,tier!=test
    #[arg(short = 'l', long)]
    selector: Option<String>,
    /// Only objects with these fields, such as spec.nodeName=node-1
    #[arg(long)]
    field_selector: Option<String>,
    /// The API to watch, without authentication. Several addresses of one API, separated by
    /// commas, stand in for one another: while one of them answers, nothing is missed
    #[arg(
        short,
        long,
        value_name = "URL,…",
        value_delimiter = ',',
        conflicts_with = "kubeconfig"
    )]
    server: Vec<String>,
    /// How to reach the cluster; without it $KUBECONFIG, ~/.kube/config, the pod's own service
    /// account, or http://127.0.0.1:8080
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// How each event is printed
    #[arg(short, long, value_enum, default_value = "line")]
    output: Format,
    /// How events come: a WebSocket passes some proxies that cut or hold back an HTTP stream
    #[arg(long, value_enum, default_value = "http")]
    transport: TransportChoice,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum TransportChoice {
    Http,
    Websocket,
}

const EXAMPLES: &str = "\
Examples:
  listwatch watch configmaps                      what happens in the default namespace
  listwatch watch pods -A -l app=web -o diff      what changes in the pods of one application
  listwatch watch deploy.apps -n shop -o json | jq .object.status.readyReplicas
  listwatch watch nodes -s http://10.0.0.1:8080,http://10.0.0.2:8080
                                                  goes on at one server when the other dies";

/// Prints events until Ctrl-C.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(watch(arguments))
}

async fn watch(arguments: &Arguments) -> Result<()> {
    let place = arguments.place().await?;
    let kind = kind::find(&place.client, &arguments.resource).await;
    let kind = kind.with_context(|| format!("cannot watch at {}", place.name))?;
    let source = arguments.source(place.client, &kind);
    let informer = SharedInformer::builder(Arc::new(source), Decoder::raw())
        .name(kind.resource.plural)
        .on_error(|error| eprintln!("warning: {error}; trying again"))
        .build();
    let mut events = informer.subscribe(&HandlerOptions {
        bound: Bound::Block(WAITING_EVENTS_MAX),
        ..HandlerOptions::default()
    })?;
    informer.start()?;
    let colours = match io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => Colours::Yes,
        false => Colours::No,
    };
    let mut printer = Printer::new(io::stdout(), arguments.output, colours);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            stopped = tokio::signal::ctrl_c() => return Ok(stopped?),
        };
        let Some(event) = event else { return Ok(()) };
        match printer.print(&event) {
            // Whoever read the output has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            printed => printed?,
        }
    }
}

/// The API that is watched.
struct Place {
    client: Client,
    /// Its addresses, for people.
    name: String,
}

impl Arguments {
    async fn place(&self) -> Result<Place> {
        if self.server.is_empty() {
            let config = self.config().await?;
            let name = config.cluster_url.to_string();
            let client = Client::try_from(config)?;
            return Ok(Place { client, name });
        }
        let client = SeveralServers::new(&self.server)?.client()?;
        let name = self.server.join(", ");
        Ok(Place { client, name })
    }

    async fn config(&self) -> Result<Config> {
        let options = KubeConfigOptions::default();
        if let Some(file) = &self.kubeconfig {
            let kubeconfig = Kubeconfig::read_from(file)?;
            return Ok(Config::from_custom_kubeconfig(kubeconfig, &options).await?);
        }
        match Config::infer().await {
            Ok(config) => Ok(config),
            Err(_) => Ok(Config::new(LOCAL_SERVER.parse()?)),
        }
    }

    fn source(&self, client: Client, kind: &Kind) -> KubernetesSource {
        let resource = &kind.resource;
        let source = match (kind.scope, self.all_namespaces) {
            (Scope::Namespaced, false) => {
                let default = client.default_namespace().to_owned();
                let namespace = self.namespace.as_deref().unwrap_or(&default);
                KubernetesSource::dynamic_namespaced(client, namespace, resource)
            }
            (Scope::Cluster, _) | (Scope::Namespaced, true) => {
                KubernetesSource::dynamic(client, resource)
            }
        };
        let source = match self.transport {
            TransportChoice::Http => source.transport(Transport::HttpStream),
            TransportChoice::Websocket => source.transport(Transport::WebSocket),
        };
        let source = match &self.selector {
            Some(selector) => source.labels(selector),
            None => source,
        };
        match &self.field_selector {
            Some(selector) => source.fields(selector),
            None => source,
        }
    }
}
