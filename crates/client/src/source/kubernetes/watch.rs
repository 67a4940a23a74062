//! A watch: frames as they come, events as many as are at hand.

use std::{mem, sync::Arc};

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use kube::client::Body;
use parking_lot::Mutex;

use super::{KubernetesSource, Transport, failure, request, web_socket::WebSocket};
use crate::{
    RawEvent, SourceError,
    lister_watcher::{BoxFuture, EventStream, WatchOptions},
    wire::{LabelPool, Lines, WatchFrame, read_frame},
};

/// Events that are given out together; more wait for the next call.
const BATCH_EVENTS_MAX: usize = 1024;

struct Watch {
    connection: Connection,
    state: State,
    label_pool: Arc<Mutex<LabelPool>>,
}

/// What the next call has to say when there are no more events.
enum State {
    Open,
    Ended,
    Failed(SourceError),
}

enum Connection {
    HttpStream { body: Body, lines: Lines },
    WebSocket(Box<WebSocket>),
}

/// What a connection had to give.
pub(super) enum Received {
    /// Complete frames, perhaps none.
    Frames(Vec<Bytes>),
    /// The server has ended the stream in good order.
    End,
}

pub(super) async fn begin(
    source: &KubernetesSource,
    options: &WatchOptions,
) -> Result<Box<dyn EventStream>, SourceError> {
    let request = request::watch(source.collection(), options)?;
    let connection = match source.transport {
        Transport::HttpStream => {
            let response = request::send(source, request).await?;
            request::check_content_type(&response)?;
            Connection::HttpStream {
                body: response.into_body(),
                lines: Lines::default(),
            }
        }
        Transport::WebSocket => {
            Connection::WebSocket(Box::new(WebSocket::connect(source, request).await?))
        }
    };
    Ok(Box::new(Watch {
        connection,
        state: State::Open,
        label_pool: Arc::clone(&source.label_pool),
    }))
}

impl EventStream for Watch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        Box::pin(self.events())
    }
}

impl Watch {
    /// Waits only while it has no event, so that a call that is given up loses none.
    async fn events(&mut self) -> Option<Result<Vec<RawEvent>, SourceError>> {
        let mut events = Vec::new();
        while matches!(self.state, State::Open) && events.len() < BATCH_EVENTS_MAX {
            let receiving = self.connection.receive();
            let received = match events.is_empty() {
                true => receiving.await,
                false => match receiving.now_or_never() {
                    Some(received) => received,
                    None => break,
                },
            };
            match received {
                Ok(Received::Frames(frames)) => self.read(frames, &mut events),
                Ok(Received::End) => self.state = State::Ended,
                Err(error) => self.state = State::Failed(error),
            }
        }
        if !events.is_empty() {
            return Some(Ok(events));
        }
        match mem::replace(&mut self.state, State::Ended) {
            State::Failed(error) => Some(Err(error)),
            State::Open | State::Ended => None,
        }
    }

    fn read(&mut self, frames: Vec<Bytes>, events: &mut Vec<RawEvent>) {
        let mut labels = self.label_pool.lock();
        for frame in frames {
            match read_frame(frame, &mut labels) {
                WatchFrame::Event(event) => events.push(event),
                WatchFrame::Failed(error) => {
                    self.state = State::Failed(error);
                    return;
                }
            }
        }
    }
}

impl Connection {
    async fn receive(&mut self) -> Result<Received, SourceError> {
        match self {
            Self::WebSocket(socket) => socket.receive().await,
            Self::HttpStream { body, lines } => match body.frame().await {
                Some(Ok(frame)) => split(lines, frame.into_data().unwrap_or_default()),
                Some(Err(error)) => Err(failure::of_connection(&error)),
                None if lines.is_complete() => Ok(Received::End),
                None => Err(SourceError::Disconnected {
                    reason: "the stream ended within an event".to_owned(),
                }),
            },
        }
    }
}

fn split(lines: &mut Lines, piece: Bytes) -> Result<Received, SourceError> {
    lines.push(piece);
    let mut frames = Vec::new();
    while let Some(line) = lines.next_line()? {
        frames.push(line);
    }
    Ok(Received::Frames(frames))
}
