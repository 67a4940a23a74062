//! Sockets in, requests out.
//!
//! One task per connection. HTTP/1.1 and HTTP/2 (prior knowledge) are told apart by their first
//! bytes. When draining begins no connection is accepted any more, and those open end after the
//! request they are in.

use std::{
    convert::Infallible,
    net::IpAddr,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use http::Request;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::timeout,
};

use crate::{lifecycle::DrainSignal, respond::respond, server::Server};

/// Connections open at one time. At the bound new ones wait in the kernel's queue until one closes.
const CONNECTIONS_MAX: usize = 32_768;

/// How long a client may take to send the head of a request, and how long a connection may idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Requests and watches on one HTTP/2 connection. Further streams wait in the client.
const HTTP2_STREAMS_MAX: u32 = 250;

/// Bytes that one HTTP/2 stream may have waiting to be sent.
const HTTP2_SEND_BUFFER_MAX: usize = 256 * 1024;

/// How long connections may take to end once draining has begun; then they are cut.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Accepts connections until draining begins, then waits for the open ones to end.
pub(crate) async fn serve(listener: TcpListener, server: Arc<Server>) {
    let mut signal = server.lifecycle.drain_signal();
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // Dropping the set cuts what is still open.
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room) => accepted,
            Some(_) = connections.join_next() => continue,
            () = signal.draining() => break,
        };
        if let Some((stream, client, permit)) = accepted {
            let connection = Connection {
                server: Arc::clone(&server),
                client,
            };
            let signal = signal.clone();
            connections.spawn(async move {
                connection.run(stream, signal).await;
                drop(permit);
            });
        }
    }
    drop(listener);
    let all_closed = async { while connections.join_next().await.is_some() {} };
    if timeout(DRAIN_TIMEOUT, all_closed).await.is_err() {
        tracing::warn!("cut the connections that were still open {DRAIN_TIMEOUT:?} after shutdown");
    }
}

/// The next connection; `None` when the system could not give one.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, IpAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, client)) => Some((stream, client.ip(), permit)),
        Err(error) => {
            tracing::warn!("could not accept a connection: {error}");
            // Out of file descriptors, most likely: let some close before trying again.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

struct Connection {
    server: Arc<Server>,
    client: IpAddr,
}

impl Connection {
    async fn run(self, stream: TcpStream, mut signal: DrainSignal) {
        // Events are small and wanted at once; a socket without this option still works.
        let _ = stream.set_nodelay(true);
        let Self { server, client } = self;
        let successor = Successor::default();
        let offered = successor.clone();
        // Boxed, so that a connection whose request is answered holds no memory for answering.
        let service = service_fn(move |mut request: Request<Incoming>| {
            let server = Arc::clone(&server);
            request.extensions_mut().insert(offered.clone());
            Box::pin(async move { Ok::<_, Infallible>(respond(server, client, request).await) })
        });
        let builder = connection_builder();
        let mut connection =
            pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = signal.draining() => {
                connection.as_mut().graceful_shutdown();
                match timeout(DRAIN_TIMEOUT, connection).await {
                    Ok(ended) => ended,
                    Err(_) => return,
                }
            }
        };
        match (ended, successor.take()) {
            (Ok(()), Some(successor)) => successor.await,
            (Ok(()), None) => {}
            (Err(error), _) => tracing::debug!(%client, "connection ended: {error}"),
        }
    }
}

/// What a connection goes on with when HTTP has ended on it, as requests may ask.
#[derive(Clone, Default)]
pub(crate) struct Successor(Arc<Mutex<Option<Conversation>>>);

type Conversation = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Successor {
    /// Goes on with this once the answer to the present request has been sent.
    pub(crate) fn set(&self, conversation: impl Future<Output = ()> + Send + 'static) {
        *self.0.lock() = Some(Box::pin(conversation));
    }

    fn take(&self) -> Option<Conversation> {
        self.0.lock().take()
    }
}

fn connection_builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .half_close(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_STREAMS_MAX)
        .max_send_buf_size(HTTP2_SEND_BUFFER_MAX)
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(30));
    builder
}
