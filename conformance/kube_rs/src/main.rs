//! The `kube` crate's watcher, reflector and controller on a server that is restarted and crashed
//! under them.
//!
//! Plain HTTP needs none of that crate's TLS features.

mod follower;
mod garden;
mod gardener;
mod harness;

use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    runtime::watcher,
};
use serde_json::json;
use tokio::time::Instant;

use crate::{follower::Follower, harness::Harness};

const OBJECTS: usize = 1_000;
const PAGE: u32 = 100;
const WORKERS: usize = 8;

#[tokio::main]
async fn main() -> Result<()> {
    let mut harness = Harness::connect()?;
    let begun = Instant::now();
    reflectors_hold_what_a_list_says(&mut harness).await?;
    println!(
        "reflectors hold what a list says, through a restart and a crash ({:.1} s)",
        begun.elapsed().as_secs_f64()
    );
    pages_of_one_list_are_one_state(&harness.client).await?;
    println!("pages of one list are one state");
    let begun = Instant::now();
    garden::a_controller_keeps_what_it_owns(&mut harness).await?;
    println!(
        "a controller keeps what it owns, through a crash ({:.1} s)",
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}

async fn reflectors_hold_what_a_list_says(harness: &mut Harness) -> Result<()> {
    let api: Api<ConfigMap> = Api::default_namespaced(harness.client.clone());
    let listing = watcher::Config::default().page_size(PAGE);
    let streaming = watcher::Config::default().streaming_lists();
    let labelled = watcher::Config::default().labels("parity=odd");
    let followers = [
        Follower::start("list and watch", &api, listing).await?,
        Follower::start("streaming list", &api, streaming.clone()).await?,
        Follower::start("labelled", &api, labelled).await?,
    ];
    in_parallel(0..OBJECTS / 2, |index| create(&api, index)).await?;
    harness.ask("restart").await?;
    in_parallel(OBJECTS / 2..OBJECTS, |index| create(&api, index)).await?;
    harness.ask("crash").await?;
    in_parallel(0..OBJECTS / 10, |index| change(&api, index * 10)).await?;
    in_parallel(0..OBJECTS / 10, |index| remove(&api, index * 10 + 5)).await?;
    for follower in &followers {
        follower.converges(&api).await?;
    }
    // A reflector that begins with all the objects there, in pages and as a stream.
    for (name, config) in [
        ("late list", watcher::Config::default().page_size(PAGE)),
        ("late stream", streaming),
    ] {
        let late = Follower::start(name, &api, config).await?;
        late.converges(&api).await?;
    }
    Ok(())
}

async fn pages_of_one_list_are_one_state(client: &Client) -> Result<()> {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let names = |items: Vec<ConfigMap>| items.into_iter().map(|item| item.name_any());
    let whole: Vec<String> = names(api.list(&ListParams::default()).await?.items).collect();
    let mut found: Vec<String> = Vec::new();
    let mut parameters = ListParams::default().limit(PAGE);
    let mut version = None;
    loop {
        let page = api.list(&parameters).await?;
        let current = page.metadata.resource_version.clone();
        ensure!(
            *version.get_or_insert(current.clone()) == current,
            "a page at another version"
        );
        found.extend(names(page.items));
        create(&api, OBJECTS + found.len()).await?;
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => break,
        }
    }
    ensure!(
        found == whole,
        "{} of {} names in pages",
        found.len(),
        whole.len()
    );
    Ok(())
}

async fn create(api: &Api<ConfigMap>, index: usize) -> Result<()> {
    let parity = if index.is_multiple_of(2) {
        "even"
    } else {
        "odd"
    };
    let object: ConfigMap = serde_json::from_value(json!({
        "metadata": { "name": name(index), "labels": { "parity": parity } },
        "data": { "index": index.to_string() },
    }))?;
    let parameters = PostParams::default();
    harness::persist(|| api.create(&parameters, &object), Some(409)).await
}

async fn change(api: &Api<ConfigMap>, index: usize) -> Result<()> {
    let (target, parameters) = (name(index), PatchParams::default());
    let merge = Patch::Merge(json!({ "data": { "changed": "yes" } }));
    harness::persist(|| api.patch(&target, &parameters, &merge), None).await
}

async fn remove(api: &Api<ConfigMap>, index: usize) -> Result<()> {
    let (target, parameters) = (name(index), DeleteParams::default());
    harness::persist(|| api.delete(&target, &parameters), Some(404)).await
}

async fn in_parallel<Work: Future<Output = Result<()>>>(
    range: std::ops::Range<usize>,
    work: impl Fn(usize) -> Work,
) -> Result<()> {
    stream::iter(range)
        .map(work)
        .buffer_unordered(WORKERS)
        .try_collect()
        .await
}

fn name(index: usize) -> String {
    format!("config-{index:05}")
}
