//! Requests from the same process, answered as those that come over a socket.

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr},
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use listwatch_store::Revision;
use tokio::sync::watch;

use crate::{
    registry::Definition, request::RequestBody, respond::respond, response::Body, server::Server,
    watch_cache::KindCache,
};

/// Who asks, as limits and logs see it.
const SAME_PROCESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A way to a server of the same process, without a socket. Clones lead to the same server, and
/// none of them keeps it alive.
#[derive(Clone)]
pub struct ServerHandle {
    server: Weak<Server>,
}

/// The server has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server has stopped")]
pub struct ServerStopped;

/// The body of an answer; that of a watch ends when the watch does.
pub struct AnswerBody(Body);

impl ServerHandle {
    pub(crate) fn new(server: Weak<Server>) -> Self {
        Self { server }
    }

    /// Answers a request. There is no connection that could be upgraded: watches are streams.
    pub async fn call(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<AnswerBody>, ServerStopped> {
        let server = self.server.upgrade().ok_or(ServerStopped)?;
        let request = request.map(RequestBody::Whole);
        let response = respond(server, SAME_PROCESS, request).await;
        Ok(response.map(AnswerBody))
    }

    /// How each kind is served that is served now, the built-in ones first; none once it has
    /// stopped.
    pub fn definitions(&self) -> Vec<Arc<Definition>> {
        let Some(server) = self.server.upgrade() else {
            return Vec::new();
        };
        let built_in = server.registry.definitions().iter().cloned();
        built_in
            .chain(server.registry.custom().definitions())
            .collect()
    }

    /// Changes whenever other kinds may be served than before, after they are; `None` once the
    /// server has stopped.
    pub fn definitions_served(&self) -> Option<watch::Receiver<Revision>> {
        let server = self.server.upgrade()?;
        Some(server.custom.served())
    }

    /// How a kind is served and its cache, for readers in the same process.
    pub fn kind(
        &self,
        group: &str,
        version: &str,
        resource: &str,
    ) -> Option<(Arc<Definition>, KindCache)> {
        let server = self.server.upgrade()?;
        let definition = server.registry.find(group, version, resource)?;
        let cache = server.cache(&definition).ok()?;
        Some((definition, cache))
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
