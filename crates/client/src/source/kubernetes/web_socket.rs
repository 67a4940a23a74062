//! A watch over a WebSocket: one event in each message.

use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderValue, header};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message,
        handshake::{client::generate_key, derive_accept_key},
        protocol::{Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::{KubernetesSource, request, watch::Received};
use crate::{SourceError, wire::FRAME_BYTES_MAX};

/// A server turns away a WebSocket that does not say where it comes from; any place will do.
const ORIGIN: HeaderValue = HeaderValue::from_static("http://localhost");

pub(super) struct WebSocket {
    stream: WebSocketStream<TokioIo<Upgraded>>,
}

impl WebSocket {
    /// Asks for the watch as a WebSocket. No subprotocol is offered: servers have none for watches,
    /// and refuse to choose.
    pub(super) async fn connect(
        source: &KubernetesSource,
        request: http::request::Builder,
    ) -> Result<Self, SourceError> {
        let key = generate_key();
        let request = request
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, &key)
            .header(header::ORIGIN, ORIGIN);
        let response = request::send(source, request).await?;
        let accepted = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
        if accepted.is_none_or(|accepted| *accepted != derive_accept_key(key.as_bytes())) {
            return Err(SourceError::Unreadable {
                reason: format!("no WebSocket: the answer is {}", response.status()),
            });
        }
        let upgraded = hyper::upgrade::on(response).await;
        let upgraded = upgraded.map_err(|error| disconnected(&error))?;
        let bounds = WebSocketConfig::default()
            .max_message_size(Some(FRAME_BYTES_MAX))
            .max_frame_size(Some(FRAME_BYTES_MAX));
        let io = TokioIo::new(upgraded);
        let stream = WebSocketStream::from_raw_socket(io, Role::Client, Some(bounds)).await;
        Ok(Self { stream })
    }

    pub(super) async fn receive(&mut self) -> Result<Received, SourceError> {
        let frame: Bytes = match self.stream.next().await {
            Some(Ok(Message::Text(text))) => text.into(),
            Some(Ok(Message::Binary(bytes))) => bytes,
            Some(Ok(Message::Close(Some(close)))) if close.code != CloseCode::Normal => {
                return Err(SourceError::Disconnected {
                    reason: format!("the WebSocket was closed: {close}"),
                });
            }
            Some(Ok(Message::Close(_))) => return Ok(Received::End),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
                return Ok(Received::Frames(Vec::new()));
            }
            Some(Err(tungstenite::Error::ConnectionClosed)) | None => return Ok(Received::End),
            Some(Err(error)) => return Err(disconnected(&error)),
        };
        Ok(Received::Frames(vec![frame]))
    }
}

fn disconnected(error: &dyn std::error::Error) -> SourceError {
    SourceError::Disconnected {
        reason: error.to_string(),
    }
}
