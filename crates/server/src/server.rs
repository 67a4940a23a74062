//! A server and its life: load, serve, drain.

use std::{net::SocketAddr, sync::Arc};

use listwatch_api::Status;
use listwatch_store::Store;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    access::{InFlight, ListAges, OpenWatches, RequestKind},
    admission::{Interceptors, configures},
    api_services, bootstrap,
    commit::{Committer, Destination, Persistence, object_key},
    custom,
    discovery::LiveDiscovery,
    handle::ServerHandle,
    lifecycle::{Lifecycle, Phase},
    listener,
    metrics::{KindLabels, Metrics},
    openapi::OpenApi,
    policy_status,
    registry::{Definition, Lifetime, Persistence as Kept, Registry, ValueReader, Verb},
    request::ResourceRequest,
    response::KeptMessages,
    service_accounts::ServiceAccounts,
    settings::Settings,
    watch_cache::{KindCache, KindLayout, WatchCaches},
    webhook_client::WebhookClient,
};

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store could not be read, or not be prepared.
    #[error("the store could not be loaded: {0}")]
    Store(String),
    /// The socket has no address.
    #[error("the listening socket is not usable: {0}")]
    Socket(#[from] std::io::Error),
}

/// Everything that answering a request needs.
pub(crate) struct Server {
    pub(crate) settings: Settings,
    pub(crate) registry: Arc<Registry>,
    pub(crate) committer: Committer,
    pub(crate) caches: WatchCaches,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) in_flight: InFlight,
    pub(crate) open_watches: Arc<OpenWatches>,
    pub(crate) list_ages: ListAges,
    pub(crate) metrics: Metrics,
    pub(crate) discovery: LiveDiscovery,
    pub(crate) openapi: OpenApi,
    pub(crate) kept_messages: Arc<KeptMessages>,
    pub(crate) service_accounts: ServiceAccounts,
    pub(crate) custom: Arc<custom::Progress>,
    pub(crate) conversions: Arc<custom::Conversions>,
    pub(crate) webhook_client: WebhookClient,
    pub(crate) interceptors: Interceptors,
}

