//! Requests over HTTP/1.1, each on a connection of its own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Watches that are open, and what they are sent.
pub(super) struct Http1Watches(Vec<BufReader<TcpStream>>);

impl Http1Watches {
    pub(super) fn open(address: &str, count: usize, path: &str) -> Result<Self> {
        let open = |_| -> Result<_> {
            let mut stream = BufReader::with_capacity(2048, connect(address)?);
            stream.get_mut().write_all(request(path).as_bytes())?;
            let head = read_head(&mut stream)?;
            ensure!(head.starts_with("HTTP/1.1 200"), "no watch: {head}");
            Ok(stream)
        };
        Ok(Self((0..count).map(open).collect::<Result<_>>()?))
    }

    pub(super) fn connections(&self) -> usize {
        self.0.len()
    }

    pub(super) fn read_event(&mut self) -> Result<()> {
        for stream in &mut self.0 {
            let mut size = String::new();
            stream.read_line(&mut size)?;
            let size = u64::from_str_radix(size.trim_end(), 16).context("not a chunk")?;
            let mut chunk = Vec::new();
            stream.take(size + 2).read_to_end(&mut chunk)?;
            ensure!(chunk.ends_with(b"}\n\r\n"), "not one event");
        }
        Ok(())
    }
}

/// The answer to a request, with its head.
pub(super) fn get(address: &str, path: &str) -> Result<String> {
    exchange(address, &request(path))
}

pub(super) fn create_config_map(address: &str, name: &str) -> Result<()> {
    let body = format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"is":"blue"}}}}"#);
    let length = body.len();
    let head = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: measure\r\n";
    let answer = exchange(
        address,
        &format!("{head}Content-Length: {length}\r\n\r\n{body}"),
    )?;
    ensure!(answer.starts_with("HTTP/1.1 201"), "not created: {answer}");
    Ok(())
}

fn exchange(address: &str, request: &str) -> Result<String> {
    let mut stream = BufReader::new(connect(address)?);
    stream.get_mut().write_all(request.as_bytes())?;
    read_head(&mut stream)
}

fn request(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: measure\r\nUser-Agent: measure/1\r\n\
         Accept: application/json\r\n\r\n"
    )
}

fn connect(address: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).context("cannot connect")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn read_head(stream: &mut BufReader<TcpStream>) -> Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        ensure!(stream.read_line(&mut head)? > 0, "closed after {head:?}");
    }
    Ok(head)
}
