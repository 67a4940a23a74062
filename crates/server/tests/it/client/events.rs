//! A watch, event by event.

use std::collections::VecDeque;

use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use crate::{client::answer::version, running::within};

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) event_type: String,
    pub(crate) object: Value,
}

impl Event {
    /// Reads one line of a stream.
    pub(crate) fn parse(line: &[u8]) -> Self {
        let mut event: Value = serde_json::from_slice(line)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(line)));
        Self {
            event_type: event["type"].as_str().unwrap().to_owned(),
            object: event["object"].take(),
        }
    }

    /// The object's resourceVersion.
    #[track_caller]
    pub(crate) fn version(&self) -> u64 {
        version(&self.object)
    }

    /// The type, and the name where there is one: `ADDED web`.
    pub(crate) fn shown(&self) -> String {
        match self.object["metadata"]["name"].as_str() {
            Some(name) => format!("{} {name}", self.event_type),
            None => self.event_type.clone(),
        }
    }
}

/// The events of one watch, as they arrive. Dropping it cuts the connection.
pub(crate) struct Events {
    pub(crate) headers: HeaderMap,
    body: Incoming,
    /// Bytes that are not a whole line yet.
    partial: Vec<u8>,
    waiting: VecDeque<Event>,
}

impl Events {
    pub(crate) fn new(response: Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        Self {
            headers: head.headers,
            body,
            partial: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// The next event, which must come.
    pub(crate) async fn next(&mut self) -> Event {
        within(self.next_or_end())
            .await
            .expect("the stream goes on")
    }

    /// The next event; `None` at the end of the stream.
    pub(crate) async fn next_or_end(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            let frame = self.body.frame().await?.expect("the stream is not cut");
            if let Ok(data) = frame.into_data() {
                self.take_lines(&data);
            }
        }
    }

    /// Asserts what the next events are.
    pub(crate) async fn shows(&mut self, expected: &[&str]) -> Vec<Event> {
        let mut events = Vec::new();
        for expected in expected {
            let event = self.next().await;
            assert_eq!(event.shown(), *expected, "{event:?} after {events:?}");
            events.push(event);
        }
        events
    }

    /// All events until the server ends the stream, which it must.
    pub(crate) async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = within(self.next_or_end()).await {
            events.push(event);
        }
        assert!(self.partial.is_empty(), "the last line is whole");
        events
    }

    fn take_lines(&mut self, data: &[u8]) {
        self.partial.extend_from_slice(data);
        let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        let rest = self.partial.split_off(end + 1);
        let lines = std::mem::replace(&mut self.partial, rest);
        let lines = lines[..end].split(|byte| *byte == b'\n');
        self.waiting.extend(lines.map(Event::parse));
    }
}
