//! The client's end of a WebSocket.

use std::net::SocketAddr;

use futures_util::StreamExt;
use http::{Request, request::Builder};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{
        Error, Message,
        handshake::client::{Response, generate_key},
        protocol::frame::coding::CloseCode,
    },
};

use super::Event;
use crate::running::within;

/// An open WebSocket.
#[derive(Debug)]
pub(crate) struct WebSocket(pub(crate) WebSocketStream<TcpStream>);

/// A well-formed wish for a WebSocket, without an origin.
pub(crate) fn upgrade(path: &str) -> Builder {
    Request::get(format!("ws://server{path}"))
        .header("host", "server")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", generate_key())
}

impl WebSocket {
    /// Asks for a WebSocket, which may be refused.
    pub(crate) async fn ask(
        address: SocketAddr,
        request: Builder,
    ) -> Result<(Self, Response), Error> {
        let stream = TcpStream::connect(address).await.unwrap();
        let answer = within(client_async(request.body(()).unwrap(), stream)).await;
        answer.map(|(socket, response)| (Self(socket), response))
    }

    /// Opens a watch, which must be accepted.
    pub(crate) async fn watch(address: SocketAddr, path: &str) -> Self {
        let request = upgrade(path).header("origin", "http://x");
        Self::ask(address, request).await.unwrap().0
    }

    async fn next(&mut self) -> Message {
        within(self.0.next()).await.unwrap().unwrap()
    }

    /// The next message, which must be an event.
    pub(crate) async fn next_event(&mut self) -> Event {
        let Message::Text(text) = self.next().await else {
            panic!("not text");
        };
        let line = text.strip_suffix('\n').expect("each with its newline");
        Event::parse(line.as_bytes())
    }

    /// Asserts that the server says that all is over, and well.
    pub(crate) async fn closes_normally(mut self) {
        let Message::Close(Some(frame)) = self.next().await else {
            panic!("not closed with a code");
        };
        assert_eq!(frame.code, CloseCode::Normal);
    }
}
