//! What is asked of the server: the parameters that client-go's reflector sends, and how.

use std::convert::Infallible;

use http::{HeaderValue, Request, Response, header};
use http_body_util::Empty;
use kube::{Client, client::Body};

use super::{Collection, Content, KubernetesSource, failure};
use crate::{
    SourceError,
    lister_watcher::{Freshness, ListOptions, WatchOptions, WatchStart},
};

const JSON: &str = "application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                        application/json";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                             application/json";

/// A list as a request without a body.
pub(super) fn list(collection: &Collection, options: &ListOptions) -> http::request::Builder {
    let accept = match collection.content {
        Content::Whole => JSON,
        Content::Metadata => METADATA_LIST,
    };
    get(collection, list_parameters(options), accept)
}

/// A watch as a request without a body.
pub(super) fn watch(
    collection: &Collection,
    options: &WatchOptions,
) -> Result<http::request::Builder, SourceError> {
    let accept = match collection.content {
        Content::Whole => JSON,
        Content::Metadata => METADATA,
    };
    let request = get(collection, watch_parameters(options)?, accept);
    // Servers compress each flush of a watch on its own, which decoders of one gzip member cut off.
    Ok(request.header(header::ACCEPT_ENCODING, "identity"))
}

type Parameters = Vec<(&'static str, String)>;

fn list_parameters(options: &ListOptions) -> Parameters {
    let mut parameters = Vec::new();
    if let Some(limit) = options.limit {
        parameters.push(("limit", limit.to_string()));
    }
    if let Some(token) = &options.continue_token {
        parameters.push(("continue", token.clone()));
        return parameters;
    }
    match &options.freshness {
        Freshness::MostRecent => {}
        Freshness::Any => parameters.push(("resourceVersion", "0".to_owned())),
        Freshness::NotOlderThan(version) => {
            parameters.push(("resourceVersion", version.to_string()));
            // With a limit, a version alone would mean exactly this version.
            if options.limit.is_some() {
                parameters.push(("resourceVersionMatch", "NotOlderThan".to_owned()));
            }
        }
        Freshness::Exactly(version) => {
            parameters.push(("resourceVersion", version.to_string()));
            parameters.push(("resourceVersionMatch", "Exact".to_owned()));
        }
    }
    parameters
}

fn watch_parameters(options: &WatchOptions) -> Result<Parameters, SourceError> {
    let seconds = options.timeout.as_secs().max(1);
    let mut parameters = vec![
        ("watch", "true".to_owned()),
        ("allowWatchBookmarks", "true".to_owned()),
        ("timeoutSeconds", seconds.to_string()),
    ];
    let freshness = match &options.start {
        WatchStart::After(version) => {
            parameters.push(("resourceVersion", version.to_string()));
            return Ok(parameters);
        }
        WatchStart::InitialEvents(freshness) => freshness,
    };
    parameters.push(("sendInitialEvents", "true".to_owned()));
    parameters.push(("resourceVersionMatch", "NotOlderThan".to_owned()));
    match freshness {
        Freshness::MostRecent => {}
        Freshness::Any => parameters.push(("resourceVersion", "0".to_owned())),
        Freshness::NotOlderThan(version) => {
            parameters.push(("resourceVersion", version.to_string()));
        }
        Freshness::Exactly(_) => {
            return Err(SourceError::Refused {
                code: 400,
                message: "initial events cannot be those of exactly one version".to_owned(),
            });
        }
    }
    Ok(parameters)
}

fn get(
    collection: &Collection,
    parameters: Parameters,
    accept: &'static str,
) -> http::request::Builder {
    let selectors = [
        ("labelSelector", &collection.label_selector),
        ("fieldSelector", &collection.field_selector),
    ];
    let selectors = selectors
        .into_iter()
        .filter_map(|(name, selector)| Some((name, selector.clone()?)));
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters.into_iter().chain(selectors));
    Request::get(format!("{}?{}", collection.path, query.finish()))
        .header(header::ACCEPT, HeaderValue::from_static(accept))
}

/// Sends it; an answer that is no success becomes an error.
pub(super) async fn send(
    source: &KubernetesSource,
    request: http::request::Builder,
) -> Result<Response<Body>, SourceError> {
    let request = request.body(unrepeatable_body().await);
    let request = request.map_err(|error| SourceError::Refused {
        code: 400,
        message: format!("cannot ask for {source}: {error}"),
    })?;
    let response = source.client.send(request).await;
    let response = response.map_err(|error| failure::of_connection(&error))?;
    match response.status().as_u16() {
        101 | 200..300 => Ok(response),
        _ => Err(failure::of_answer(response).await),
    }
}

