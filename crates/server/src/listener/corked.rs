//! A socket that is written to once for all that is ready together.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Socket;

/// Bytes that are held back. At the bound they are written before more is taken.
const HELD_BYTES_MAX: usize = 64 * 1024;

/// A socket that holds back what is written to it until it is uncorked. Clones share it.
///
/// HTTP/2 writes and flushes each frame of data by itself, and the frames of an event for many
/// streams are small: with a system call for each, sending would cost more than all the rest.
#[derive(Clone)]
pub(super) struct Corked(Arc<Mutex<Held>>);

struct Held {
    socket: Socket,
    bytes: BytesMut,
}

impl Corked {
    pub(super) fn new(socket: Socket) -> Self {
        let bytes = BytesMut::new();
        Self(Arc::new(Mutex::new(Held { socket, bytes })))
    }

    /// Writes what is held back.
    pub(super) fn poll_uncork(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.lock().poll_release(context)
    }
}

impl Held {
    fn poll_release(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.bytes.is_empty() {
            match ready!(Pin::new(&mut self.socket).poll_write(context, &self.bytes))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.bytes.advance(count),
            }
        }
        self.bytes = BytesMut::new();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Corked {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.lock().socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for Corked {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut held = self.0.lock();
        if held.bytes.len() >= HELD_BYTES_MAX {
            ready!(held.poll_release(context))?;
        }
        for slice in slices {
            held.bytes.extend_from_slice(slice);
        }
        Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: it is uncorking that writes.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut held = self.0.lock();
        ready!(held.poll_release(context))?;
        Pin::new(&mut held.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::FutureExt;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    async fn pair() -> (Corked, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let socket = Socket::new(accepted.unwrap().0);
        (Corked::new(socket), client.unwrap())
    }

    #[tokio::test]
    async fn what_is_written_and_flushed_leaves_when_it_is_uncorked() {
        let (corked, mut client) = pair().await;
        let mut writer = corked.clone();
        for piece in ["one ", "two ", "three"] {
            writer.write_all(piece.as_bytes()).await.unwrap();
            writer.flush().await.unwrap();
        }
        assert_eq!(&corked.0.lock().bytes[..], b"one two three");
        poll_fn(|context| corked.poll_uncork(context))
            .await
            .unwrap();
        assert_eq!(corked.0.lock().bytes.capacity(), 0, "nothing is kept");
        let mut received = [0; 13];
        client.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"one two three");
    }

    #[tokio::test]
    async fn no_more_is_held_back_than_the_bound() {
        const PIECE: [u8; 16 * 1024] = [0; 16 * 1024];
        let (corked, client) = pair().await;
        let mut writer = corked.clone();
        // Until the client's kernel and ours are full, and then the bound.
        while writer.write_all(&PIECE).now_or_never().is_some() {
            assert!(corked.0.lock().bytes.len() < HELD_BYTES_MAX + PIECE.len());
            tokio::task::yield_now().await;
        }
        assert!(corked.0.lock().bytes.len() < HELD_BYTES_MAX + PIECE.len());
        drop(client);
    }

    #[tokio::test]
    async fn what_is_held_back_goes_before_the_end() {
        let (mut corked, mut client) = pair().await;
        corked.write_all(b"last words").await.unwrap();
        corked.shutdown().await.unwrap();
        let mut received = String::new();
        client.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "last words");
    }
}
