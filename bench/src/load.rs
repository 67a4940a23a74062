//! Requests over kept connections, with nothing done that need not be.

use std::{ops::Range, sync::Arc};

use anyhow::{Context, Result, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::pods;

/// Connections that share the work.
const CONNECTIONS: usize = 32;

/// One HTTP/1.1 connection.
struct Connection {
    socket: TcpStream,
    buffer: Vec<u8>,
}

/// Creates pods.
pub(crate) async fn create_pods(address: &str, numbers: Range<usize>) -> Result<()> {
    share(address, numbers, |number| {
        let body = pods::submitted(number).to_string();
        format!(
            "POST /api/v1/namespaces/default/pods HTTP/1.1\r\nHost: bench\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    })
    .await
}

/// Reads pods one by one.
pub(crate) async fn get_pods(address: &str, numbers: Range<usize>, kinds: usize) -> Result<()> {
    share(address, numbers, move |number| {
        format!(
            "GET /api/v1/namespaces/default/pods/{} HTTP/1.1\r\nHost: bench\r\n\r\n",
            pods::name(number % kinds)
        )
    })
    .await
}

/// Requests that the server says it has answered for pods.
pub(crate) async fn requests_answered(address: &str) -> Result<u64> {
    let mut connection = Connection::open(address).await?;
    let answer = connection
        .exchange("GET /metrics HTTP/1.1\r\nHost: bench\r\n\r\n")
        .await?;
    let text = String::from_utf8_lossy(&answer);
    let counts = text.lines().filter(|line| {
        line.starts_with("apiserver_request_total") && line.contains("resource=\"pods\"")
    });
    let counts = counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    Ok(counts.sum::<f64>() as u64)
}

async fn share(
    address: &str,
    numbers: Range<usize>,
    request: impl Fn(usize) -> String + Send + Sync + 'static,
) -> Result<()> {
    let request = Arc::new(request);
    let mut tasks = JoinSet::new();
    for first in 0..CONNECTIONS {
        let mut connection = Connection::open(address).await?;
        let mine = numbers.clone().skip(first).step_by(CONNECTIONS);
        let request = Arc::clone(&request);
        tasks.spawn(async move {
            for number in mine {
                connection.exchange(&request(number)).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

impl Connection {
    async fn open(address: &str) -> Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self {
            socket,
            buffer: Vec::new(),
        })
    }

    /// The answer with its head.
    async fn exchange(&mut self, request: &str) -> Result<Vec<u8>> {
        self.socket.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        loop {
            let read = self.socket.read_buf(&mut self.buffer).await?;
            ensure!(read > 0, "the server hung up");
            if let Some(length) = answer_length(&self.buffer)?
                && self.buffer.len() >= length
            {
                return Ok(std::mem::take(&mut self.buffer));
            }
        }
    }
}

/// How long the answer is with its head, once the head is there.
fn answer_length(answer: &[u8]) -> Result<Option<usize>> {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&answer[..end])?.to_ascii_lowercase();
    ensure!(head.starts_with("http/1.1 20"), "refused: {head}");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .context("an answer without a length")?;
    Ok(Some(end + 4 + length.parse::<usize>()?))
}
