//! A client that lists: everything and parts, whole and in pages, new and old.

use std::sync::Arc;

use crate::client::ListOptions;

use super::world::World;
use crate::{
    answers,
    history::{Answerer, Freshness, History, List, ListEnd, Origin},
    selection::Selection,
};

/// Lists until the run is past writing.
pub(super) async fn run(world: Arc<World>, number: usize) -> anyhow::Result<History> {
    let mut random = world.plan.random_of("lister", number);
    let mut history = History::default();
    while world.is_writing() {
        let selection = &world.plan.selections[random.usize(..world.plan.selections.len())];
        let freshness = random_freshness(&world, &mut random);
        let pages = random.bool().then(|| Paging::random(&mut random));
        let list = list(&world, selection, freshness, pages).await?;
        if let Some(at) = list.at() {
            world.ledger.heard_of(at, Origin::List, &mut random);
        }
        if list.end == ListEnd::Busy {
            tokio::time::sleep(answers::BUSY_PAUSE).await;
        }
        history.lists.push(list);
        let pause = random.u64(1..20);
        world.writes_reach(world.writes_so_far() + pause).await;
    }
    Ok(history)
}

/// How a list is cut into pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paging {
    limit: u32,
    pages_max: usize,
}

impl Paging {
    fn random(random: &mut fastrand::Rng) -> Self {
        Self {
            limit: random.u32(1..9),
            pages_max: if random.u8(0..5) == 0 { 2 } else { usize::MAX },
        }
    }
}

/// One list with all its pages.
pub(super) async fn list(
    world: &World,
    selection: &Selection,
    freshness: Freshness,
    paging: Option<Paging>,
) -> anyhow::Result<List> {
    let mut options = ListOptions {
        label_selector: selection.label_selector(),
        field_selector: selection.field_selector(),
        freshness: client_freshness(freshness),
        limit: paging.map(|paging| paging.limit),
        continue_token: None,
    };
    let pages_max = paging.map_or(usize::MAX, |paging| paging.pages_max);
    let collection = world.plan.kind.collection(selection.namespace.as_deref());
    let client = world.client().await;
    let began = world.ledger.now();
    let mut pages = Vec::new();
    let end = loop {
        let page = match client.list(&collection, &options).await {
            Ok(page) => page,
            Err(error) => break answers::list_end(&error),
        };
        options.continue_token.clone_from(&page.continue_token);
        pages.push(answers::page(page, Answerer::default())?);
        if options.continue_token.is_none() {
            break ListEnd::Complete;
        }
        if pages.len() == pages_max {
            break ListEnd::CutShort;
        }
    };
    Ok(List {
        began,
        ended: world.ledger.now(),
        selection: selection.clone(),
        freshness,
        pages,
        end,
    })
}

pub(crate) fn client_freshness(freshness: Freshness) -> crate::client::Freshness {
    match freshness {
        Freshness::MostRecent => crate::client::Freshness::MostRecent,
        Freshness::Any => crate::client::Freshness::Any,
        Freshness::NotOlderThan(version) => crate::client::Freshness::NotOlderThan(version),
        Freshness::Exactly(version) => crate::client::Freshness::Exactly(version),
    }
}

fn random_freshness(world: &World, random: &mut fastrand::Rng) -> Freshness {
    let Some((version, _)) = world.ledger.some_version(random) else {
        return Freshness::MostRecent;
    };
    match random.u8(0..10) {
        0..4 => Freshness::MostRecent,
        4 => Freshness::Any,
        5..7 => Freshness::NotOlderThan(version),
        _ => Freshness::Exactly(version),
    }
}
