//! The moment at which a connection leaves hyper.
//!
//! hyper keeps 16 KiB of buffers for a connection as long as it has it, which for a watch is
//! most of an hour. So hyper reads the request, writes the head and what there is to send, and
//! when the body has nothing more to say for now, it is taken away together with the socket. So
//! is the socket of a client that has asked nothing for a while.

use std::{
    convert::Infallible,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Version, header};
use http_body::{Body as _, Frame, SizeHint};
use hyper::{
    body::Incoming,
    rt::{Read, ReadBufCursor, Write},
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;

use super::Socket;
use crate::response::{Body, Upgrade};

/// What is left to do on a connection that hyper has given up.
pub(super) enum Rest {
    /// The pieces of a chunked body that are still to come.
    Chunks(Body, Afterwards),
    /// Another protocol, whose head has been sent.
    Upgraded(Upgrade),
}

/// What becomes of a connection when an answer has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// It waits for another request.
    KeepAlive,
    /// It is closed.
    Close,
}

/// Tells whoever drives hyper when to take its connection away.
#[derive(Default)]
pub(super) struct Handover(Mutex<State>);

#[derive(Default)]
struct State {
    stage: Stage,
    /// How many requests have been read.
    requests: u64,
}

#[derive(Default)]
enum Stage {
    /// hyper waits for a request.
    #[default]
    Listening,
    /// hyper has a request, or not all of the answer.
    Answering,
    /// hyper has all of the answer, but may not have written it.
    Answered,
    /// hyper is asked for nothing more, but may have bytes that it has not written.
    Asked(Rest),
    /// hyper has nothing left.
    Due(Rest),
}

/// What hyper is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// It waits for the next request, having answered so many.
    Listening { answered: u64 },
    /// It writes the end of so many answers.
    Writing { answered: u64 },
    /// It waits for an answer.
    Answering,
}

/// A request on its way through hyper, until its answer is in hyper's hands.
pub(super) struct Turn(Arc<Handover>);

impl Handover {
    /// What is left to do, once hyper has written everything.
    pub(super) fn take(&self) -> Option<Rest> {
        let stage = &mut self.0.lock().stage;
        match std::mem::take(stage) {
            Stage::Due(rest) => Some(rest),
            other => {
                *stage = other;
                None
            }
        }
    }

    /// A request has been read.
    pub(super) fn begin(self: &Arc<Self>) -> Turn {
        let mut state = self.0.lock();
        state.stage = Stage::Answering;
        state.requests += 1;
        Turn(Arc::clone(self))
    }

    /// What hyper is doing now.
    pub(super) fn activity(&self) -> Activity {
        let state = self.0.lock();
        let answered = state.requests;
        match state.stage {
            Stage::Listening => Activity::Listening { answered },
            Stage::Answered => Activity::Writing { answered },
            Stage::Answering | Stage::Asked(_) | Stage::Due(_) => Activity::Answering,
        }
    }

    fn ask(&self, rest: Rest) {
        self.0.lock().stage = Stage::Asked(rest);
    }

    /// hyper flushes a socket when it has written to it all that it had.
    fn flushed(&self) {
        let stage = &mut self.0.lock().stage;
        *stage = match std::mem::take(stage) {
            Stage::Asked(rest) => Stage::Due(rest),
            Stage::Answered => Stage::Listening,
            other => other,
        };
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let stage = &mut self.0.0.lock().stage;
        if matches!(stage, Stage::Answering) {
            *stage = Stage::Answered;
        }
    }
}

/// Whether the connection can be taken away while a request is answered, and what comes then.
pub(super) fn afterwards(request: &Request<Incoming>) -> Option<Afterwards> {
    // Only 1.1 knows chunks. A body that hyper has not read would be taken for the next request.
    let is_plain = request.version() == Version::HTTP_11 && request.body().is_end_stream();
    is_plain.then(|| match closes(request.headers()) {
        true => Afterwards::Close,
        false => Afterwards::KeepAlive,
    })
}

fn is_chunked(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::CONTENT_LENGTH)
}

fn closes(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CONNECTION).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut tokens = texts.flat_map(|text| text.split(',').map(str::trim));
    tokens.any(|token| token.eq_ignore_ascii_case("close"))
}

/// The body of an answer as hyper sees it.
pub(super) enum Answer {
    /// hyper sends all of it.
    Whole { body: Body, _turn: Turn },
    /// hyper sends it up to where it has to wait.
    UntilSilent(Body, Afterwards, Turn),
    /// hyper has sent that much.
    Silent,
}

