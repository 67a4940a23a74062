//! The informers of a soak: every way in which one can follow, all at once.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use fastrand::Rng;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Config,
    core::{ApiResource, DynamicObject, PartialObjectMeta},
};
use listwatch::{
    Decoder, DeltaQueue, KubernetesSource, Raw, ReflectorSettings, SharedInformer,
    reflector::{BackoffSettings, Fill},
    source::kubernetes::Transport,
};

use super::{
    door::Door,
    listed::{Choice, Kind},
    observer::{Observer, Watched},
    population::NAMESPACES,
};

/// Makes observers of one server.
pub(super) struct Observatory {
    client: kube::Client,
    silence_max: Option<Duration>,
    random: Rng,
}

/// What an informer follows, and how.
struct Manner {
    name: &'static str,
    kind: Kind,
    choice: Choice,
    fill: Fill,
}

impl Observatory {
    /// Looks at the server over the network that listens there. A watch that is silent for longer
    /// than this is replaced.
    pub(super) fn new(
        address: SocketAddr,
        silence_max: Option<Duration>,
        random: Rng,
    ) -> anyhow::Result<Self> {
        let client = kube::Client::try_from(Config::new(format!("http://{address}").parse()?))?;
        Ok(Self {
            client,
            silence_max,
            random,
        })
    }

    /// Those that are there from the beginning: they see every object being made.
    pub(super) fn first(&mut self) -> anyhow::Result<Vec<Box<dyn Observer>>> {
        let metadata = self.all().metadata_only();
        let namespaces = KubernetesSource::all::<Namespace>(self.client.clone());
        Ok(vec![
            self.follow(
                &Manner::stream("typed", Choice::Everything),
                self.all(),
                Decoder::<ConfigMap>::json(),
            )?,
            self.follow(
                &Manner::stream("metadata", Choice::Everything),
                metadata,
                Decoder::<PartialObjectMeta<ConfigMap>>::json(),
            )?,
            self.follow(
                &Manner::list("front", Choice::Front),
                self.all(),
                Decoder::<ConfigMap>::json(),
            )?,
            self.follow(
                &Manner::list("namespaces", Choice::Everything).of(Kind::Namespaces),
                namespaces,
                Decoder::<Namespace>::json(),
            )?,
        ])
    }

    /// Those that come when everything is there.
    pub(super) fn later(&mut self) -> anyhow::Result<Vec<Box<dyn Observer>>> {
        let resource = ApiResource::erase::<ConfigMap>(&());
        let dynamic = KubernetesSource::dynamic(self.client.clone(), &resource);
        let namespace = NAMESPACES[0];
        let one = KubernetesSource::namespaced::<ConfigMap>(self.client.clone(), namespace);
        let web_socket = self.all().transport(Transport::WebSocket);
        Ok(vec![
            self.follow(
                &Manner::list("paged", Choice::Everything),
                self.all(),
                Decoder::raw(),
            )?,
            self.follow(
                &Manner::stream("dynamic", Choice::Everything),
                dynamic,
                Decoder::<DynamicObject>::json(),
            )?,
            self.follow(
                &Manner::stream("web socket", Choice::Everything),
                web_socket.clone(),
                Decoder::raw(),
            )?,
            self.follow(
                &Manner::list("shown on a web socket", Choice::Shown),
                web_socket,
                Decoder::raw(),
            )?,
            self.follow(
                &Manner::stream("one namespace", Choice::Namespace(namespace)),
                one,
                Decoder::raw(),
            )?,
        ])
    }

    fn all(&self) -> KubernetesSource {
        KubernetesSource::all::<ConfigMap>(self.client.clone())
    }

    /// One that needs no network. It takes only the latest of what waits.
    pub(super) fn through(
        &mut self,
        door: Arc<Door>,
        choice: Choice,
    ) -> anyhow::Result<Box<dyn Observer>> {
        let informer = SharedInformer::builder(door, Decoder::raw())
            .name(format!("in-process {choice:?}"))
            .queue(DeltaQueue::<Raw>::compressing())
            .reflector(self.settings(Fill::Stream))
            .build();
        Ok(Box::new(Watched::start(
            informer,
            Kind::ConfigMaps,
            choice,
        )?))
    }

    fn follow<T: Send + Sync + 'static>(
        &mut self,
        manner: &Manner,
        source: KubernetesSource,
        decoder: Decoder<T>,
    ) -> anyhow::Result<Box<dyn Observer>> {
        let source = match manner.choice.label_selector() {
            Some(selector) => source.labels(selector),
            None => source,
        };
        let informer = SharedInformer::builder(Arc::new(source), decoder)
            .name(manner.name)
            .reflector(self.settings(manner.fill))
            .build();
        let observer = Watched::start(informer, manner.kind, manner.choice)?;
        Ok(Box::new(observer))
    }

    /// Watches and pauses are short: a run is.
    fn settings(&mut self, fill: Fill) -> ReflectorSettings {
        ReflectorSettings {
            fill,
            page_size: (fill == Fill::List).then_some(500),
            watch_timeout_min: Duration::from_secs(5),
            bookmark_deadline: self.silence_max,
            backoff: BackoffSettings {
                first: Duration::from_millis(50),
                cap: Duration::from_secs(2),
                reset_after: Duration::from_secs(5),
                ..BackoffSettings::default()
            },
            random: self.random.fork(),
            ..ReflectorSettings::default()
        }
    }
}

impl Manner {
    fn stream(name: &'static str, choice: Choice) -> Self {
        Self {
            name,
            kind: Kind::ConfigMaps,
            choice,
            fill: Fill::Stream,
        }
    }

    fn list(name: &'static str, choice: Choice) -> Self {
        Self {
            fill: Fill::List,
            ..Self::stream(name, choice)
        }
    }

    fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}
