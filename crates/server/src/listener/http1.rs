//! A connection of HTTP/1: hyper's, except while a body waits for something to say.

use std::{
    convert::Infallible,
    error::Error,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioTimer;
use tokio::io::AsyncWriteExt;

use super::{
    Connection, HEAD_TIMEOUT, Socket, chunked,
    handover::{self, Afterwards, Answer, Handover, Lent, Rest},
};
use crate::{lifecycle::DrainSignal, respond::respond};

/// Bytes of a request's head, and of an answer that wait to be sent. A longer head is refused with
/// 431; an answer is not made faster than its client reads.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

type Failure = Box<dyn Error + Send + Sync>;

/// Answers the requests of a connection, one after the other, until it ends.
pub(super) async fn serve(
    connection: Connection,
    mut socket: Socket,
    signal: DrainSignal,
) -> Result<(), Failure> {
    loop {
        // Boxed, so that nothing of hyper is left while the rest of an answer is sent.
        let conversation = Box::pin(converse(connection.clone(), socket, signal.clone()));
        let rest;
        (socket, rest) = conversation.await?;
        match rest {
            Some(Rest::Chunks(body, afterwards)) => {
                chunked::send(&mut socket, body).await?;
                if afterwards == Afterwards::Close {
                    break;
                }
            }
            Some(Rest::Upgraded(upgrade)) => {
                upgrade.run(socket).await;
                return Ok(());
            }
            None => break,
        }
    }
    Ok(socket.shutdown().await?)
}

/// Lets hyper answer until it is done, or until an answer leaves it something else to do.
async fn converse(
    Connection { server, client }: Connection,
    socket: Socket,
    mut signal: DrainSignal,
) -> Result<(Socket, Option<Rest>), Failure> {
    let handover = Arc::new(Handover::default());
    let lent = Lent::new(socket, Arc::clone(&handover));
    // Boxed, so that a connection whose request is answered holds no memory for answering.
    let service = service_fn(|request| {
        let (server, handover) = (Arc::clone(&server), Arc::clone(&handover));
        Box::pin(async move {
            let afterwards = handover::afterwards(&request);
            let response = respond(server, client, request).await;
            Ok::<_, Infallible>(Answer::to(afterwards, response, handover))
        })
    });
    let mut connection = builder().serve_connection(lent, service);
    let mut draining = pin!(signal.draining());
    let mut is_draining = false;
    let rest = poll_fn(|context| {
        if !is_draining && draining.as_mut().poll(context).is_ready() {
            is_draining = true;
            Pin::new(&mut connection).graceful_shutdown();
        }
        let ended = connection.poll_without_shutdown(context)?;
        match handover.take() {
            Some(rest) => Poll::Ready(Ok::<_, hyper::Error>(Some(rest))),
            None => ended.map(|()| Ok(None)),
        }
    });
    let rest = rest.await?;
    let parts = connection.into_parts();
    Ok((parts.io.into_inner().with_unread(&parts.read_buf), rest))
}

fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(BUFFER_BYTES_MAX)
        .half_close(false);
    builder
}
