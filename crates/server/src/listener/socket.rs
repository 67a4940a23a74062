//! A connected client.

use std::{
    future::poll_fn,
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// What a connection of HTTP/2 begins with.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes that are taken from a client before their turn. One that sends more while it waits for an
/// answer is not listened to until it has it.
const AHEAD_BYTES_MAX: usize = 512;

/// The two languages that are spoken on one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

/// A connection that can be looked into, and be handed on with what was seen.
pub(crate) struct Socket {
    stream: TcpStream,
    /// Bytes that have come and that nobody has read.
    ahead: BytesMut,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            ahead: BytesMut::new(),
        }
    }

    /// The same connection, with bytes that were read from it and belong to whoever reads next.
    pub(super) fn with_unread(mut self, unread: &[u8]) -> Self {
        let later = std::mem::take(&mut self.ahead);
        self.ahead = BytesMut::from(unread);
        self.ahead.extend_from_slice(&later);
        self
    }

    /// Waits for the bytes that tell which language the client speaks.
    pub(super) async fn version(&mut self) -> io::Result<Version> {
        while HTTP2_PREFACE.starts_with(&self.ahead) {
            if self.ahead.len() == HTTP2_PREFACE.len() {
                return Ok(Version::Http2);
            }
            let whole = HTTP2_PREFACE.len();
            if poll_fn(|context| self.poll_read_ahead(context, whole)).await? == 0 {
                break;
            }
        }
        Ok(Version::Http1)
    }

    /// Waits for the client to send something, or to leave, without taking it.
    pub(super) async fn readable(&self) -> io::Result<()> {
        self.stream.readable().await
    }

    /// Ready when the client is gone. What it sends in the meantime is kept.
    pub(super) fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        while self.ahead.len() < AHEAD_BYTES_MAX {
            match ready!(self.poll_read_ahead(context, AHEAD_BYTES_MAX)) {
                Ok(0) => return Poll::Ready(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) => return Poll::Ready(error),
            }
        }
        Poll::Pending
    }

    /// Reads until `max` bytes are waiting; says how many came.
    fn poll_read_ahead(
        &mut self,
        context: &mut Context<'_>,
        max: usize,
    ) -> Poll<io::Result<usize>> {
        let mut space = [MaybeUninit::uninit(); AHEAD_BYTES_MAX];
        let mut buffer = ReadBuf::uninit(&mut space[..max - self.ahead.len()]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        self.ahead.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let count = buffer.remaining().min(self.ahead.len());
        buffer.put_slice(&self.ahead[..count]);
        self.ahead.advance(count);
        if self.ahead.is_empty() {
            self.ahead = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    /// What a client is taken for that sends these parts, and what can be read of it afterwards.
    async fn sent(parts: &[&[u8]]) -> (Version, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let mut client = client.unwrap();
        let mut socket = Socket::new(accepted.unwrap().0);
        let sending = async move {
            for part in parts {
                client.write_all(part).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let (version, ()) = tokio::join!(socket.version(), sending);
        let mut rest = Vec::new();
        socket.read_to_end(&mut rest).await.unwrap();
        (version.unwrap(), rest)
    }

    #[tokio::test]
    async fn the_first_bytes_tell_the_version_and_are_read_again() {
        let cases: [(&[&[u8]], Version); 6] = [
            (&[b"GET / HTTP/1.1\r\n\r\n"], Version::Http1),
            (&[b"P", b"UT / HTTP/1.1\r\n\r\n"], Version::Http1),
            (&[b"PRI * HTTP/1.1\r\n\r\n"], Version::Http1),
            (&[HTTP2_PREFACE, b"frames"], Version::Http2),
            (&[&HTTP2_PREFACE[..7], &HTTP2_PREFACE[7..]], Version::Http2),
            (&[], Version::Http1),
        ];
        for (parts, version) in cases {
            assert_eq!(sent(parts).await, (version, parts.concat()));
        }
    }

    #[tokio::test]
    async fn bytes_that_were_given_back_come_first() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let mut client = client.unwrap();
        client.write_all(b"three").await.unwrap();
        drop(client);
        let socket = Socket::new(accepted.unwrap().0);
        let mut socket = socket.with_unread(b"two ").with_unread(b"one ");
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "one two three");
    }
}