/// Refuses what is not JSON, such as the page of a proxy.
pub(super) fn check_content_type(response: &Response<Body>) -> Result<(), SourceError> {
    let Some(content_type) = response.headers().get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    match content_type.as_bytes().starts_with(JSON.as_bytes()) {
        true => Ok(()),
        false => Err(SourceError::Unreadable {
            reason: format!("the answer is {content_type:?} and not JSON"),
        }),
    }
}

/// An empty body that cannot be copied.
///
/// kube's client repeats requests that were answered with 429, 503 or 504, for minutes and unseen.
/// Informers have rules of their own for these. It cannot repeat a request that it cannot copy, and
/// only bodies that came through a client are of that sort.
async fn unrepeatable_body() -> Body {
    let client = Client::new(Nothing, "default");
    let response = client.send(Request::new(Body::empty())).await;
    response.map_or_else(|_| Body::empty(), Response::into_body)
}

/// Answers everything with nothing.
struct Nothing;

impl tower_service::Service<Request<Body>> for Nothing {
    type Response = Response<Empty<bytes::Bytes>>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        std::future::ready(Ok(Response::new(Empty::new())))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Version;

    fn query(request: http::request::Builder) -> String {
        let uri = request.uri_ref().unwrap();
        uri.query().unwrap().to_owned()
    }

    fn pods() -> Collection {
        Collection {
            path: "/api/v1/pods".to_owned(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            content: Content::Whole,
        }
    }

    fn listed(freshness: Freshness, limit: Option<u32>, continue_token: Option<&str>) -> String {
        let continue_token = continue_token.map(str::to_owned);
        let options = ListOptions {
            freshness,
            limit,
            continue_token,
        };
        query(list(&pods(), &options))
    }

    fn watched(start: WatchStart) -> Result<String, SourceError> {
        let timeout = Duration::from_millis(300_900);
        let options = WatchOptions { start, timeout };
        watch(&pods(), &options).map(query)
    }

    #[test]
    fn a_list_asks_as_client_go_does() {
        let five = || Version::from(5);
        assert_eq!(listed(Freshness::MostRecent, None, None), "");
        assert_eq!(
            listed(Freshness::Any, Some(500), None),
            "limit=500&resourceVersion=0"
        );
        assert_eq!(
            listed(Freshness::NotOlderThan(five()), None, None),
            "resourceVersion=5"
        );
        assert_eq!(
            listed(Freshness::NotOlderThan(five()), Some(9), None),
            "limit=9&resourceVersion=5&resourceVersionMatch=NotOlderThan"
        );
        assert_eq!(
            listed(Freshness::Exactly(five()), None, None),
            "resourceVersion=5&resourceVersionMatch=Exact"
        );
        assert_eq!(
            listed(Freshness::NotOlderThan(five()), Some(9), Some("a=")),
            "limit=9&continue=a%3D"
        );
    }

    #[test]
    fn a_watch_asks_as_client_go_does() {
        let common = "watch=true&allowWatchBookmarks=true&timeoutSeconds=300";
        let initial = format!("{common}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
        let after = watched(WatchStart::After(5.into())).unwrap();
        assert_eq!(after, format!("{common}&resourceVersion=5"));
        let begin = |freshness| watched(WatchStart::InitialEvents(freshness));
        assert_eq!(begin(Freshness::MostRecent).unwrap(), initial);
        let any = begin(Freshness::Any).unwrap();
        assert_eq!(any, format!("{initial}&resourceVersion=0"));
        let five = begin(Freshness::NotOlderThan(5.into())).unwrap();
        assert_eq!(five, format!("{initial}&resourceVersion=5"));
        assert!(begin(Freshness::Exactly(5.into())).is_err());
    }

    #[test]
    fn selectors_go_with_every_request() {
        let collection = Collection {
            label_selector: Some("a in (b,c)".to_owned()),
            field_selector: Some("metadata.name=x".to_owned()),
            ..pods()
        };
        let options = ListOptions {
            freshness: Freshness::MostRecent,
            limit: None,
            continue_token: None,
        };
        assert_eq!(
            query(list(&collection, &options)),
            "labelSelector=a+in+%28b%2Cc%29&fieldSelector=metadata.name%3Dx"
        );
    }
}
