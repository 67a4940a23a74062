//! What every namespace has: its `default` service account, and the cluster's root certificate.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::{Api, Client, api::PostParams};
use listwatch::{Controller, Decoder, Next, Object, ObjectKey, SharedInformer};
use listwatch_in_process::ServerSource;
use listwatch_server::{
    ServerHandle,
    watch_cache::{Area, Interest},
};
use serde::Deserialize;

use crate::{
    cluster_authority,
    controllers::Stop,
    objects::{exists_already, is_homeless},
};

/// How long to wait before the authority is asked for again.
const AUTHORITY_PAUSE: Duration = Duration::from_secs(1);

const ROOT_CERTIFICATE: &str = "ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";

/// What Kubernetes writes beside the certificate, for those who wonder.
const DESCRIPTION_TEXT: &str = "Contains a CA bundle that can be used to verify the \
     kube-apiserver when using internal endpoints such as the internal service IP or \
     kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes \
     clusters.";

/// What a namespace is given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Provided {
    /// The service account of pods that name none.
    ServiceAccount,
    /// What clients in the cluster verify the server by.
    RootCertificate,
}

/// As much of a namespace as decides whether anything can be put into it.
#[derive(Debug, Default, Deserialize)]
struct Home {
    #[serde(default)]
    status: HomeStatus,
}

#[derive(Debug, Default, Deserialize)]
struct HomeStatus {
    #[serde(default)]
    phase: String,
}

/// What is in a namespace already.
#[derive(Debug, Deserialize)]
struct Present {
    metadata: PresentMetadata,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct PresentMetadata {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

struct Provider {
    client: Client,
    homes: SharedInformer<Home>,
    present: SharedInformer<Present>,
    wanted: Wanted,
}

enum Wanted {
    ServiceAccount,
    RootCertificate(String),
}

impl Provided {
    fn controller_name(self) -> &'static str {
        match self {
            Self::ServiceAccount => "serviceaccount",
            Self::RootCertificate => "root-ca",
        }
    }

    fn resource(self) -> &'static str {
        match self {
            Self::ServiceAccount => "serviceaccounts",
            Self::RootCertificate => "configmaps",
        }
    }

    fn object_name(self) -> &'static str {
        match self {
            Self::ServiceAccount => "default",
            Self::RootCertificate => "kube-root-ca.crt",
        }
    }
}

/// Gives it to every namespace until told to stop.
pub(crate) async fn run(server: ServerHandle, client: Client, provided: Provided, mut stop: Stop) {
    let wanted = tokio::select! {
        biased;
        () = stop.requested() => return,
        wanted = wanted(&client, provided) => wanted,
    };
    let interest = Interest::everything_in(Area::Name(provided.object_name().into()));
    let kind = ("", "v1", provided.resource());
    let homes = ServerSource::all(&server, ("", "v1", "namespaces"));
    let (Ok(homes), Ok(present)) = (homes, ServerSource::new(&server, kind, interest)) else {
        // The built-in kinds are there for as long as the server is.
        return;
    };
    let provider = Arc::new(Provider {
        client,
        homes: SharedInformer::new(Arc::new(homes.without_labels()), Decoder::json()),
        present: SharedInformer::new(Arc::new(present.without_labels()), Decoder::json()),
        wanted,
    });
    let controller = Controller::new(provided.controller_name(), &provider.homes)
        .owns_through(&provider.present, |object: &Object<Present>| {
            object.key.namespace().map(ObjectKey::from)
        })
        .stop_on(async move { stop.requested().await });
    if let Err(error) = controller.run(reconcile, provider).await {
        tracing::error!("{}: {error}", provided.controller_name());
    }
}

async fn wanted(client: &Client, provided: Provided) -> Wanted {
    match provided {
        Provided::ServiceAccount => Wanted::ServiceAccount,
        Provided::RootCertificate => loop {
            match cluster_authority::certificate(client).await {
                Ok(certificate) => return Wanted::RootCertificate(certificate),
                Err(error) => tracing::warn!("no root certificate yet: {error}"),
            }
            tokio::time::sleep(AUTHORITY_PAUSE).await;
        },
    }
}

async fn reconcile(home: ObjectKey, provider: Arc<Provider>) -> kube::Result<Next> {
    let snapshot = provider.homes.cache().snapshot();
    let is_open = snapshot
        .get(home.as_str())
        .is_some_and(|home| home.status.phase == "Active");
    if !is_open {
        return Ok(Next::AwaitChange);
    }
    let result = match &provider.wanted {
        Wanted::ServiceAccount => provider.provide_account(home.name()).await,
        Wanted::RootCertificate(certificate) => {
            provider.provide_certificate(home.name(), certificate).await
        }
    };
    match result {
        Ok(()) => Ok(Next::AwaitChange),
        Err(error) if exists_already(&error) || is_homeless(&error) => Ok(Next::AwaitChange),
        Err(error) => Err(error),
    }
}

impl Provider {
    fn present(&self, namespace: &str, provided: Provided) -> Option<Arc<Object<Present>>> {
        let key = ObjectKey::new(Some(namespace), provided.object_name());
        self.present.cache().snapshot().get(key.as_str()).cloned()
    }

    async fn provide_account(&self, namespace: &str) -> kube::Result<()> {
        if self.present(namespace, Provided::ServiceAccount).is_some() {
            return Ok(());
        }
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let mut account = ServiceAccount::default();
        account.metadata.name = Some(Provided::ServiceAccount.object_name().to_owned());
        accounts
            .create(&PostParams::default(), &account)
            .await
            .map(drop)
    }

    async fn provide_certificate(&self, namespace: &str, certificate: &str) -> kube::Result<()> {
        let data = BTreeMap::from([(ROOT_CERTIFICATE.to_owned(), certificate.to_owned())]);
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let name = Provided::RootCertificate.object_name();
        let parameters = PostParams::default();
        match self.present(namespace, Provided::RootCertificate) {
            Some(present) if present.says(&data) => Ok(()),
            Some(_) => {
                let mut map = maps.get(name).await?;
                map.data = Some(data);
                map.metadata
                    .annotations
                    .get_or_insert_default()
                    .insert(DESCRIPTION.to_owned(), DESCRIPTION_TEXT.to_owned());
                maps.replace(name, &parameters, &map).await.map(drop)
            }
            None => {
                let mut map = ConfigMap {
                    data: Some(data),
                    ..ConfigMap::default()
                };
                map.metadata.name = Some(name.to_owned());
                map.metadata.annotations = Some(BTreeMap::from([(
                    DESCRIPTION.to_owned(),
                    DESCRIPTION_TEXT.to_owned(),
                )]));
                maps.create(&parameters, &map).await.map(drop)
            }
        }
    }
}

impl Present {
    fn says(&self, data: &BTreeMap<String, String>) -> bool {
        let description = self.metadata.annotations.get(DESCRIPTION);
        self.data == *data && description.is_some_and(|text| !text.is_empty())
    }
}
