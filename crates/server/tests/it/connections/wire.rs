//! One connection, read as HTTP/1.1 writes it.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpSocket, TcpStream},
};

use crate::running::within;

/// What the kernel keeps for a client that does not read: little, so that it is soon full.
const RECEIVE_BUFFER_BYTES: u32 = 16 * 1024;

/// A client's end of a connection.
pub(super) struct Wire {
    stream: BufReader<TcpStream>,
}

/// The first part of an answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    text: String,
}

impl Head {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.text.lines().filter_map(|line| line.split_once(": "));
        let mut values = fields.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value)
    }
}

impl Wire {
    pub(super) async fn connect(server: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES).unwrap();
        let stream = BufReader::new(socket.connect(server).await.unwrap());
        Self { stream }
    }

    pub(super) async fn send(&mut self, text: impl AsRef<[u8]>) {
        let stream = self.stream.get_mut();
        stream.write_all(text.as_ref()).await.unwrap();
    }

    pub(super) async fn head(&mut self) -> Head {
        let mut text = String::new();
        while !text.ends_with("\r\n\r\n") {
            let count = within(self.stream.read_line(&mut text)).await.unwrap();
            assert_ne!(count, 0, "the answer ended within its head: {text}");
        }
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        Head { status, text }
    }

    /// The next chunk of a body; empty for the last.
    pub(super) async fn chunk(&mut self) -> String {
        let mut length = String::new();
        within(self.stream.read_line(&mut length)).await.unwrap();
        let length = usize::from_str_radix(length.trim_end(), 16).unwrap();
        let mut chunk = self.exactly(length + 2).await;
        assert_eq!(chunk.split_off(length), "\r\n");
        chunk
    }

    /// The rest of a chunked body.
    pub(super) async fn chunks(&mut self) -> String {
        let mut body = String::new();
        loop {
            match self.chunk().await.as_str() {
                "" => return body,
                chunk => body.push_str(chunk),
            }
        }
    }

    /// An answer of known length: its body.
    pub(super) async fn body(&mut self) -> String {
        let head = self.head().await;
        let length = head.header("content-length").unwrap().parse().unwrap();
        self.exactly(length).await
    }

    /// All that comes until the server closes the connection.
    pub(super) async fn until_closed(&mut self) -> String {
        let mut text = String::new();
        within(self.stream.read_to_string(&mut text)).await.unwrap();
        text
    }

    async fn exactly(&mut self, count: usize) -> String {
        let mut bytes = vec![0; count];
        within(self.stream.read_exact(&mut bytes)).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

/// A request for a path, with further header lines.
pub(super) fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n")
}
