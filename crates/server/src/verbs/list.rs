//! GET of a collection: one moment of it, whole or page by page.

use std::sync::Arc;

use http::Response;
use listwatch_api::{
    ContinueState, ContinueToken, Freshness, ListOptions, Status,
    selector::{FieldSelector, LabelSelector},
};
use listwatch_store::Revision;

use crate::{
    request::ResourceRequest,
    response::{self, Body, Converted, Format, ListPage},
    server::Server,
    watch_cache::{Area, CacheError, Interest, KindCache, Snapshot},
};

/// Lists what the request selects.
pub(crate) async fn list(
    server: &Arc<Server>,
    request: &ResourceRequest,
) -> Result<Response<Body>, Status> {
    let accept = response::negotiate_list(server, request)?;
    let page = page(server, request, &accept.format).await?;
    accept.list(server, request, page).await
}

/// The page of the collection that the request asks for.
pub(super) async fn page(
    server: &Server,
    request: &ResourceRequest,
    format: &Format,
) -> Result<ListPage, Status> {
    let options = ListOptions::parse(request.query.typed())?;
    let interest = interest(request, options.labels, options.fields)?;
    let cache = server.cache(&request.definition)?;
    let prefix = collection_prefix(request);
    let (snapshot, start) = match &options.continue_from {
        None => {
            refuse_over(server, options.freshness)?;
            (moment(&cache, options.freshness).await?, Vec::new())
        }
        Some(token) => {
            let start = [prefix.as_bytes(), token.start.as_bytes()].concat();
            (continued(server, &cache, token).await?, start)
        }
    };
    server.list_ages.note(snapshot.revision());
    let limit = options
        .limit
        .and_then(|limit| usize::try_from(limit.get()).ok());
    if format.judges_converted(&interest) {
        let objects = Converted {
            conversions: &server.conversions,
            definition: &request.definition,
            judge: cache.judge(&interest),
        };
        let page = ListPage::cut_converted(snapshot, objects, (&prefix, start), limit);
        let page = Box::pin(page).await;
        return page.map_err(|failure| failure.of_list(request.group_resource()));
    }
    Ok(ListPage::cut(snapshot, interest, (&prefix, start), limit))
}

/// What a list or a watch is about.
pub(super) fn interest(
    request: &ResourceRequest,
    labels: LabelSelector,
    fields: FieldSelector,
) -> Result<Interest, Status> {
    for requirement in fields.requirements() {
        request
            .definition
            .field_source(&requirement.field)
            .map_err(Status::bad_request)?;
    }
    let area = match (&request.namespace, &request.name) {
        (None, None) => Area::Everywhere,
        (Some(namespace), None) => Area::Namespace(namespace.as_str().into()),
        (None, Some(name)) => Area::Name(name.as_str().into()),
        (Some(namespace), Some(name)) => {
            Area::NamespaceAndName(namespace.as_str().into(), name.as_str().into())
        }
    };
    Ok(Interest {
        area,
        labels,
        fields,
    })
}

/// The state of a kind that is as fresh as was asked.
pub(super) async fn moment(cache: &KindCache, freshness: Freshness) -> Result<Snapshot, Status> {
    let snapshot = match freshness {
        Freshness::MostRecent => cache.fresh().await,
        Freshness::Any => Ok(cache.latest()),
        Freshness::AtLeast(version) => cache.at_least(Revision::new(version.get())).await,
        Freshness::Exactly(version) => {
            let exact = cache.exactly(Revision::new(version.get())).await;
            return exact.map_err(response::exact_list_failed);
        }
    };
    snapshot.map_err(Status::from)
}

/// The state that an earlier page was cut from, or the present one when the token says so.
async fn continued(
    server: &Server,
    cache: &KindCache,
    token: &ContinueToken,
) -> Result<Snapshot, Status> {
    let ContinueState::At(version) = token.state else {
        return cache.fresh().await.map_err(Status::from);
    };
    let expired = || Status::expired_continue(&token.with_most_recent_state().encode());
    let revision = Revision::new(version.get());
    if server.list_ages.is_over(revision) {
        return Err(expired());
    }
    match cache.exactly(revision).await {
        Err(CacheError::Expired { .. }) => Err(expired()),
        snapshot => snapshot.map_err(Status::from),
    }
}

/// Refuses a list of a moment that is past for too long.
fn refuse_over(server: &Server, freshness: Freshness) -> Result<(), Status> {
    match freshness {
        Freshness::Exactly(version) if server.list_ages.is_over(Revision::new(version.get())) => {
            Err(Status::expired_list())
        }
        _ => Ok(()),
    }
}

/// The beginning of the keys that a continue token counts from.
fn collection_prefix(request: &ResourceRequest) -> String {
    let prefix = &request.definition.storage_prefix;
    match &request.namespace {
        Some(namespace) => format!("{prefix}{namespace}/"),
        None => prefix.to_string(),
    }
}
