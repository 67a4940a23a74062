//! A connection without manners: bytes out, bytes in.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::running::within;

/// A TCP connection to the server.
pub(crate) struct RawConnection(TcpStream);

impl RawConnection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.unwrap())
    }

    /// Sends bytes; a server that has closed already is no error here.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.0.write_all(bytes.as_ref()).await;
    }

    /// Reads until something matches, and returns all read so far.
    pub(crate) async fn read_until(&mut self, end: &str) -> String {
        let mut received = Vec::new();
        while !String::from_utf8_lossy(&received).contains(end) {
            let mut buffer = [0; 4096];
            let count = within(self.0.read(&mut buffer)).await.unwrap_or(0);
            assert!(count > 0, "closed: {}", String::from_utf8_lossy(&received));
            received.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8_lossy(&received).into_owned()
    }

    /// Reads until the server closes, however long that takes.
    pub(crate) async fn read_to_end(mut self) -> String {
        let mut received = Vec::new();
        // A reset is an end like any other.
        let _ = self.0.read_to_end(&mut received).await;
        String::from_utf8_lossy(&received).into_owned()
    }
}
