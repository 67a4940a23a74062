//! Bodies as hyper sends them.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::Stream;
use http_body::{Frame, SizeHint};

/// A response body.
pub(crate) enum Body {
    /// All of it at once, with its length in the headers.
    Whole(Bytes),
    /// Made while it is sent, in large pieces.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    /// A body without a byte.
    pub(crate) fn empty() -> Self {
        Self::Whole(Bytes::new())
    }

    /// A body made while it is sent.
    pub(crate) fn stream(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::Stream(Box::pin(pieces))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(pieces) => pieces
                .as_mut()
                .poll_next(context)
                .map(|piece| piece.map(|it| Ok(Frame::data(it)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
