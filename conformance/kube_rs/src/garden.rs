//! What the controller makes of beds that come, change and go, and of a server that crashes.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result, ensure};
use k8s_openapi::{
    api::{
        core::v1::{ConfigMap, Namespace},
        events::v1::Event,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResourceExt, Resource, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
    runtime::wait::{Condition, await_condition, conditions},
};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::timeout;

use crate::{
    gardener::{Bed, BedSpec, FINALIZER, Gardener, MANAGER, WEED},
    harness::{Harness, until},
};

const PATIENCE: Duration = Duration::from_secs(60);
const NAMESPACE: &str = "garden";

/// All of it, on one server.
pub async fn a_controller_keeps_what_it_owns(harness: &mut Harness) -> Result<()> {
    let garden = Garden::lay_out(&harness.client).await?;
    garden.a_bed_without_sense_is_refused().await?;
    let gardener = Gardener::start(harness.client.clone());
    garden.a_new_bed_is_planted().await?;
    garden.what_is_pulled_out_or_changed_comes_back().await?;
    harness.ask("crash").await?;
    garden.a_change_is_carried_out(&["fern", "rose"]).await?;
    garden
        .a_failure_is_tried_again_until_it_works(&gardener)
        .await?;
    garden.the_owned_go_with_their_owner().await?;
    garden.a_namespace_waits_for_the_controller().await?;
    let seen = gardener.stop(PATIENCE).await?;
    ensure!(seen.dug_up.contains(&"north".to_owned()), "{seen:?}");
    ensure!(seen.dug_up.contains(&"south".to_owned()), "{seen:?}");
    ensure!(seen.planted >= 4 && seen.refused >= 2, "{seen:?}");
    Ok(())
}

struct Garden {
    namespaces: Api<Namespace>,
    beds: Api<Bed>,
    maps: Api<ConfigMap>,
    events: Api<Event>,
}

impl Garden {
    /// Defines the kind, twice, and uses it at once.
    async fn lay_out(client: &Client) -> Result<Self> {
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let apply = PatchParams::apply(MANAGER);
        let definition = Patch::Apply(Bed::crd());
        let first = definitions
            .patch(Bed::crd_name(), &apply, &definition)
            .await?;
        within(
            &definitions,
            Bed::crd_name(),
            conditions::is_crd_established(),
        )
        .await?;
        let again = definitions
            .patch(Bed::crd_name(), &apply, &definition)
            .await?;
        ensure!(
            first.metadata.generation == again.metadata.generation,
            "applied twice, changed twice"
        );
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let namespace = Namespace {
            metadata: named(NAMESPACE),
            ..Namespace::default()
        };
        namespaces
            .create(&PostParams::default(), &namespace)
            .await?;
        Ok(Self {
            namespaces,
            beds: Api::namespaced(client.clone(), NAMESPACE),
            maps: Api::namespaced(client.clone(), NAMESPACE),
            events: Api::namespaced(client.clone(), NAMESPACE),
        })
    }

    async fn a_bed_without_sense_is_refused(&self) -> Result<()> {
        let refused = self
            .beds
            .create(&PostParams::default(), &bed("north", &[""]))
            .await;
        match refused {
            Err(kube::Error::Api(status)) if status.code == 422 => {
                let reason = "a plant has a name";
                ensure!(status.message.contains(reason), "{}", status.message);
                Ok(())
            }
            other => anyhow::bail!("a plant without a name was taken: {other:?}"),
        }
    }

    async fn a_new_bed_is_planted(&self) -> Result<()> {
        self.beds
            .create(&PostParams::default(), &bed("north", &["rose", "lily"]))
            .await?;
        let north = self.planted("north", 2).await?;
        ensure!(
            north.finalizers() == [FINALIZER],
            "{:?}",
            north.finalizers()
        );
        ensure!(self.plants("north").await? == texts(&["lily", "rose"]));
        for map in self.owned("north").await? {
            let owners = map.owner_references();
            ensure!(
                owners.len() == 1 && Some(&owners[0].uid) == north.uid().as_ref(),
                "{owners:?}"
            );
        }
        self.is_told("Planted", "north").await
    }

    async fn what_is_pulled_out_or_changed_comes_back(&self) -> Result<()> {
        let rose = self.maps.get("north-rose").await?.uid();
        self.maps
            .delete("north-rose", &DeleteParams::default())
            .await?;
        within(&self.maps, "north-rose", |map: Option<&ConfigMap>| {
            map.is_some_and(|map| map.uid() != rose)
        })
        .await?;
        let wrong = Patch::Merge(json!({ "data": { "plant": "nettle" } }));
        self.maps
            .patch("north-lily", &PatchParams::default(), &wrong)
            .await?;
        within(&self.maps, "north-lily", |map: Option<&ConfigMap>| {
            map.and_then(plant).as_deref() == Some("lily")
        })
        .await?;
        Ok(())
    }

    async fn a_change_is_carried_out(&self, plants: &[&str]) -> Result<()> {
        let change = Patch::Merge(json!({ "spec": { "plants": plants } }));
        self.beds
            .patch("north", &PatchParams::default(), &change)
            .await?;
        self.planted("north", plants.len() as i64).await?;
        within(&self.maps, "north-lily", |map: Option<&ConfigMap>| {
            map.is_none()
        })
        .await?;
        ensure!(self.plants("north").await? == texts(plants));
        Ok(())
    }

    async fn a_failure_is_tried_again_until_it_works(&self, gardener: &Gardener) -> Result<()> {
        let weed = Patch::Merge(json!({ "spec": { "plants": [WEED] } }));
        self.beds
            .patch("north", &PatchParams::default(), &weed)
            .await?;
        let before = gardener.diary().refused;
        until("the weed is refused again and again", || {
            gardener.diary().refused >= before + 2
        })
        .await?;
        // Told again, an event is counted, not repeated.
        let counted = |event: &Event| {
            event
                .series
                .as_ref()
                .is_some_and(|series| series.count >= 2)
        };
        let refusals = self.told("Refused", "north").await?;
        ensure!(
            refusals.len() == 1 && refusals.iter().all(counted),
            "{refusals:?}"
        );
        ensure!(
            self.plants("north").await? == texts(&["fern", "rose"]),
            "the weed was planted"
        );
        self.a_change_is_carried_out(&["moss"]).await
    }

    async fn the_owned_go_with_their_owner(&self) -> Result<()> {
        let moss = self
            .maps
            .get("north-moss")
            .await?
            .uid()
            .context("it has a uid")?;
        self.beds
            .delete("north", &DeleteParams::background())
            .await?;
        within(&self.maps, "north-moss", conditions::is_deleted(&moss)).await?;
        ensure!(
            self.beds.get_opt("north").await?.is_none(),
            "the owner outlived the owned"
        );
        Ok(())
    }

    async fn a_namespace_waits_for_the_controller(&self) -> Result<()> {
        self.beds
            .create(&PostParams::default(), &bed("south", &["vine"]))
            .await?;
        self.planted("south", 1).await?;
        let namespace = self
            .namespaces
            .get(NAMESPACE)
            .await?
            .uid()
            .context("it has a uid")?;
        self.namespaces
            .delete(NAMESPACE, &DeleteParams::default())
            .await?;
        within(
            &self.namespaces,
            NAMESPACE,
            conditions::is_deleted(&namespace),
        )
        .await?;
        ensure!(self.beds.get_opt("south").await?.is_none());
        Ok(())
    }

    /// The bed, once the controller says that it has done what is asked for.
    async fn planted(&self, name: &str, plants: i64) -> Result<Bed> {
        let done = |bed: Option<&Bed>| {
            bed.is_some_and(|bed| {
                bed.status.as_ref().is_some_and(|status| {
                    status.plants == plants && status.observed_generation == bed.metadata.generation
                })
            })
        };
        within(&self.beds, name, done).await?.context("it is there")
    }

    async fn owned(&self, bed: &str) -> Result<Vec<ConfigMap>> {
        let labels = ListParams::default().labels(&format!("bed={bed}"));
        Ok(self.maps.list(&labels).await?.items)
    }

    async fn plants(&self, bed: &str) -> Result<Vec<String>> {
        Ok(self.owned(bed).await?.iter().filter_map(plant).collect())
    }

    async fn told(&self, reason: &str, bed: &str) -> Result<Vec<Event>> {
        let fields = format!("reason={reason},regarding.name={bed}");
        Ok(self
            .events
            .list(&ListParams::default().fields(&fields))
            .await?
            .items)
    }

    /// Events are published after the status is written.
    async fn is_told(&self, reason: &str, bed: &str) -> Result<()> {
        let named = |event: &Event| event.reporting_controller.as_deref() == Some(MANAGER);
        let told = async {
            while !self.told(reason, bed).await?.iter().any(named) {
                tokio::task::yield_now().await;
            }
            anyhow::Ok(())
        };
        timeout(PATIENCE, told).await.context("no event told")?
    }
}

/// Waits until something holds of one object.
async fn within<Kind>(
    api: &Api<Kind>,
    name: &str,
    holds: impl Condition<Kind>,
) -> Result<Option<Kind>>
where
    Kind: Resource + Clone + std::fmt::Debug + Send + DeserializeOwned + 'static,
{
    let waiting = await_condition(api.clone(), name, holds);
    let found = timeout(PATIENCE, waiting)
        .await
        .with_context(|| format!("in vain for {name}"))?;
    Ok(found?)
}

fn bed(name: &str, plants: &[&str]) -> Bed {
    let spec = BedSpec {
        plants: texts(plants),
    };
    Bed::new(name, spec)
}

fn plant(map: &ConfigMap) -> Option<String> {
    map.data
        .as_ref()
        .and_then(|data: &BTreeMap<String, String>| data.get("plant").cloned())
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}
