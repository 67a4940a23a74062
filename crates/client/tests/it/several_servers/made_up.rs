//! Servers that do one and the same with every request.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What a server does with every request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Manner {
    /// Closes the connection.
    Cut,
    /// Says nothing.
    Silent,
    /// Answers with a status and a body.
    Answer(&'static str, &'static str),
}

pub(super) const FOUND: Manner = Manner::Answer("200 OK", r#"{"metadata":{"name":"here"}}"#);
pub(super) const MISSING: Manner = Manner::Answer("404 Not Found", r#"{"code":404}"#);
pub(super) const UNAVAILABLE: Manner = Manner::Answer("503 Service Unavailable", r#"{"code":503}"#);
pub(super) const BUSY: Manner = Manner::Answer("429 Too Many Requests", r#"{"code":429}"#);
pub(super) const SLOW: Manner =
    Manner::Answer("504 Gateway Timeout", r#"{"code":504,"message":"slow"}"#);
pub(super) const BEHIND: Manner = Manner::Answer(
    "504 Gateway Timeout",
    r#"{"code":504,"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#,
);

pub(super) struct Server {
    pub(super) address: SocketAddr,
    requests: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Server {
    pub(super) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, manner, Arc::clone(&counted)));
            }
        });
        Self {
            address,
            requests,
            task,
        }
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut connection: TcpStream, manner: Manner, requests: Arc<AtomicUsize>) {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        let Ok(byte) = connection.read_u8().await else {
            return;
        };
        asked.push(byte);
    }
    let head = String::from_utf8(asked).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
    connection.read_exact(&mut vec![0; length]).await.unwrap();
    requests.fetch_add(1, Ordering::SeqCst);
    match manner {
        Manner::Cut => {}
        Manner::Silent => std::future::pending().await,
        Manner::Answer(status, body) => {
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n");
            let answer = format!("{head}Connection: close\r\n\r\n{body}");
            connection.write_all(answer.as_bytes()).await.unwrap();
            connection.shutdown().await.unwrap();
        }
    }
}
