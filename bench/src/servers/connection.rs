//! One HTTP/1.1 connection that decodes nothing.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use anyhow::{Result, ensure};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use super::http::{Body, Head};

/// What one read may bring.
const READ_BYTES: usize = 256 * 1024;
/// How much of a refusal is kept to be shown.
const REFUSAL_BYTES_MAX: usize = 600;

/// Bytes to and from a server.
pub(crate) enum Stream {
    /// As they are.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection on which one request follows the other.
pub(crate) struct Connection {
    stream: Stream,
    /// Bytes that were read and not looked at yet; given back empty by every exchange.
    buffer: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its code.
    pub(crate) status: u16,
    /// Bytes of its body.
    pub(crate) bytes: u64,
    /// The beginning of the body when the request was refused.
    pub(crate) refusal: String,
}

impl Answer {
    /// Fails with the server's words unless the request was granted.
    pub(crate) fn granted(self) -> Result<Self> {
        ensure!(self.is_granted(), "{}: {}", self.status, self.refusal);
        Ok(self)
    }

    /// Whether the code is one of success.
    pub(crate) fn is_granted(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Connection {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: Vec::with_capacity(READ_BYTES),
        }
    }

    /// Sends a request and reads its answer to the end, handing the body to `each` as it comes.
    pub(crate) async fn exchange(
        &mut self,
        request: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<Answer> {
        let mut head = self.begin(request).await?;
        let mut answer = Answer {
            status: head.status,
            bytes: 0,
            refusal: String::new(),
        };
        loop {
            head.body.feed(&self.buffer, |part| {
                answer.bytes += part.len() as u64;
                if !answer.is_granted() && answer.refusal.len() < REFUSAL_BYTES_MAX {
                    answer.refusal.push_str(&String::from_utf8_lossy(part));
                }
                each(part);
            })?;
            self.buffer.clear();
            if head.body.is_done() {
                return Ok(answer);
            }
            self.read().await?;
        }
    }

    /// Sends a request and reads its answer without looking at it.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<Answer> {
        self.exchange(request, |_| ()).await
    }

    /// Sends a request and keeps the answer's body, which must be one of success.
    pub(crate) async fn fetch(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        let answer = self.exchange(request, |part| body.extend_from_slice(part));
        answer.await?.granted()?;
        Ok(body)
    }

    /// Sends a request and reads the head of its answer; the body is [`Connection::take`]n.
    pub(crate) async fn begin(&mut self, request: &[u8]) -> Result<Head> {
        self.stream.write_all(request).await?;
        self.stream.flush().await?;
        loop {
            if let Some(head) = Head::parse(&self.buffer)? {
                self.buffer.drain(..head.length);
                return Ok(head);
            }
            self.read().await?;
        }
    }

    /// Hands on what has been read of a body and, if that is nothing, waits for more.
    pub(crate) async fn take(&mut self, body: &mut Body, each: impl FnMut(&[u8])) -> Result<()> {
        if self.buffer.is_empty() {
            self.read().await?;
        }
        body.feed(&self.buffer, each)?;
        self.buffer.clear();
        Ok(())
    }

    async fn read(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the server hung up");
        Ok(())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
