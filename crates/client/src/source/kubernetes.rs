//! Any Kubernetes API as a source.
//!
//! Kubeconfig, TLS, tokens and exec plugins are those of [`kube::Client`]. What a request asks for
//! and how its answer is read is decided here, to the same effect as in client-go's reflector.

mod failure;
mod list;
mod request;
mod several_servers;
mod watch;
mod web_socket;

use std::{fmt, sync::Arc};

use kube::{Api, Client, Resource, discovery::ApiResource};
use parking_lot::Mutex;

use crate::{
    ListerWatcher, SourceError,
    lister_watcher::{BoxFuture, EventStream, ListOptions, ListStream, WatchOptions},
    wire::LabelPool,
};

pub use self::several_servers::{AddressError, SeveralServers};

/// The objects of one kind in a Kubernetes cluster: all of them, those of one namespace, or those
/// that selectors choose.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::{Node, Pod};
/// # use kube::{Api, Client};
/// # use listwatch::source::kubernetes::KubernetesSource;
/// # async fn run() -> Result<(), kube::Error> {
/// let client = Client::try_default().await?;
/// let nodes = KubernetesSource::all::<Node>(client.clone());
/// let web = KubernetesSource::namespaced::<Pod>(client.clone(), "prod").labels("app=web");
/// let names_only = KubernetesSource::all::<Pod>(client.clone()).metadata_only();
/// let same_as_api = KubernetesSource::from(Api::<Pod>::default_namespaced(client));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct KubernetesSource {
    client: Client,
    collection: Collection,
    transport: Transport,
    /// Shared by all streams of the source, so that a relist shares with what is cached.
    label_pool: Arc<Mutex<LabelPool>>,
}

/// Which objects a source is about. It is displayed as path and query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collection {
    /// `/api/v1/namespaces/default/pods`
    path: String,
    namespace: Option<String>,
    label_selector: Option<String>,
    field_selector: Option<String>,
    content: Content,
}

/// How much of each object is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// All of it.
    Whole,
    /// Its metadata.
    Metadata,
}

/// What carries a watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// The body of an answer that does not end.
    #[default]
    HttpStream,
    /// A WebSocket, for networks whose proxies cut or hold back endless answers.
    WebSocket,
}

impl KubernetesSource {
    /// All objects of a kind, of all namespaces where it has any.
    pub fn all<K: Resource<DynamicType = ()>>(client: Client) -> Self {
        Self::from(Api::<K>::all(client))
    }

    /// The objects of a kind in one namespace.
    pub fn namespaced<K>(client: Client, namespace: &str) -> Self
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Self::from(Api::<K>::namespaced(client, namespace))
    }

    /// All objects of a kind that is known only when the program runs.
    pub fn dynamic(client: Client, resource: &ApiResource) -> Self {
        Self::from(Api::<kube::api::DynamicObject>::all_with(client, resource))
    }

    /// The objects in one namespace of a kind that is known only when the program runs.
    pub fn dynamic_namespaced(client: Client, namespace: &str, resource: &ApiResource) -> Self {
        let api = Api::<kube::api::DynamicObject>::namespaced_with(client, namespace, resource);
        Self::from(api)
    }

    /// Only objects whose labels match, such as `app=web,tier in (front,back)`.
    #[must_use]
    pub fn labels(mut self, selector: impl fmt::Display) -> Self {
        self.collection.label_selector = given(&selector);
        self
    }

    /// Only objects whose fields match, such as `spec.nodeName=node-1`.
    #[must_use]
    pub fn fields(mut self, selector: impl fmt::Display) -> Self {
        self.collection.field_selector = given(&selector);
        self
    }

    /// Of each object only its metadata.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.collection.content = Content::Metadata;
        self
    }

    /// Watches over something else than an HTTP stream.
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// Which objects this is about.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }
}

fn given(selector: &impl fmt::Display) -> Option<String> {
    Some(selector.to_string()).filter(|selector| !selector.is_empty())
}

impl Collection {
    /// The path of the resource, with the namespace if there is one.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The namespace; `None` if it is all of them, or the kind has none.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// What labels have to match.
    pub fn label_selector(&self) -> Option<&str> {
        self.label_selector.as_deref()
    }

    /// What fields have to match.
    pub fn field_selector(&self) -> Option<&str> {
        self.field_selector.as_deref()
    }

    /// How much of each object is asked for.
    pub fn content(&self) -> Content {
        self.content
    }
}

/// What an [`Api`] lists and watches. One of `PartialObjectMeta` asks for metadata only.
impl<K: Resource> From<Api<K>> for KubernetesSource {
    fn from(api: Api<K>) -> Self {
        let content = match K::metadata_api() {
            true => Content::Metadata,
            false => Content::Whole,
        };
        Self {
            collection: Collection {
                path: api.resource_url().to_owned(),
                namespace: api.namespace().map(str::to_owned),
                label_selector: None,
                field_selector: None,
                content,
            },
            client: api.into_client(),
            transport: Transport::default(),
            label_pool: Arc::default(),
        }
    }
}

impl ListerWatcher for KubernetesSource {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async move { list::begin(self, options).await })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async move { watch::begin(self, options).await })
    }
}

impl fmt::Display for Collection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.path)?;
        let selectors = [
            ("labelSelector", &self.label_selector),
            ("fieldSelector", &self.field_selector),
        ];
        let mut separator = '?';
        for (name, selector) in selectors {
            if let Some(selector) = selector {
                write!(formatter, "{separator}{name}={selector}")?;
                separator = '&';
            }
        }
        match self.content {
            Content::Whole => Ok(()),
            Content::Metadata => formatter.write_str(" (metadata only)"),
        }
    }
}

impl fmt::Display for KubernetesSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.collection.fmt(formatter)
    }
}

impl fmt::Debug for KubernetesSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("KubernetesSource");
        fields.field("collection", &self.collection);
        fields.field("transport", &self.transport);
        fields.finish_non_exhaustive()
    }
}
