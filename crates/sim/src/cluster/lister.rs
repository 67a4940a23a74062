//! A client that lists, page by page, and turns to another server when one fails it.

use std::sync::Arc;

use listwatch_api::ResourceVersion;

use super::{
    plan::{Age, KIND, ListerAction, Paging},
    stage::{Route, Stage, Turn},
};
use crate::{
    answers,
    client::{ListOptions, RequestError},
    history::{Freshness, History, List, ListEnd, Origin},
    selection::Selection,
    workload::lister::client_freshness,
};

/// Servers that are asked for one page before the client gives up.
const ATTEMPTS_MAX: usize = 3;

/// Does what is planned for one lister.
pub(super) async fn run(stage: Arc<Stage>, number: usize) -> anyhow::Result<History> {
    let mut route = Route::to(number);
    let mut history = History::default();
    let mut seen = None;
    let steps = stage.plan.listers[number].clone();
    for step in steps {
        if stage.turn(step.at).await == Turn::TooLate {
            continue;
        }
        let mut random = fastrand::Rng::with_seed(step.chance);
        let freshness = freshness(&stage, step.action.age, seen, &mut random);
        let ListerAction {
            selection, paging, ..
        } = step.action;
        let list = list(&stage, &mut route, (&selection, freshness, paging)).await?;
        if let Some(at) = list.at() {
            seen = seen.max(Some(at));
            stage.ledger.heard_of(at, Origin::List, &mut random);
        }
        history.lists.push(list);
    }
    Ok(history)
}

fn freshness(
    stage: &Stage,
    age: Age,
    seen: Option<ResourceVersion>,
    random: &mut fastrand::Rng,
) -> Freshness {
    match age {
        Age::MostRecent => Freshness::MostRecent,
        Age::Any => Freshness::Any,
        Age::NotOlderThanSeen => seen.map_or(Freshness::Any, Freshness::NotOlderThan),
        Age::Exactly => match stage.ledger.some_version(random) {
            Some((version, _)) => Freshness::Exactly(version),
            None => Freshness::MostRecent,
        },
    }
}

/// One list with all its pages.
pub(super) async fn list(
    stage: &Stage,
    route: &mut Route,
    (selection, freshness, paging): (&Selection, Freshness, Paging),
) -> anyhow::Result<List> {
    let mut options = ListOptions {
        label_selector: selection.label_selector(),
        field_selector: selection.field_selector(),
        freshness: client_freshness(freshness),
        limit: match paging {
            Paging::Whole => None,
            Paging::Pages(limit) | Paging::PagesAround(limit) => Some(limit),
        },
        continue_token: None,
    };
    let collection = KIND.collection(selection.namespace.as_deref());
    let mut list = List {
        began: stage.ledger.now(),
        ended: stage.ledger.now(),
        selection: selection.clone(),
        freshness,
        pages: Vec::new(),
        end: ListEnd::Busy,
    };
    let mut attempts = 0;
    while attempts < ATTEMPTS_MAX {
        let (client, answerer) = stage.server(*route);
        match client.list(&collection, &options).await {
            Ok(page) => {
                options.continue_token.clone_from(&page.continue_token);
                list.pages.push(answers::page(page, answerer)?);
                if options.continue_token.is_none() {
                    list.end = ListEnd::Complete;
                    break;
                }
                if let Paging::PagesAround(_) = paging {
                    *route = route.next();
                }
                attempts = 0;
            }
            Err(error) if is_unavailable(&error) => {
                stage.move_on(route);
                attempts += 1;
            }
            Err(error) => {
                list.end = answers::list_end(&error);
                break;
            }
        }
    }
    list.ended = stage.ledger.now();
    if list.end == ListEnd::Complete && freshness == Freshness::MostRecent {
        stage.a_consistent_read_succeeded();
    }
    Ok(list)
}

/// Whether another server may do better: this one is gone, busy, behind, or without etcd.
pub(super) fn is_unavailable(error: &RequestError) -> bool {
    match error {
        RequestError::Unreachable { .. }
        | RequestError::Disconnected { .. }
        | RequestError::TooManyRequests { .. }
        | RequestError::NotYetReached { .. } => true,
        RequestError::ServerFault(status) => matches!(status.http_code(), 503 | 504),
        RequestError::Expired(_)
        | RequestError::Conflict(_)
        | RequestError::AlreadyExists(_)
        | RequestError::NotFound(_)
        | RequestError::Refused(_)
        | RequestError::Unreadable { .. } => false,
    }
}
