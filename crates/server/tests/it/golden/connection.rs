//! The least HTTP/1.1 client that can hold an answer open.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use super::script::Request;

const READ_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Response {
    pub(super) fn header_values(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(header, _)| header == name);
        named.map(|(_, value)| value.as_str()).collect()
    }
}

/// An answer whose body has not been read.
pub(super) struct OpenResponse {
    head: Response,
    reader: BufReader<TcpStream>,
}

/// Sends a request and reads the head of its answer.
pub(super) fn open(address: SocketAddr, request: &Request) -> OpenResponse {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
    let Request {
        method,
        target,
        headers,
        body,
    } = request;
    let mut text = format!("{method} {target} HTTP/1.1\r\nhost: {address}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !headers.iter().any(|(name, _)| name == "user-agent") {
        text.push_str("user-agent: gold/1\r\n");
    }
    text.push_str("connection: close\r\n");
    text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(text.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let status = line(&mut reader);
    let mut headers = Vec::new();
    loop {
        let header = line(&mut reader);
        let Some((name, value)) = header.split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let head = Response {
        status: status.split(' ').nth(1).unwrap().parse().unwrap(),
        headers,
        body: String::new(),
    };
    OpenResponse { head, reader }
}

impl OpenResponse {
    /// The whole answer, when the server has ended it.
    pub(super) fn read_to_end(mut self) -> Response {
        let chunked = self
            .head
            .header_values("transfer-encoding")
            .contains(&"chunked");
        let mut body = Vec::new();
        if chunked {
            while let Some(chunk) = self.chunk() {
                body.extend(chunk);
            }
        } else {
            self.reader.read_to_end(&mut body).unwrap();
        }
        self.head.body = String::from_utf8(body).unwrap();
        self.head
    }

    fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&line(&mut self.reader), 16).unwrap();
        let mut chunk = vec![0; size];
        self.reader.read_exact(&mut chunk).unwrap();
        line(&mut self.reader);
        (size > 0).then_some(chunk)
    }
}

fn line(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}
