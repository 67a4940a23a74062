//! A connection of HTTP/2, which is hyper's from beginning to end.

use std::{
    convert::Infallible,
    error::Error,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body::{Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use super::{Connection, Socket, corked::Corked};
use crate::{lifecycle::DrainSignal, request::RequestBody, respond::respond, response::Body, turn};

/// Requests and watches on one connection. Further streams wait in the client.
const STREAMS_MAX: u32 = 250;

/// Bytes that one stream may have waiting to be sent.
const SEND_BUFFER_MAX: usize = 256 * 1024;

/// Open answers on a connection that are worth waiting for, so that they are sent together. Waiting
/// costs a few microseconds, which a connection with few answers does not win back.
const COMPANY_MIN: usize = 8;

/// How often a silent client is asked whether it is there, and how long it may take to say so.
const PING_INTERVAL: Duration = Duration::from_secs(30);

type Failure = Box<dyn Error + Send + Sync>;

/// Answers the requests of a connection until it ends.
pub(super) async fn serve(
    Connection { server, client }: Connection,
    socket: Socket,
    mut signal: DrainSignal,
) -> Result<(), Failure> {
    // Boxed, so that a stream whose request is answered holds no memory for answering.
    let open = Arc::new(());
    let service = service_fn(|request: Request<Incoming>| {
        let (server, _open) = (Arc::clone(&server), Arc::clone(&open));
        Box::pin(async move {
            let response = respond(server, client, request.map(RequestBody::from)).await;
            Ok::<_, Infallible>(response.map(|body| Answer { body, _open }))
        })
    });
    let corked = Corked::new(socket);
    let lent = TokioIo::new(corked.clone());
    let mut connection = pin!(builder().serve_connection(lent, service));
    let mut draining = pin!(signal.draining());
    let mut is_draining = false;
    let mut round = |context: &mut Context<'_>| {
        if !is_draining && draining.as_mut().poll(context).is_ready() {
            is_draining = true;
            connection.as_mut().graceful_shutdown();
        }
        let ended = connection.as_mut().poll(context)?;
        if let Poll::Ready(written) = corked.poll_uncork(context) {
            written?;
        }
        ended.map(Ok)
    };
    loop {
        if let Poll::Ready(ended) = poll_fn(|context| Poll::Ready(round(context))).await {
            return ended;
        }
        woken().await;
        // The first stream that has something to send woke us: let the others have it too.
        if Arc::strong_count(&open) > COMPANY_MIN {
            turn::give().await;
        }
    }
}

/// A body that is counted as long as it is open.
struct Answer {
    body: Body,
    _open: Arc<()>,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Waits for what the task was last polled for.
async fn woken() {
    let mut poll = Poll::Pending;
    poll_fn(|_| std::mem::replace(&mut poll, Poll::Ready(()))).await;
}

fn builder() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_send_buf_size(SEND_BUFFER_MAX)
        .keep_alive_interval(Some(PING_INTERVAL))
        .keep_alive_timeout(PING_INTERVAL);
    builder
}
