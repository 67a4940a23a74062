//! A reflector, and the checks on the stream that feeds it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use anyhow::{Result, ensure};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::ListParams,
    runtime::{
        WatchStreamExt, reflector,
        reflector::Store,
        watcher::{self, Event, watcher},
    },
};

use crate::harness;

pub struct Follower {
    name: &'static str,
    labels: Option<String>,
    store: Store<ConfigMap>,
    seen: Arc<Mutex<Seen>>,
}

/// What the stream has shown.
#[derive(Default)]
struct Seen {
    states: usize,
    version: u64,
    problem: Option<String>,
}

impl Follower {
    pub async fn start(
        name: &'static str,
        api: &Api<ConfigMap>,
        config: watcher::Config,
    ) -> Result<Self> {
        let (store, writer) = reflector::store();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let labels = config.label_selector.clone();
        let events = watcher(api.clone(), config)
            .default_backoff()
            .reflect(writer);
        let watching = Arc::clone(&seen);
        tokio::spawn(async move {
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                // An error is a lost connection: the watcher takes it up again by itself.
                if let Ok(event) = event {
                    watching.lock().expect("nobody panics with it").take(&event);
                }
            }
        });
        store.wait_until_ready().await?;
        Ok(Self {
            name,
            labels,
            store,
            seen,
        })
    }

    /// Waits until the store holds what a fresh list gives, and checks how it got there.
    pub async fn converges(&self, api: &Api<ConfigMap>) -> Result<()> {
        let parameters = ListParams {
            label_selector: self.labels.clone(),
            ..ListParams::default()
        };
        let expected = by_name(api.list(&parameters).await?.items);
        let held = || {
            by_name(
                self.store
                    .state()
                    .iter()
                    .map(|object| ConfigMap::clone(object)),
            )
        };
        harness::until(self.name, || held() == expected).await?;
        let seen = self.seen.lock().expect("nobody panics with it");
        ensure!(seen.problem.is_none(), "{}: {:?}", self.name, seen.problem);
        ensure!(
            seen.states == 1,
            "{}: read {} whole states",
            self.name,
            seen.states
        );
        Ok(())
    }
}

impl Seen {
    fn take(&mut self, event: &Event<ConfigMap>) {
        match event {
            Event::Init => self.states += 1,
            Event::InitApply(_) | Event::InitDone => {}
            Event::Apply(object) | Event::Delete(object) => {
                let text = object.resource_version().unwrap_or_default();
                let version = text.parse().unwrap_or(0);
                if version <= self.version {
                    self.problem = Some(format!("{text} came after {}", self.version));
                }
                self.version = version;
            }
        }
    }
}

fn by_name(objects: impl IntoIterator<Item = ConfigMap>) -> BTreeMap<String, ConfigMap> {
    objects
        .into_iter()
        .map(|object| (object.name_any(), object))
        .collect()
}