impl Answer {
    /// Puts an answer into hyper's hands, wholly or for now.
    pub(super) fn to(
        afterwards: Option<Afterwards>,
        response: Response<Body>,
        turn: Turn,
    ) -> Response<Self> {
        let (head, body) = response.into_parts();
        let afterwards = match closes(&head.headers) {
            true => afterwards.map(|_| Afterwards::Close),
            false => afterwards,
        };
        let body = match (body, afterwards) {
            (Body::Upgrade(upgrade), _) => {
                turn.0.ask(Rest::Upgraded(upgrade));
                Self::whole(Body::empty(), turn)
            }
            (body @ Body::Stream(_), Some(afterwards)) if is_chunked(&head.headers) => {
                Self::UntilSilent(body, afterwards, turn)
            }
            (body, _) => Self::whole(body, turn),
        };
        Response::from_parts(head, body)
    }

    fn whole(body: Body, turn: Turn) -> Self {
        Self::Whole { body, _turn: turn }
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Self::Whole { body, .. } | Self::UntilSilent(body, ..) = &mut *self {
            let frame = Pin::new(body).poll_frame(context);
            if frame.is_ready() {
                return frame;
            }
        }
        if let Self::UntilSilent(..) = &*self
            && let Self::UntilSilent(body, afterwards, turn) =
                std::mem::replace(&mut *self, Self::Silent)
        {
            turn.0.ask(Rest::Chunks(body, afterwards));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole { body, .. } | Self::UntilSilent(body, ..) => body.is_end_stream(),
            Self::Silent => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole { body, .. } | Self::UntilSilent(body, ..) => body.size_hint(),
            Self::Silent => SizeHint::default(),
        }
    }
}

/// A socket in hyper's hands.
pub(super) struct Lent {
    io: TokioIo<Socket>,
    handover: Arc<Handover>,
}

impl Lent {
    pub(super) fn new(socket: Socket, handover: Arc<Handover>) -> Self {
        let io = TokioIo::new(socket);
        Self { io, handover }
    }

    pub(super) fn into_inner(self) -> Socket {
        self.io.into_inner()
    }
}

impl Read for Lent {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Lent {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_flush(context))?;
        self.handover.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::{FutureExt, StreamExt, stream};

    use super::*;

    fn answer(response: Response<Body>, handover: &Arc<Handover>) -> Answer {
        let afterwards = Some(Afterwards::KeepAlive);
        Answer::to(afterwards, response, handover.begin()).into_body()
    }

    /// The piece that the body has now.
    fn piece(answer: &mut Answer) -> Option<Bytes> {
        let frame = poll_fn(|context| Pin::new(&mut *answer).poll_frame(context));
        let Ok(frame) = frame.now_or_never()??;
        frame.into_data().ok()
    }

    #[test]
    fn a_body_leaves_when_it_is_silent_and_all_before_it_is_written() {
        let handover = Arc::new(Handover::default());
        let pieces = stream::iter([Bytes::from("first")]).chain(stream::pending());
        let mut answer = answer(Response::new(Body::stream(pieces)), &handover);
        assert_eq!(piece(&mut answer), Some(Bytes::from("first")));
        handover.flushed();
        assert!(handover.take().is_none(), "it has more to say");
        assert_eq!(piece(&mut answer), None);
        assert!(handover.take().is_none(), "something may not be written");
        handover.flushed();
        let rest = handover.take();
        assert!(matches!(
            rest,
            Some(Rest::Chunks(Body::Stream(_), Afterwards::KeepAlive))
        ));
        assert!(!answer.is_end_stream());
        assert_eq!(piece(&mut answer), None);
        handover.flushed();
        assert!(handover.take().is_none(), "it leaves once");
    }

    #[test]
    fn a_body_of_known_length_stays() {
        let handover = Arc::new(Handover::default());
        let mut response = Response::new(Body::stream(stream::pending()));
        let length = header::HeaderValue::from_static("5");
        response
            .headers_mut()
            .insert(header::CONTENT_LENGTH, length);
        let mut answer = answer(response, &handover);
        assert_eq!(piece(&mut answer), None);
        handover.flushed();
        assert!(handover.take().is_none());
    }

    #[test]
    fn hyper_listens_again_when_an_answer_is_written() {
        let handover = Arc::new(Handover::default());
        assert_eq!(handover.activity(), Activity::Listening { answered: 0 });
        let body = Body::Whole(Bytes::from("all"));
        let mut answer = answer(Response::new(body), &handover);
        handover.flushed();
        assert_eq!(handover.activity(), Activity::Answering);
        assert_eq!(piece(&mut answer), Some(Bytes::from("all")));
        drop(answer);
        assert_eq!(handover.activity(), Activity::Writing { answered: 1 });
        handover.flushed();
        assert_eq!(handover.activity(), Activity::Listening { answered: 1 });
    }

    #[test]
    fn a_connection_is_closed_when_either_side_says_so() {
        let headers = |value: &'static str| {
            let value = header::HeaderValue::from_static(value);
            HeaderMap::from_iter([(header::CONNECTION, value)])
        };
        assert!(closes(&headers("close")));
        assert!(closes(&headers("TE, Close")));
        assert!(!closes(&headers("keep-alive")));
        assert!(!closes(&HeaderMap::new()));
    }
}
