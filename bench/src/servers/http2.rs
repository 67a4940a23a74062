//! HTTP/2 to a server: streams that share a connection.

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::http2::{self, SendRequest},
    header::{ACCEPT, AUTHORIZATION},
};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::{connection::Stream, endpoint::Endpoint};

/// What a server may send before it is told that it was read, as Go's clients have it.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 1 << 30;

/// A connection on which many requests are under way at a time. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Multiplexed {
    sender: SendRequest<Empty<Bytes>>,
    endpoint: Endpoint,
}

impl Multiplexed {
    /// Speaks first.
    pub(crate) async fn begin(stream: Stream, endpoint: &Endpoint) -> Result<Self> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(STREAM_WINDOW);
        builder.initial_connection_window_size(CONNECTION_WINDOW);
        let begun = builder.handshake(TokioIo::new(stream)).await;
        let (sender, connection) = begun.context("the server speaks no HTTP/2")?;
        // Ends when the last of its requests and senders does.
        tokio::spawn(connection);
        Ok(Self {
            sender,
            endpoint: endpoint.clone(),
        })
    }

    /// Asks for a path and waits for the head of the answer.
    pub(crate) async fn get(&self, path: &str) -> Result<Response<Incoming>> {
        let mut request = Request::get(self.endpoint.url(path)).header(ACCEPT, "application/json");
        if let Some(authorization) = self.endpoint.authorization() {
            request = request.header(AUTHORIZATION, authorization);
        }
        let mut sender = self.sender.clone();
        sender.ready().await?;
        Ok(sender.send_request(request.body(Empty::new())?).await?)
    }
}

/// The next bytes of a body; nothing at its end.
pub(crate) async fn next(body: &mut Incoming) -> Result<Option<Bytes>> {
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame?.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}