/// A server that answers requests until it is shut down or dropped.
pub struct RunningServer {
    server: Arc<Server>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl RunningServer {
    /// Loads the store's state and begins to answer on the socket.
    pub async fn start(
        listener: TcpListener,
        store: Arc<dyn Store>,
        settings: Settings,
    ) -> Result<Self, StartError> {
        let address = listener.local_addr()?;
        let registry = Registry::builtin();
        bootstrap::run(&registry, &*store, &settings, address).await?;
        let server = Arc::new(Server::load(registry, store, settings, address).await?);
        server.conversions.serve(&server);
        custom::start(&server).await?;
        api_services::start(&server)?;
        policy_status::start(&server)?;
        server.lifecycle.advance(Phase::Serving);
        let accepting = tokio::spawn(listener::serve(listener, Arc::clone(&server)));
        Ok(Self {
            server,
            address,
            accepting,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A way to ask it from the same process, without a socket.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle::new(Arc::downgrade(&self.server))
    }

    /// Stops taking requests, finishes those in flight, ends every watch with a last bookmark.
    pub async fn shutdown(self) {
        self.server.lifecycle.advance(Phase::Draining);
        if let Err(error) = self.accepting.await {
            tracing::error!("the listener ended badly: {error}");
        }
    }

    /// Stops at once, as a crash would: connections are cut, nothing is finished.
    pub fn abort(self) {
        self.accepting.abort();
    }
}

impl Server {
    async fn load(
        registry: Registry,
        store: Arc<dyn Store>,
        settings: Settings,
        address: SocketAddr,
    ) -> Result<Self, StartError> {
        let registry = Arc::new(registry);
        let caches = WatchCaches::start(
            Arc::clone(&store),
            layouts(&registry),
            settings.cache,
            settings.random.clone(),
        );
        let caches = caches
            .await
            .map_err(|error| StartError::Store(error.to_string()))?;
        Ok(Self {
            discovery: LiveDiscovery::new(Arc::clone(&registry), &address.to_string()),
            service_accounts: ServiceAccounts::new(
                Arc::clone(&store),
                settings.service_account_issuer.clone(),
            ),
            committer: Committer::new(store),
            lifecycle: Lifecycle::default(),
            in_flight: InFlight::new(
                settings.reads_in_flight_max,
                settings.writes_in_flight_max,
                settings.requests_waiting_max,
            ),
            list_ages: ListAges::new(settings.list_lifetime),
            open_watches: OpenWatches::new(settings.watches_max, settings.watches_per_client_max),
            metrics: Metrics::new(),
            openapi: OpenApi::new(Arc::clone(&registry)),
            kept_messages: Arc::default(),
            conversions: Arc::default(),
            webhook_client: WebhookClient::default(),
            interceptors: Interceptors::new(&registry, &caches),
            caches,
            registry,
            custom: Arc::default(),
            settings,
        })
    }

    /// The cache of the kind that a request is about.
    pub(crate) fn cache(&self, definition: &Definition) -> Result<KindCache, Status> {
        self.caches
            .kind(&definition.storage_prefix)
            .ok_or_else(Status::unknown_resource)
    }

    /// Waits until what was written about who is to be asked is known here.
    pub(crate) async fn take_effect(&self, definition: &Definition) -> Result<(), Status> {
        if !configures(definition) {
            return Ok(());
        }
        let fresh = self.cache(definition)?.fresh().await;
        fresh
            .map(drop)
            .map_err(|error| Status::service_unavailable(error.to_string()))
    }

    /// Where the object with this name is written.
    pub(crate) fn destination(
        &self,
        request: &ResourceRequest,
        name: &str,
        persistence: Persistence,
    ) -> Result<Destination, Status> {
        let definition = &request.definition;
        let lifetime = match definition.lifetime {
            Lifetime::Events => Some(self.settings.event_lifetime),
            Lifetime::Unlimited => None,
        };
        let key = object_key(definition, request.namespace.as_deref(), name);
        Ok(Destination {
            key,
            cache: self.cache(definition)?,
            lifetime,
            persistence,
        })
    }

    /// Brings the numbers up to date that are only read when somebody looks.
    pub(crate) fn refresh_gauges(&self) {
        self.metrics.reached(self.caches.revision().get());
        self.metrics.fed(&self.caches.feed());
        for kind in [RequestKind::Read, RequestKind::Write] {
            self.metrics.occupied(kind, self.in_flight.occupancy(kind));
        }
        for definition in self.registry.definitions() {
            if let Some(cache) = self.caches.kind(&definition.storage_prefix) {
                let labels = KindLabels::new(definition);
                self.metrics.count_objects(&labels, cache.latest().len());
                self.metrics
                    .count_unreadable(&labels, cache.unreadable_len());
            }
        }
    }
}

/// One layout for each storage prefix; versions of one kind share it.
fn layouts(registry: &Arc<Registry>) -> Vec<KindLayout> {
    let mut layouts: Vec<KindLayout> = Vec::new();
    // A kind that is listed though none of it is kept, such as component statuses, is empty.
    let listed = registry
        .definitions()
        .iter()
        .filter(|it| it.persistence == Kept::Stored || it.verbs.contains(&Verb::List));
    for definition in listed {
        let known = layouts
            .iter()
            .any(|it| *it.storage_prefix() == *definition.storage_prefix);
        if known {
            continue;
        }
        let prefix = definition.storage_prefix.clone();
        let sharing = registry
            .definitions()
            .iter()
            .filter(|it| it.storage_prefix == prefix);
        let fields = sharing.flat_map(|it| &it.selectable_fields);
        let layout = KindLayout::new(prefix.clone(), definition.scope, fields);
        let reader = ValueReader::new(registry, &prefix);
        let reader = reader.expect("the prefix is that of a kind");
        layouts.push(layout.with_reader(reader));
    }
    layouts
}
