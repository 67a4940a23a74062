//! Sockets in, requests out.
//!
//! One task per connection. HTTP/1.1 and HTTP/2 (prior knowledge) are told apart by their first
//! bytes. When draining begins no connection is accepted any more, and those open end after the
//! request they are in.

mod chunked;
mod corked;
mod handover;
mod http1;
mod http2;
mod socket;

use std::{net::IpAddr, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};

pub(crate) use self::socket::Socket;
use self::socket::Version;
use crate::{lifecycle::DrainSignal, server::Server};

/// Connections open at one time. At the bound new ones wait in the kernel's queue until one closes.
const CONNECTIONS_MAX: usize = 32_768;

/// How long a client may take to send the head of a request, and how long a connection may idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// How long connections may take to end once draining has begun; then they are cut.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Accepts connections until draining begins, then waits for the open ones to end.
pub(crate) async fn serve(listener: TcpListener, server: Arc<Server>) {
    let mut signal = server.lifecycle.drain_signal();
    // Dropping the set cuts what is still open.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = accept(&listener), if connections.len() < CONNECTIONS_MAX => {
                if let Some((stream, client)) = accepted {
                    let server = Arc::clone(&server);
                    connections.spawn(Connection { server, client }.run(stream, signal.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
            () = signal.draining() => break,
        }
    }
    drop(listener);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    if timeout(DRAIN_TIMEOUT, all_ended).await.is_err() {
        tracing::warn!("cut the connections that were still open {DRAIN_TIMEOUT:?} after shutdown");
    }
}

/// The next connection; `None` when the system could not give one.
async fn accept(listener: &TcpListener) -> Option<(TcpStream, IpAddr)> {
    match listener.accept().await {
        Ok((stream, client)) => Some((stream, client.ip())),
        Err(error) => {
            tracing::warn!("could not accept a connection: {error}");
            // Out of file descriptors, most likely: let some close before trying again.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

/// Whom a connection is between.
#[derive(Clone)]
struct Connection {
    server: Arc<Server>,
    client: IpAddr,
}

impl Connection {
    async fn run(self, stream: TcpStream, mut signal: DrainSignal) {
        // Events are small and wanted at once; a socket without this option still works.
        let _ = stream.set_nodelay(true);
        let mut socket = Socket::new(stream);
        let version = tokio::select! {
            version = timeout(HEAD_TIMEOUT, socket.version()) => version,
            () = signal.draining() => return,
        };
        let client = self.client;
        let ended = match version {
            Ok(Ok(Version::Http1)) => http1::serve(self, socket, signal).await,
            // Boxed, so that the connections of HTTP/1.1 are no larger for it.
            Ok(Ok(Version::Http2)) => Box::pin(http2::serve(self, socket, signal)).await,
            Ok(Err(error)) => Err(error.into()),
            Err(_) => return,
        };
        if let Err(error) = ended {
            tracing::debug!(%client, "connection ended: {error}");
        }
    }
}
