//! Everything that is not a resource: health, version, metrics, discovery, OpenAPI.

mod health;
mod version;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use listwatch_api::{
    Status,
    media_type::{DiscoveryForm, Layout, OpenApiForm},
};

use crate::{
    discovery::{AggregatedVersion, Root},
    request::{Query, RequestBody},
    response::{self, Body},
    server::Server,
};

/// Answers a request for a document.
pub(crate) async fn respond(server: &Arc<Server>, request: Request<RequestBody>) -> Response<Body> {
    let query = Query::parse(request.uri().query());
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return response::status(&Status::method_not_allowed(), request.headers(), &query);
    }
    let path = request.uri().path().trim_end_matches('/');
    let first = path.split('/').nth(1).unwrap_or_default();
    match (first, path) {
        ("healthz" | "livez" | "readyz", _) => health::respond(server, path, &query).await,
        ("openapi", _) => openapi(server, path, &query, request.headers()),
        (_, "/version") => response::json(version::document()),
        (_, "/metrics") => metrics(server),
        (_, "/.well-known/openid-configuration") => token_discovery(server, &request),
        (_, "/openid/v1/jwks") => token_keys(server, request.headers(), &query).await,
        ("" | "api" | "apis", _) => discovery(server, path, request.headers(), &query),
        _ => response::not_found_page(),
    }
}

/// Where the keys are with which the tokens of service accounts are checked.
fn token_discovery<B>(server: &Server, request: &Request<B>) -> Response<Body> {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    let host = host.or(authority).unwrap_or("localhost");
    let keys = format!("http://{host}/openid/v1/jwks");
    response::json(server.service_accounts.discovery(&keys).to_string())
}

/// The keys with which the tokens of service accounts are checked.
async fn token_keys(server: &Server, headers: &HeaderMap, query: &Query) -> Response<Body> {
    match server.service_accounts.public_keys().await {
        Ok(keys) => {
            let mut response = response::json(keys.to_string());
            let content_type = HeaderValue::from_static("application/jwk-set+json");
            response
                .headers_mut()
                .insert(header::CONTENT_TYPE, content_type);
            response
        }
        Err(status) => response::status(&status, headers, query),
    }
}

fn metrics(server: &Server) -> Response<Body> {
    server.refresh_gauges();
    Response::builder()
        .header(
            header::CONTENT_TYPE,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        )
        .body(Body::Whole(server.metrics.render().into()))
        .expect("the parts of this response are valid")
}

/// What is served here, as much or as little as the path asks for.
fn discovery(server: &Server, path: &str, headers: &HeaderMap, query: &Query) -> Response<Body> {
    let (form, layout) = match response::preferences(headers, query).negotiate_discovery() {
        Ok(chosen) => chosen,
        Err(status) => return response::status(&status, headers, query),
    };
    let discovery = server.discovery.current();
    let parts: Vec<&str> = path
        .split('/')
        .skip(1)
        .filter(|part| !part.is_empty())
        .collect();
    let found = match (parts.as_slice(), form) {
        ([], _) => Some(discovery.paths()),
        (["api"], DiscoveryForm::Plain) => Some(discovery.api_versions()),
        (["apis"], DiscoveryForm::Plain) => Some(discovery.group_list()),
        (["api"], form) => Some(discovery.aggregated(Root::Core, aggregated(form))),
        (["apis"], form) => Some(discovery.aggregated(Root::Groups, aggregated(form))),
        (["api", version], _) => discovery.resources("", version),
        (["apis", group], _) => discovery.group(group),
        (["apis", group, version], _) => discovery.resources(group, version),
        _ => None,
    };
    let Some(document) = found else {
        let is_ours = match parts[..] {
            ["api", _] => true,
            ["apis", group, _] => server.registry.has_built_in_group(group),
            _ => false,
        };
        return match is_ours {
            true => response::status(&Status::unknown_resource(), headers, query),
            false => response::not_found_page(),
        };
    };
    let answer = Cacheable {
        body: &document.body,
        content_type: document.content_type,
        etag: (form != DiscoveryForm::Plain && parts.len() == 1).then_some(&*document.etag),
    };
    answer.respond(layout, headers)
}

/// The shapes of everything that is served.
fn openapi(server: &Server, path: &str, query: &Query, headers: &HeaderMap) -> Response<Body> {
    let documents = &server.openapi;
    let found = match path.trim_start_matches("/openapi/") {
        "v2" => match response::preferences(headers, query).negotiate_openapi() {
            Some(OpenApiForm::Json) => Some(documents.everything()),
            Some(OpenApiForm::Protobuf) => Some(documents.everything_in_protobuf()),
            None => return response::bare(StatusCode::NOT_ACCEPTABLE),
        },
        "v3" => Some(documents.index()),
        rest => rest
            .strip_prefix("v3/")
            .and_then(|root| documents.version(root)),
    };
    let Some(document) = found else {
        return response::not_found_page();
    };
    let answer = Cacheable {
        body: &document.body,
        content_type: document.content_type,
        etag: Some(&*document.etag),
    };
    let mut response = answer.respond(Layout::Compact, headers);
    if query
        .first("hash")
        .is_some_and(|hash| document.etag.contains(hash))
    {
        let for_a_year = HeaderValue::from_static("public, immutable, max-age=31536000");
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, for_a_year);
    }
    response
}

fn aggregated(form: DiscoveryForm) -> AggregatedVersion {
    match form {
        DiscoveryForm::AggregatedV2Beta1 => AggregatedVersion::V2Beta1,
        DiscoveryForm::AggregatedV2 | DiscoveryForm::Plain => AggregatedVersion::V2,
    }
}

/// A ready document that a client may have already.
struct Cacheable<'a> {
    body: &'a Bytes,
    content_type: &'static str,
    /// What tells whether it has; `None` for documents that are small.
    etag: Option<&'a str>,
}

impl Cacheable<'_> {
    fn respond(&self, layout: Layout, headers: &HeaderMap) -> Response<Body> {
        let known = headers
            .get(header::IF_NONE_MATCH)
            .map(HeaderValue::as_bytes);
        let has_it = self.etag.is_some_and(|etag| known == Some(etag.as_bytes()));
        let mut response = match (has_it, layout) {
            (true, _) => response::bare(StatusCode::NOT_MODIFIED),
            (false, Layout::Compact) => response::json(self.body.clone()),
            (false, Layout::Indented) => response::json(response::indented(self.body)),
        };
        let headers = response.headers_mut();
        if let Some(etag) = self.etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
            headers.insert(header::ETAG, etag);
            headers.insert(header::VARY, HeaderValue::from_static("Accept"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
        }
        if !has_it {
            headers.insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static(self.content_type),
            );
        }
        response
    }
}
