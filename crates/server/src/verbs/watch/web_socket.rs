//! The same frames over a WebSocket, for clients behind proxies that hold back streams.

use bytes::{Buf, Bytes};
use futures_util::{SinkExt, StreamExt};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use listwatch_api::{cbor, media_type::Encoding};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message, Utf8Bytes,
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::Frames;
use crate::{
    listener::Socket,
    response::{self, Body},
};

/// Bytes of one message from the client, which has nothing to say. A longer one ends the stream.
const RECEIVED_BYTES_MAX: usize = 4 * 1024;
/// Bytes that are read at a time. Held as long as the socket is open.
const READ_BYTES: usize = 512;

/// A client's wish for a WebSocket.
pub(super) struct Upgrade {
    accept_key: String,
    protocol: Option<HeaderValue>,
}

/// Whether a request asks for a WebSocket; the bare code of the refusal when it asks badly.
pub(super) fn requested(headers: &HeaderMap) -> Result<Option<Upgrade>, StatusCode> {
    let wanted = has_token(headers, &header::CONNECTION, "upgrade")
        && has_token(headers, &header::UPGRADE, "websocket");
    if !wanted {
        return Ok(None);
    }
    let version = headers.get(header::SEC_WEBSOCKET_VERSION);
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    let (Some(key), Some(b"13")) = (key, version.map(HeaderValue::as_bytes)) else {
        return Err(StatusCode::BAD_REQUEST);
    };
    if !headers.contains_key(header::ORIGIN) {
        return Err(StatusCode::FORBIDDEN);
    }
    let protocol = headers.get(header::SEC_WEBSOCKET_PROTOCOL).cloned();
    let single = protocol.filter(|value| !value.as_bytes().contains(&b','));
    Ok(Some(Upgrade {
        accept_key: derive_accept_key(key.as_bytes()),
        protocol: single,
    }))
}

impl Upgrade {
    /// Switches protocols, and sends the frames once that has happened.
    pub(super) fn accept(self, encoding: Encoding, frames: Frames) -> Response<Body> {
        let upgrade = response::Upgrade::new(move |socket| send(socket, encoding, frames));
        let mut response = Response::new(Body::Upgrade(upgrade));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        let accept_key = HeaderValue::from_str(&self.accept_key);
        let accept_key = accept_key.expect("base64 is a header value");
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept_key);
        if let Some(protocol) = self.protocol {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        response
    }
}

/// Sends each frame as a message; what the client says is read and dropped.
async fn send(socket: Socket, encoding: Encoding, mut frames: Frames) {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .max_message_size(Some(RECEIVED_BYTES_MAX))
        .max_frame_size(Some(RECEIVED_BYTES_MAX));
    let socket = WebSocketStream::from_raw_socket(socket, Role::Server, Some(config)).await;
    let (mut sink, mut received) = socket.split();
    loop {
        let chunk = tokio::select! {
            chunk = frames.next() => chunk,
            message = received.next() => match message {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        let Some(chunk) = chunk else { break };
        for message in chunk
            .parts()
            .iter()
            .flat_map(|part| messages(encoding, part))
        {
            if sink.feed(message).await.is_err() {
                return;
            }
        }
        if sink.flush().await.is_err() {
            return;
        }
    }
    let normal = CloseFrame {
        code: CloseCode::Normal,
        reason: Utf8Bytes::default(),
    };
    // The client may be gone already, which is the same to us.
    let _ = sink.send(Message::Close(Some(normal))).await;
}

/// The frames of a chunk: lines of text, messages without the length before each, or items.
fn messages(encoding: Encoding, chunk: &Bytes) -> Vec<Message> {
    match encoding {
        Encoding::Json | Encoding::Yaml => chunk
            .split_inclusive(|byte| *byte == b'\n')
            .filter_map(|line| Utf8Bytes::try_from(chunk.slice_ref(line)).ok())
            .map(Message::Text)
            .collect(),
        Encoding::Protobuf => {
            let mut frames = Vec::new();
            let mut rest = chunk.clone();
            while let Some(length) = rest.first_chunk().map(|length| u32::from_be_bytes(*length)) {
                rest.advance(size_of::<u32>());
                frames.push(Message::Binary(rest.split_to(length as usize)));
            }
            frames
        }
        Encoding::Cbor => {
            let mut frames = Vec::new();
            let mut rest = chunk.clone();
            while !rest.is_empty() {
                let length = cbor::item_length(&rest).unwrap_or(rest.len());
                frames.push(Message::Binary(rest.split_to(length)));
            }
            frames
        }
    }
}

fn has_token(headers: &HeaderMap, name: &header::HeaderName, token: &str) -> bool {
    let values = headers.get_all(name);
    let texts = values.iter().filter_map(|value| value.to_str().ok());
    let mut tokens = texts.flat_map(|text| text.split(',').map(str::trim));
    tokens.any(|found| found.eq_ignore_ascii_case(token))
}
