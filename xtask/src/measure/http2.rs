//! Watches over HTTP/2, many on a connection, with the few frames that this takes.

use std::{
    io::{BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Streams that the server allows on a connection, unless it says otherwise.
const STREAMS: usize = 250;
/// Bytes that the server may send without being told that they were read.
const WINDOW: u32 = 1 << 30;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

const ACKNOWLEDGED: u8 = 0x1;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// Watches that are open, and what they are sent.
pub(super) struct Http2Watches(Vec<Connection>);

impl Http2Watches {
    pub(super) fn open(address: &str, count: usize, path: &str) -> Result<Self> {
        let mut connections = Vec::new();
        for first in (0..count).step_by(STREAMS) {
            let mut connection = Connection::open(address)?;
            for _ in first..count.min(first + STREAMS) {
                connection.watch(path)?;
            }
            connections.push(connection);
        }
        Ok(Self(connections))
    }

    pub(super) fn connections(&self) -> usize {
        self.0.len()
    }

    pub(super) fn read_event(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(Connection::read_event)
    }
}

struct Connection {
    stream: BufReader<TcpStream>,
    watches: u32,
}

struct Frame {
    kind: u8,
    flags: u8,
    payload: Vec<u8>,
}

impl Connection {
    fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).context("cannot connect")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut connection = Self {
            stream: BufReader::new(stream),
            watches: 0,
        };
        connection.stream.get_mut().write_all(PREFACE)?;
        let initial_window = [&[0, 4][..], &WINDOW.to_be_bytes()].concat();
        connection.write(SETTINGS, 0, (0, &initial_window))?;
        connection.write(WINDOW_UPDATE, 0, (0, &WINDOW.to_be_bytes()))?;
        Ok(connection)
    }

    /// Opens a watch on the next stream, and waits for the head of its answer.
    fn watch(&mut self, path: &str) -> Result<()> {
        let stream = 1 + 2 * self.watches;
        let flags = END_STREAM | END_HEADERS;
        self.write(HEADERS, flags, (stream, &head(path)))?;
        let frame = self.next(HEADERS)?;
        // The first entry of a head is its status; the table of HPACK has 200 at place 8.
        ensure!(frame.payload.first() == Some(&0x88), "no watch on a stream");
        self.watches += 1;
        Ok(())
    }

    /// Waits until every stream has been sent one line more.
    fn read_event(&mut self) -> Result<()> {
        let mut missing = self.watches as usize;
        while missing > 0 {
            let frame = self.next(DATA)?;
            missing -= frame.payload.iter().filter(|&&byte| byte == b'\n').count();
        }
        Ok(())
    }

    /// The next frame of a kind; what comes before it is answered where it wants an answer.
    fn next(&mut self, kind: u8) -> Result<Frame> {
        loop {
            let frame = self.read()?;
            match frame.kind {
                wanted if wanted == kind => return Ok(frame),
                SETTINGS if frame.flags & ACKNOWLEDGED == 0 => {
                    self.write(SETTINGS, ACKNOWLEDGED, (0, &[]))?;
                }
                PING if frame.flags & ACKNOWLEDGED == 0 => {
                    self.write(PING, ACKNOWLEDGED, (0, &frame.payload))?;
                }
                _ => {}
            }
        }
    }

    fn read(&mut self) -> Result<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let [high, middle, low, kind, flags, ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok(Frame {
            kind,
            flags,
            payload,
        })
    }

    fn write(&mut self, kind: u8, flags: u8, (stream, payload): (u32, &[u8])) -> Result<()> {
        let length = u32::try_from(payload.len())?.to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        Ok(self.stream.get_mut().write_all(&frame)?)
    }
}

/// A request in HPACK: two entries of its table, then texts as they are.
fn head(path: &str) -> Vec<u8> {
    const METHOD_GET: u8 = 0x82;
    const SCHEME_HTTP: u8 = 0x86;
    let mut head = vec![METHOD_GET, SCHEME_HTTP];
    for (name, value) in [(0x01, "measure"), (0x04, path)] {
        let length = u8::try_from(value.len()).expect("paths here are short");
        assert!(length < 0x7f, "a longer text has a longer length");
        head.extend([name, length]);
        head.extend(value.as_bytes());
    }
    head
}
