//! Bodies as hyper sends them.

use std::{
    convert::Infallible,
    pin::Pin,
    slice,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http_body::{Frame, SizeHint};

use crate::listener::Socket;

/// A response body.
pub(crate) enum Body {
    /// All of it at once, with its length in the headers.
    Whole(Bytes),
    /// Made while it is sent, in large pieces.
    Stream(Pin<Box<dyn Stream<Item = Piece> + Send>>),
    /// None: once the head is sent, the connection is for another protocol.
    Upgrade(Upgrade),
}

/// Bytes of a body that leave together.
pub(crate) enum Piece {
    /// In one place.
    Whole(Bytes),
    /// In several, in order, which others may be sending as well.
    Scattered(Vec<Bytes>),
}

impl Piece {
    /// Where the bytes are.
    pub(crate) fn parts(&self) -> &[Bytes] {
        match self {
            Self::Whole(bytes) => slice::from_ref(bytes),
            Self::Scattered(parts) => parts,
        }
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.parts().iter().map(Bytes::len).sum()
    }

    /// All of them in one place.
    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Scattered(parts) => parts.concat().into(),
        }
    }
}

/// What is said on a connection after its protocol was switched.
pub(crate) struct Upgrade(Box<dyn FnOnce(Socket) -> Conversation + Send>);

type Conversation = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Upgrade {
    /// An upgrade that is over when the future is.
    pub(crate) fn new<F>(run: impl FnOnce(Socket) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(Box::new(|socket| Box::pin(run(socket))))
    }

    /// Takes the connection.
    pub(crate) async fn run(self, socket: Socket) {
        (self.0)(socket).await;
    }
}

impl Body {
    /// A body without a byte.
    pub(crate) fn empty() -> Self {
        Self::Whole(Bytes::new())
    }

    /// A body made while it is sent.
    pub(crate) fn stream(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::pieces(pieces.map(Piece::Whole))
    }

    /// The same, of pieces that need not be in one place.
    pub(crate) fn pieces(pieces: impl Stream<Item = Piece> + Send + 'static) -> Self {
        Self::Stream(Box::pin(pieces))
    }

    /// The next piece; `None` after the last.
    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        match self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Piece::Whole(std::mem::take(bytes)))),
            Self::Stream(pieces) => pieces.as_mut().poll_next(context),
            Self::Upgrade(_) => Poll::Ready(None),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.poll_piece(context);
        piece.map(|piece| piece.map(|it| Ok(Frame::data(it.into_bytes()))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Stream(_) => false,
            Self::Upgrade(_) => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
            Self::Upgrade(_) => SizeHint::with_exact(0),
        }
    }
}
