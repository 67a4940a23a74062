//! One request, from its head to its answer.

use std::{net::IpAddr, pin::pin, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, Method, Request, Response, header};
use listwatch_api::Status;
use tokio::time::{Instant, timeout_at};

use crate::{
    access::{Flow, Place, Refused, RequestKind},
    custom, documents,
    lifecycle::Phase,
    metrics::RequestLabels,
    registry::Verb,
    request::{Lookup, Path, Query, RequestBody, ResourceRequest, look_up, parse_path, read_body},
    response::{self, Body},
    server::Server,
    verbs,
};

/// How long a request other than a watch may take; a client may ask for less.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Which part of its time a request may wait for a place among those in flight: one in so many.
const QUEUE_SHARE: u32 = 4;

/// What a client hears whose time is over.
const OUT_OF_TIME: &str =
    "request did not complete within requested timeout - context deadline exceeded";

/// The header that names a request, for those who look for it later.
static AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Seconds after which a client may try again that met a server on its way down.
const SHUTDOWN_RETRY_SECONDS: u32 = 5;

/// Answers a request. Never fails: what goes wrong is told to the client as a `Status`.
pub(crate) async fn respond(
    server: Arc<Server>,
    client: IpAddr,
    request: Request<RequestBody>,
) -> Response<Body> {
    let mut response = route(&server, client, request).await;
    let headers = response.headers_mut();
    let audit_id = HeaderValue::try_from(server.settings.random.uuid());
    headers.insert(&AUDIT_ID, audit_id.expect("a UUID is a header value"));
    let private = HeaderValue::from_static("no-cache, private");
    headers.entry(header::CACHE_CONTROL).or_insert(private);
    response
}

async fn route(
    server: &Arc<Server>,
    client: IpAddr,
    request: Request<RequestBody>,
) -> Response<Body> {
    let path = match parse_path(request.uri().path()) {
        Path::Resource(path) => path,
        Path::Other => return documents::respond(server, request).await,
        Path::Malformed => return response::not_found_page(),
    };
    let definition = match look_up(&server.registry, &path) {
        Lookup::Found(definition) => definition,
        Lookup::UnknownGroup => return response::not_found_page(),
        Lookup::UnknownResource => {
            let query = Query::parse(request.uri().query());
            return response::status(&Status::unknown_resource(), request.headers(), &query);
        }
    };
    let query = Query::parse(request.uri().query());
    let (head, body) = request.into_parts();
    let request = ResourceRequest {
        definition,
        namespace: path.namespace,
        name: path.name,
        subresource: path.subresource,
        form: path.form,
        query,
        headers: head.headers,
        client,
    };
    let verb = request.verb(&head.method);
    let labels = RequestLabels::new(&request, verb, &head.method);
    let started = Instant::now();
    let call = Call {
        server,
        request: &request,
        method: head.method,
        started,
    };
    let answered = match verb.filter(|verb| is_served(&request, *verb)) {
        Some(verb) => call.answer(verb, body).await,
        None => Err(Status::method_not_allowed()),
    };
    let mut response = answered
        .unwrap_or_else(|status| response::status(&status, &request.headers, &request.query));
    if let Some(warning) = request.definition.warning() {
        response::warn(&mut response, warning);
    }
    server
        .metrics
        .answered(labels, response.status(), started.elapsed());
    response
}

/// Whether the kind, or the part of it that is named, can do this.
fn is_served(request: &ResourceRequest, verb: Verb) -> bool {
    let definition = &request.definition;
    match &request.subresource {
        None => definition.verbs.contains(&verb),
        Some(name) => definition
            .subresources
            .iter()
            .any(|part| *part.name == **name && part.verbs.contains(&verb)),
    }
}

struct Call<'a> {
    server: &'a Arc<Server>,
    request: &'a ResourceRequest,
    method: Method,
    started: Instant,
}

impl Call<'_> {
    /// Takes a place among the requests in flight, then lets the verb tell its story.
    async fn answer(&self, verb: Verb, body: RequestBody) -> Result<Response<Body>, Status> {
        let Self {
            server, request, ..
        } = self;
        if server.lifecycle.phase() == Phase::Draining {
            return Err(Status::too_many_requests(
                "the server is shutting down",
                SHUTDOWN_RETRY_SECONDS,
            ));
        }
        if verb == Verb::Watch {
            return Box::pin(verbs::watch(server, request)).await;
        }
        let time_limit = self.time_limit(verb)?;
        let Ok(_place) = self.place(time_limit / QUEUE_SHARE).await else {
            return Ok(response::too_many_requests());
        };
        timeout_at(self.started + time_limit, pin!(self.tell(verb, body)))
            .await
            .unwrap_or_else(|_| Err(Status::timeout(OUT_OF_TIME, None)))
    }

    /// A place among the requests in flight, at once or when its turn comes.
    async fn place(&self, patience: Duration) -> Result<Place, Refused> {
        let in_flight = &self.server.in_flight;
        let kind = match self.method {
            Method::GET => RequestKind::Read,
            _ => RequestKind::Write,
        };
        if let Some(place) = in_flight.take(kind) {
            return Ok(place);
        }
        let user_agent = self.request.headers.get(header::USER_AGENT);
        let flow = Flow::new(self.request.client, user_agent);
        let place = in_flight.wait(kind, flow, patience).await;
        place.inspect_err(|refused| self.server.metrics.refused(kind, *refused))
    }

    /// How long the answer may take. Lists have a parameter of their own, which watches share.
    fn time_limit(&self, verb: Verb) -> Result<Duration, Status> {
        let query = self.request.query.typed();
        let seconds = match verb {
            Verb::List => query.integer("timeoutSeconds")?,
            _ => None,
        };
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let wanted = [
            query.timeout()?,
            seconds
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
        ];
        let shortest = wanted.into_iter().flatten().min();
        Ok(shortest.unwrap_or(REQUEST_TIMEOUT).min(REQUEST_TIMEOUT))
    }

    /// One verb, one story.
    async fn tell(&self, verb: Verb, body: RequestBody) -> Result<Response<Body>, Status> {
        match verb {
            _ if verbs::needs_kubelet(self.request) => {
                Box::pin(verbs::without_kubelet(self.server, self.request)).await
            }
            Verb::Get => verbs::get(self.server, self.request).await,
            Verb::List => verbs::list(self.server, self.request).await,
            // Boxed, so that reads do not carry about the room that writes need.
            _ => Box::pin(self.tell_write(verb, body)).await,
        }
    }

    async fn tell_write(&self, verb: Verb, body: RequestBody) -> Result<Response<Body>, Status> {
        let (server, request) = (self.server, self.request);
        let body = read_body(body).await?;
        let answered = match verb {
            Verb::Create => verbs::create(server, request, body).await,
            Verb::Update => verbs::update(server, request, body).await,
            Verb::Patch => verbs::patch(server, request, body).await,
            Verb::Delete => verbs::delete(server, request, body).await,
            Verb::DeleteCollection => verbs::delete_collection(server, request, body).await,
            Verb::Get | Verb::List | Verb::Watch => unreachable!("none of these writes"),
        };
        if answered.is_ok() && custom::is_definition(&request.definition) {
            custom::settle(server).await;
        }
        answered
    }
}
