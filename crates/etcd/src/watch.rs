//! Changes as they happen, from any revision that is still kept.

use futures_util::stream;
use tokio::sync::mpsc;
use tonic::Streaming;

use crate::{
    Client, Error, Header, KeyRange, KeyValue, PreviousValues, ProgressRequests,
    error::Failure,
    wire::{self, WatchRequestUnion},
};

pub(crate) const WATCH: &str = "/etcdserverpb.Watch/Watch";

/// Requests that may wait to be sent on one watch. At the bound a progress request is left out: an
/// earlier one is still to be answered.
const REQUESTS_MAX: usize = 2;

/// What to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRequest {
    /// Which keys.
    pub keys: KeyRange,
    /// The revision of the first change wanted; `None` for those to come.
    pub first_revision: Option<u64>,
    /// Whether events tell what was there before.
    pub previous: PreviousValues,
}

/// An open watch, on a connection of its own. Dropping it ends it.
#[derive(Debug)]
pub struct Watch {
    opened_at: Header,
    progress_requests: ProgressRequests,
    requests: mpsc::Sender<wire::WatchRequest>,
    answers: Streaming<wire::WatchResponse>,
    /// The parts so far of an answer that comes in several. They are one: whoever goes on after a
    /// revision has to have seen all of it.
    parts: Vec<wire::Event>,
}

/// What a watch tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchUpdate {
    /// Changes in their order, each revision complete.
    Events(Vec<Event>),
    /// All changes up to this revision have been told.
    Progress {
        /// The revision.
        revision: u64,
    },
}

/// One change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It was written.
    Put {
        /// What it is now.
        current: KeyValue,
        /// What it was, if asked for, if there, and if not compacted yet.
        previous: Option<KeyValue>,
    },
    /// It was deleted, or its lease ended.
    Delete {
        /// The key.
        key: bytes::Bytes,
        /// When.
        revision: u64,
        /// What it was, if asked for and not compacted yet.
        previous: Option<KeyValue>,
    },
}

impl WatchRequest {
    /// All changes of these keys from this revision on, without what was there before.
    pub fn from_revision(keys: KeyRange, first_revision: u64) -> Self {
        Self {
            keys,
            first_revision: Some(first_revision),
            previous: PreviousValues::Omitted,
        }
    }

    pub(crate) fn into_wire(self) -> wire::WatchRequest {
        let (key, range_end) = self.keys.into_wire();
        let create = wire::WatchCreateRequest {
            key,
            range_end,
            start_revision: self.first_revision.unwrap_or_default(),
            progress_notify: true,
            prev_kv: self.previous == PreviousValues::Included,
            fragment: true,
        };
        wire::WatchRequest {
            request_union: Some(WatchRequestUnion::Create(create)),
        }
    }
}

impl Client {
    /// Opens a watch. That the first revision is compacted may show here or in the first update.
    pub async fn watch(&self, request: WatchRequest) -> Result<Watch, Error> {
        self.open_watch(&request.into_wire()).await
    }
}

impl Watch {
    /// The questions of a watch that begins with this one, as a stream, and where to put more.
    pub(crate) fn questions(
        create: wire::WatchRequest,
    ) -> (
        mpsc::Sender<wire::WatchRequest>,
        impl stream::Stream<Item = wire::WatchRequest> + Send + 'static,
    ) {
        let (sender, mut receiver) = mpsc::channel(REQUESTS_MAX);
        let sent = sender.try_send(create);
        sent.expect("a new channel has room");
        let questions = stream::poll_fn(move |context| receiver.poll_recv(context));
        (sender, questions)
    }

    pub(crate) fn opened(
        first: wire::WatchResponse,
        answers: Streaming<wire::WatchResponse>,
        requests: mpsc::Sender<wire::WatchRequest>,
        progress_requests: ProgressRequests,
    ) -> Result<Self, Failure> {
        check(&first)?;
        if !first.created {
            return Err(Error::missing("the confirmation of a watch").into());
        }
        Ok(Self {
            opened_at: first.header.try_into()?,
            progress_requests,
            requests,
            answers,
            parts: Vec::new(),
        })
    }

    /// Who answered, and how far it had come when the watch was opened.
    pub fn opened_at(&self) -> Header {
        self.opened_at
    }

    /// Whether [`Watch::request_progress`] does something.
    pub fn progress_requests(&self) -> ProgressRequests {
        self.progress_requests
    }

    /// Asks for a [`WatchUpdate::Progress`] soon. A member that is still reading the past for this
    /// watch does not answer, so ask again after a while. One whose answers would not be true is
    /// not asked.
    pub fn request_progress(&self) {
        if self.progress_requests == ProgressRequests::Reliable {
            let progress = WatchRequestUnion::Progress(wire::WatchProgressRequest {});
            let request = wire::WatchRequest {
                request_union: Some(progress),
            };
            // Full or closed: an answer is under way, or `next` tells that none can come.
            let _sent = self.requests.try_send(request);
        }
    }

    /// The next update. Cancel safe: a dropped future loses nothing. Not to be called after an
    /// error.
    pub async fn next(&mut self) -> Result<WatchUpdate, Error> {
        loop {
            let answer = self.answers.message().await.map_err(Failure::from)?;
            let answer = answer.ok_or_else(|| Error::Interrupted {
                reason: "etcd ended the watch".to_owned(),
            })?;
            if let Some(update) = self.take(answer)? {
                return Ok(update);
            }
        }
    }

    fn take(&mut self, answer: wire::WatchResponse) -> Result<Option<WatchUpdate>, Error> {
        check(&answer)?;
        if answer.events.is_empty() {
            let revision = Header::try_from(answer.header)?.revision;
            let between_answers = self.parts.is_empty();
            return Ok(between_answers.then_some(WatchUpdate::Progress { revision }));
        }
        self.parts.extend(answer.events);
        if answer.fragment {
            return Ok(None);
        }
        let events = std::mem::take(&mut self.parts).into_iter();
        let events = events.map(Event::try_from).collect::<Result<_, _>>()?;
        Ok(Some(WatchUpdate::Events(events)))
    }
}

/// That the watch goes on.
fn check(answer: &wire::WatchResponse) -> Result<(), Failure> {
    match answer.compact_revision {
        0 if !answer.canceled => Ok(()),
        0 => Err(Error::cancelled_watch(answer.cancel_reason.clone())),
        oldest => Err(Failure::Error(Error::Compacted {
            oldest: Some(oldest),
        })),
    }
}

impl TryFrom<wire::Event> for Event {
    type Error = Error;

    fn try_from(event: wire::Event) -> Result<Self, Error> {
        let current = event.kv.ok_or_else(|| Error::missing("an event's key"))?;
        let previous = event.prev_kv;
        match event.r#type {
            0 => Ok(Self::Put { current, previous }),
            1 => Ok(Self::Delete {
                key: current.key,
                revision: current.mod_revision,
                previous,
            }),
            other => Err(Error::Unreadable {
                reason: format!("there is no event of type {other}"),
            }),
        }
    }
}
