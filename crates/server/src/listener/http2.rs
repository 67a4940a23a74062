//! A connection of HTTP/2, which is hyper's from beginning to end.

use std::{convert::Infallible, error::Error, pin::pin, sync::Arc, time::Duration};

use hyper::{server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use super::{Connection, Socket};
use crate::{lifecycle::DrainSignal, respond::respond};

/// Requests and watches on one connection. Further streams wait in the client.
const STREAMS_MAX: u32 = 250;

/// Bytes that one stream may have waiting to be sent.
const SEND_BUFFER_MAX: usize = 256 * 1024;

/// How often a silent client is asked whether it is there, and how long it may take to say so.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Answers the requests of a connection until it ends.
pub(super) async fn serve(
    Connection { server, client }: Connection,
    socket: Socket,
    mut signal: DrainSignal,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Boxed, so that a stream whose request is answered holds no memory for answering.
    let service = service_fn(move |request| {
        let server = Arc::clone(&server);
        Box::pin(async move { Ok::<_, Infallible>(respond(server, client, request).await) })
    });
    let mut connection = pin!(builder().serve_connection(TokioIo::new(socket), service));
    tokio::select! {
        ended = connection.as_mut() => return Ok(ended?),
        () = signal.draining() => connection.as_mut().graceful_shutdown(),
    }
    Ok(connection.await?)
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
