//! Hands each request to the server that works, and to the others when it does not.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, Uri, header};
use http_body_util::{BodyExt, combinators::MapErr};
use hyper::body::Body as _;
use kube::{Client, client::Body};
use tokio::time::{Instant, error::Elapsed, timeout};

use super::fault::{self, Fault};
use crate::lister_watcher::BoxFuture;

/// A caller that gives up after this long, or after as long as a read may take, has found its
/// server silent.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(1);

/// One of the servers.
pub(super) struct Server {
    pub(super) address: Uri,
    pub(super) client: Client,
}

type BoxError = Box<dyn Error + Send + Sync>;
type AnswerBody = MapErr<Body, fn(kube::Error) -> BoxError>;

/// The service that kube's client is made of.
#[derive(Clone)]
pub(super) struct Router {
    servers: Arc<Servers>,
}

struct Servers {
    all: Vec<Server>,
    /// The one that is asked first.
    current: AtomicUsize,
    answer_within: Duration,
}

impl Router {
    /// Begins with the first of the servers, of which there is at least one.
    pub(super) fn new(all: Vec<Server>, answer_within: Duration) -> Self {
        let current = AtomicUsize::new(0);
        Self {
            servers: Arc::new(Servers {
                all,
                current,
                answer_within,
            }),
        }
    }
}

impl tower_service::Service<Request<Body>> for Router {
    type Response = Response<AnswerBody>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, Result<Response<AnswerBody>, kube::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let servers = Arc::clone(&self.servers);
        Box::pin(async move {
            let answer = servers.answer(request).await?;
            Ok(answer.map(|body| body.map_err(bare_cause as _)))
        })
    }
}

/// The client around this one says again that a body failed: it gets the cause alone.
fn bare_cause(error: kube::Error) -> BoxError {
    match error {
        kube::Error::Service(cause) => cause,
        error => error.into(),
    }
}

impl Servers {
    /// Asks one server after the other, each once at most.
    async fn answer(&self, mut request: Request<Body>) -> Result<Response<Body>, kube::Error> {
        let mut index = self.current.load(Ordering::Relaxed);
        let mut others = self.all.len() - 1;
        loop {
            let is_read = is_read(&request);
            let again = copy(&request);
            let (outcome, fault) = self.ask(index, request).await;
            let Some(fault) = fault else { return outcome };
            let next = self.leave(index, &fault);
            let may_repeat = is_read || fault.is_before_anything_was_sent();
            match again.filter(|_| may_repeat && others > 0) {
                Some(again) => request = again,
                None => return outcome,
            }
            index = next;
            others -= 1;
        }
    }

    async fn ask(
        &self,
        index: usize,
        request: Request<Body>,
    ) -> (Result<Response<Body>, kube::Error>, Option<Fault>) {
        let is_read = is_read(&request);
        match self.send(index, request).await {
            Ok(Ok(response)) if is_read => {
                let (response, fault) = fault::of_answer_to_read(response).await;
                (Ok(response), fault)
            }
            Ok(Ok(response)) => {
                let fault = fault::of_answer_to_write(&response);
                (Ok(response), fault)
            }
            Ok(Err(error)) => {
                let fault = Fault::of_error(&error);
                (Err(error), fault)
            }
            Err(elapsed) => {
                let waited = self.answer_within;
                let error = kube::Error::Service(elapsed.into());
                (Err(error), Some(Fault::Silent { waited }))
            }
        }
    }

    /// A write is waited for as long as its caller likes: nobody else may be asked for it.
    async fn send(
        &self,
        index: usize,
        request: Request<Body>,
    ) -> Result<Result<Response<Body>, kube::Error>, Elapsed> {
        let is_read = is_read(&request);
        let mut waiting = Waiting {
            servers: self,
            index,
            since: Some(Instant::now()),
        };
        let sending = self.all[index].client.send(request);
        let sent = match is_read {
            true => timeout(self.answer_within, sending).await,
            false => Ok(sending.await),
        };
        waiting.since = None;
        sent
    }

    /// Whoever asks next begins with the next server, unless somebody has seen to that already.
    fn leave(&self, index: usize, fault: &Fault) -> usize {
        let next = (index + 1) % self.all.len();
        let order = Ordering::Relaxed;
        let left = self.current.compare_exchange(index, next, order, order);
        if left.is_ok() && next != index {
            let (from, to) = (&self.all[index].address, &self.all[next].address);
            tracing::warn!(%from, %to, %fault, "going to another server");
            metrics::counter!("listwatch_server_changes_total", "cause" => fault.as_str())
                .increment(1);
        }
        next
    }
}

/// A request that has not been answered. When its caller gives it up after a while, the next
/// request goes elsewhere.
struct Waiting<'a> {
    servers: &'a Servers,
    index: usize,
    since: Option<Instant>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let waited = self.since.map(|since| since.elapsed());
        let limit = GIVEN_UP_AFTER.min(self.servers.answer_within);
        if let Some(waited) = waited.filter(|waited| *waited >= limit) {
            self.servers.leave(self.index, &Fault::Silent { waited });
        }
    }
}

/// Whether nothing happens on the server if it is asked twice. A connection that is taken over for
/// another protocol may carry a command to run in a container; one for a watch does not.
fn is_read(request: &Request<Body>) -> bool {
    let mut parameters = request.uri().query().unwrap_or_default().split('&');
    request.method().is_safe()
        && (!request.headers().contains_key(header::UPGRADE)
            || parameters.any(|parameter| parameter == "watch=true"))
}

/// The same request, unless its body comes from somewhere and can be read only once.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let body = match request.body().is_end_stream() {
        true => Body::empty(),
        false => request.body().try_clone()?,
    };
    let mut copy = Request::new(body);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_for_a_container_is_no_read() {
        let asked = |method: &str, uri: &str, upgrade: Option<&str>| {
            let mut request = Request::builder().method(method).uri(uri);
            if let Some(protocol) = upgrade {
                request = request.header(header::UPGRADE, protocol);
            }
            is_read(&request.body(Body::empty()).unwrap())
        };
        assert!(asked("GET", "/api/v1/pods", None));
        assert!(asked("GET", "/api/v1/pods?watch=true", Some("websocket")));
        assert!(!asked(
            "GET",
            "/api/v1/namespaces/a/pods/b/exec?command=rm",
            Some("websocket")
        ));
        assert!(!asked("DELETE", "/api/v1/pods?watch=true", None));
    }
}
