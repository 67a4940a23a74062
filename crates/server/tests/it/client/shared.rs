//! One HTTP/2 connection that carries many requests.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::http2::{Builder, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use super::Events;
use crate::running::within;

/// Bytes that a server may send of an answer before a reluctant client reads any.
const RELUCTANT_WINDOW_BYTES: u32 = 1_024;

/// A connection that began with HTTP/2's preface, without asking.
pub(crate) struct SharedConnection(pub(crate) SendRequest<Full<Bytes>>);

impl SharedConnection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self::begin(address, &Builder::new(TokioExecutor::new())).await
    }

    /// A connection on which next to nothing is taken before it is read.
    pub(crate) async fn reluctant(address: SocketAddr) -> Self {
        let mut builder = Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(RELUCTANT_WINDOW_BYTES);
        Self::begin(address, &builder).await
    }

    async fn begin(address: SocketAddr, builder: &Builder<TokioExecutor>) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let begun = builder.handshake(TokioIo::new(stream)).await;
        let (sender, connection) = begun.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn get(&mut self, path: &str) -> Response<Incoming> {
        self.send(get(path)).await
    }

    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let response = within(self.0.send_request(request)).await.unwrap();
        assert_eq!(response.version(), http::Version::HTTP_2);
        response
    }

    /// Opens a watch, which must be accepted.
    pub(crate) async fn watch(&mut self, path: &str) -> Events {
        let response = self.get(path).await;
        assert_eq!(response.status(), 200);
        Events::new(response)
    }
}

/// A request for what is at a path.
pub(crate) fn get(path: &str) -> Request<Full<Bytes>> {
    let request = Request::get(format!("http://server{path}"));
    request.body(Full::default()).unwrap()
}
