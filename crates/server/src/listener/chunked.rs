//! The rest of a body, in chunks, without a buffer.

use std::{
    future::poll_fn,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::AsyncWrite;

use super::Socket;
use crate::response::{Body, Piece};

/// What ends a chunk.
const CHUNK_END: &[u8] = b"\r\n";
/// What ends a chunked body.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// Places from which bytes are written with one system call. The rest needs another one.
const SLICES_MAX: usize = 64;

/// Sends all pieces that a body has still to give, and its end. Fails once the client is gone.
///
/// A piece is taken when the one before it has been written: a client that does not read holds one.
pub(super) async fn send(socket: &mut Socket, mut body: Body) -> io::Result<()> {
    while let Some(piece) = poll_fn(|context| poll_piece(socket, &mut body, context)).await? {
        // A chunk without a byte would be the last.
        if piece.len() > 0 {
            send_chunk(socket, piece).await?;
        }
    }
    write::<1>(socket, &[LAST_CHUNK]).await
}

fn poll_piece(
    socket: &mut Socket,
    body: &mut Body,
    context: &mut Context<'_>,
) -> Poll<io::Result<Option<Piece>>> {
    if let Poll::Ready(piece) = body.poll_piece(context) {
        return Poll::Ready(Ok(piece));
    }
    socket.poll_gone(context).map(Err)
}

async fn send_chunk(socket: &mut Socket, piece: Piece) -> io::Result<()> {
    let head = Head::new(piece.len());
    match piece.parts() {
        [part] => write::<3>(socket, &[head.bytes(), part, CHUNK_END]).await,
        parts => {
            let mut all = Vec::with_capacity(parts.len() + 2);
            all.push(head.bytes());
            all.extend(parts.iter().map(|part| &part[..]));
            all.push(CHUNK_END);
            write::<SLICES_MAX>(socket, &all).await
        }
    }
}

/// The line before a chunk: its length in hexadecimal digits.
struct Head {
    line: [u8; Self::LENGTH_MAX],
    begin: usize,
}

impl Head {
    const LENGTH_MAX: usize = usize::BITS as usize / 4 + 2;

    fn new(mut length: usize) -> Self {
        let mut line = [b'\r'; Self::LENGTH_MAX];
        line[Self::LENGTH_MAX - 1] = b'\n';
        let mut begin = Self::LENGTH_MAX - 2;
        loop {
            begin -= 1;
            line[begin] = b"0123456789abcdef"[length % 16];
            length /= 16;
            if length == 0 {
                return Self { line, begin };
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.line[self.begin..]
    }
}

/// Writes all parts, up to `N` with one system call. Fails once the client is gone, also while it
/// does not read.
async fn write<const N: usize>(socket: &mut Socket, parts: &[&[u8]]) -> io::Result<()> {
    let (mut parts, mut written) = (parts, 0);
    poll_fn(|context| {
        while let Some((first, rest)) = parts.split_first() {
            if written >= first.len() {
                written -= first.len();
                parts = rest;
                continue;
            }
            let mut slices = [IoSlice::new(&first[written..]); N];
            let filled = parts.len().min(N);
            for (slice, part) in slices.iter_mut().zip(parts).skip(1) {
                *slice = IoSlice::new(part);
            }
            let stream = Pin::new(&mut *socket);
            match stream.poll_write_vectored(context, &slices[..filled])? {
                Poll::Ready(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(count) => written += count,
                Poll::Pending => return socket.poll_gone(context).map(Err),
            }
        }
        Poll::Ready(Ok(()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use bytes::Bytes;
    use futures_util::{FutureExt, stream};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    async fn pair() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        (Socket::new(accepted.unwrap().0), client.unwrap())
    }

    #[tokio::test]
    async fn pieces_become_chunks_and_an_empty_piece_is_no_end() {
        let (mut socket, mut client) = pair().await;
        let pieces = ["one\n", "", "and another one\n"].map(Bytes::from);
        let sent = send(&mut socket, Body::stream(stream::iter(pieces)));
        sent.await.unwrap();
        drop(socket);
        let mut received = String::new();
        client.read_to_string(&mut received).await.unwrap();
        let chunks = "4\r\none\n\r\n10\r\nand another one\n\r\n0\r\n\r\n";
        assert_eq!(received, chunks);
    }

    #[test]
    fn the_head_of_a_chunk_is_its_length_in_hexadecimal() {
        for length in [0, 9, 10, 15, 16, 255, 4_132, 65_536, usize::MAX] {
            let expected = format!("{length:x}\r\n");
            assert_eq!(Head::new(length).bytes(), expected.as_bytes());
        }
    }

    #[tokio::test]
    async fn parts_of_a_piece_are_one_chunk_however_many_they_are() {
        let (mut socket, mut client) = pair().await;
        let parts: Vec<Bytes> = (0..3 * SLICES_MAX)
            .map(|number| Bytes::from(vec![b'a' + (number % 26) as u8; number * 100]))
            .collect();
        let content = parts.concat();
        let pieces = stream::iter([Piece::Scattered(parts)]);
        let mut received = Vec::new();
        let sending = async {
            send(&mut socket, Body::pieces(pieces)).await.unwrap();
            drop(socket);
        };
        let (read, ()) = tokio::join!(client.read_to_end(&mut received), sending);
        read.unwrap();
        let head = format!("{:x}\r\n", content.len());
        let expected = [head.as_bytes(), &content, b"\r\n0\r\n\r\n"].concat();
        assert!(received == expected, "{} bytes", received.len());
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_made_nothing_for() {
        const PIECE: Bytes = Bytes::from_static(&[b'x'; 64 * 1024]);
        let (mut socket, client) = pair().await;
        let taken = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&taken);
        let pieces = stream::repeat_with(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            PIECE
        });
        let mut sending = pin!(send(&mut socket, Body::stream(pieces)));
        // The kernel takes what it has room for; then nothing moves, however often it is tried.
        let (mut before, mut unmoved) = (0, 0);
        while unmoved < 100 {
            assert!(sending.as_mut().now_or_never().is_none());
            tokio::task::yield_now().await;
            let now = taken.load(Ordering::Relaxed);
            unmoved = if now == before { unmoved + 1 } else { 0 };
            before = now;
            assert!(now < 1_000, "64 MB were made for nobody");
        }
        drop(client);
        sending.await.unwrap_err();
    }

    #[tokio::test]
    async fn a_silent_body_ends_when_its_client_leaves() {
        let (mut socket, mut client) = pair().await;
        let mut sending = pin!(send(&mut socket, Body::stream(stream::pending())));
        client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        assert!(sending.as_mut().now_or_never().is_none());
        drop(client);
        let error = sending.await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
