//! A controller on kube-runtime: every bed has a config map for each of its plants.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context, Result};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, CustomResource, KubeSchema, Resource, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams},
    runtime::{
        Controller,
        controller::Action,
        events::{Event, EventType, Recorder},
        finalizer::{self, Event as Finalizer, finalizer},
        watcher,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use thiserror::Error;
use tokio::{sync::oneshot, task::JoinHandle, time::timeout};

pub const MANAGER: &str = "gardener";
pub const FINALIZER: &str = "kube-rs.example.com/gardener";
/// What nobody plants.
pub const WEED: &str = "weed";
const RETRY_AFTER: Duration = Duration::from_millis(100);

#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "kube-rs.example.com",
    version = "v1",
    kind = "Bed",
    namespaced
)]
#[kube(status = "BedStatus", shortname = "bd")]
#[kube(printcolumn(name = "Plants", type_ = "integer", json_path = ".status.plants"))]
pub struct BedSpec {
    #[schemars(length(max = 8), inner(length(max = 32)))]
    #[x_kube(validation = ("self.all(plant, plant != '')", "a plant has a name"))]
    pub plants: Vec<String>,
}

#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct BedStatus {
    pub plants: i64,
    pub observed_generation: Option<i64>,
}

#[derive(Debug, Error)]
pub enum Trouble {
    #[error("nobody plants a weed")]
    Weed,
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error(transparent)]
    Finalizer(#[from] Box<finalizer::Error<Trouble>>),
}

/// What the controller did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diary {
    pub planted: usize,
    pub refused: usize,
    pub dug_up: Vec<String>,
}

struct Tools {
    client: Client,
    recorder: Recorder,
    diary: Mutex<Diary>,
}

/// The running controller.
pub struct Gardener {
    tools: Arc<Tools>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Gardener {
    pub fn start(client: Client) -> Self {
        let (stop, stopped) = oneshot::channel();
        let tools = Arc::new(Tools {
            recorder: Recorder::new(client.clone(), MANAGER.into()),
            client: client.clone(),
            diary: Mutex::default(),
        });
        let beds: Api<Bed> = Api::all(client.clone());
        let plants: Api<ConfigMap> = Api::all(client);
        let config = watcher::Config::default();
        let stream = Controller::new(beds, config.clone())
            .owns(plants, config)
            .graceful_shutdown_on(async { stopped.await.unwrap_or_default() })
            .run(reconcile, retry, Arc::clone(&tools));
        // Lost connections and failures are told here; the controller tries again by itself.
        let task = tokio::spawn(stream.for_each(|_| futures::future::ready(())));
        Self { tools, stop, task }
    }

    pub fn diary(&self) -> Diary {
        self.tools
            .diary
            .lock()
            .expect("nobody panics with it")
            .clone()
    }

    /// Ends it in good order.
    pub async fn stop(self, patience: Duration) -> Result<Diary> {
        let diary = Arc::clone(&self.tools);
        self.stop
            .send(())
            .ok()
            .context("the controller ended by itself")?;
        timeout(patience, self.task)
            .await
            .context("the controller does not end")??;
        Ok(diary.diary.lock().expect("nobody panics with it").clone())
    }
}

impl Tools {
    fn write(&self, entry: impl FnOnce(&mut Diary)) {
        entry(&mut self.diary.lock().expect("nobody panics with it"));
    }

    async fn tell(&self, bed: &Bed, reason: &str, kind: EventType) -> Result<(), Trouble> {
        let event = Event {
            type_: kind,
            reason: reason.to_owned(),
            note: Some(format!("{reason} with {} plants", bed.spec.plants.len())),
            action: "Gardening".to_owned(),
            secondary: None,
        };
        Ok(self.recorder.publish(&event, &bed.object_ref(&())).await?)
    }
}

async fn reconcile(bed: Arc<Bed>, tools: Arc<Tools>) -> Result<Action, Trouble> {
    let namespace = bed.namespace().unwrap_or_default();
    let beds: Api<Bed> = Api::namespaced(tools.client.clone(), &namespace);
    let done = finalizer(&beds, FINALIZER, bed, |event| async {
        match event {
            Finalizer::Apply(bed) => plant(&bed, &tools).await,
            Finalizer::Cleanup(bed) => dig_up(&bed, &tools).await,
        }
    });
    Ok(done.await.map_err(Box::new)?)
}

fn retry(_bed: Arc<Bed>, _trouble: &Trouble, tools: Arc<Tools>) -> Action {
    tools.write(|diary| diary.refused += 1);
    Action::requeue(RETRY_AFTER)
}

async fn plant(bed: &Bed, tools: &Tools) -> Result<Action, Trouble> {
    if bed.spec.plants.iter().any(|plant| plant == WEED) {
        tools.tell(bed, "Refused", EventType::Warning).await?;
        return Err(Trouble::Weed);
    }
    let namespace = bed.namespace().unwrap_or_default();
    let maps: Api<ConfigMap> = Api::namespaced(tools.client.clone(), &namespace);
    let apply = PatchParams::apply(MANAGER).force();
    for name in &bed.spec.plants {
        let map = map_of(bed, name);
        maps.patch(&map.name_any(), &apply, &Patch::Apply(&map))
            .await?;
    }
    let owned = ListParams::default().labels(&format!("bed={}", bed.name_any()));
    for map in maps.list_metadata(&owned).await? {
        let wanted = bed
            .spec
            .plants
            .iter()
            .any(|plant| map_name(bed, plant) == map.name_any());
        if !wanted {
            maps.delete(&map.name_any(), &DeleteParams::default())
                .await?;
        }
    }
    set_status(bed, tools).await?;
    tools.tell(bed, "Planted", EventType::Normal).await?;
    tools.write(|diary| diary.planted += 1);
    Ok(Action::await_change())
}

async fn set_status(bed: &Bed, tools: &Tools) -> Result<(), Trouble> {
    let namespace = bed.namespace().unwrap_or_default();
    let beds: Api<Bed> = Api::namespaced(tools.client.clone(), &namespace);
    let status = BedStatus {
        plants: bed.spec.plants.len() as i64,
        observed_generation: bed.metadata.generation,
    };
    let patch = Patch::Merge(json!({ "status": status }));
    beds.patch_status(&bed.name_any(), &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

async fn dig_up(bed: &Bed, tools: &Tools) -> Result<Action, Trouble> {
    tools.write(|diary| diary.dug_up.push(bed.name_any()));
    Ok(Action::await_change())
}

fn map_name(bed: &Bed, plant: &str) -> String {
    format!("{}-{plant}", bed.name_any())
}

fn map_of(bed: &Bed, plant: &str) -> ConfigMap {
    let labels = BTreeMap::from([("bed".to_owned(), bed.name_any())]);
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(map_name(bed, plant)),
            labels: Some(labels),
            owner_references: bed.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("plant".to_owned(), plant.to_owned())])),
        ..ConfigMap::default()
    }
}
