//! Asks programs elsewhere over HTTPS: webhooks of admission and of conversion.
//!
//! Owns the connections, of which a few stay open for the next question. The texts of what goes
//! wrong are those that Kubernetes' users know.

mod target;
mod trust;

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use crate::server::Server;

pub(crate) use target::Target;

/// Connections to one webhook that stay open while nobody uses them. Further ones are closed.
const IDLE_MAX: usize = 8;

/// Webhooks to which connections stay open. At the bound all are closed and it begins anew.
const TARGETS_MAX: usize = 256;

/// Bytes of an answer. A longer one is refused.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long it may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks webhooks. Cheap to have when none is asked.
#[derive(Default)]
pub(crate) struct WebhookClient {
    idle: Mutex<HashMap<Target, Vec<SendRequest<Full<Bytes>>>>>,
}

impl WebhookClient {
    /// The body of a webhook's answer to this question. The client must stop waiting after this
    /// many seconds, which the webhook is told.
    pub(crate) async fn call(
        &self,
        server: &Server,
        target: &Target,
        body: Vec<u8>,
        timeout_seconds: u64,
    ) -> Result<Bytes, String> {
        let url = target.url_with_timeout(timeout_seconds);
        let body = Bytes::from(body);
        if let Some(mut connection) = self.take_idle(target) {
            let answered = exchange(&mut connection, target, (&url, body.clone())).await;
            if let Ok(answer) = answered {
                self.keep(target, connection);
                return judge(answer);
            }
        }
        let failed = |why: String| format!("Post {url:?}: {why}");
        let connecting = timeout(CONNECT_TIMEOUT, connect(server, target)).await;
        let connecting = connecting.unwrap_or_else(|_| Err("context deadline exceeded".to_owned()));
        let mut connection = connecting.map_err(failed)?;
        let answer = exchange(&mut connection, target, (&url, body)).await;
        let answer = answer.map_err(failed)?;
        self.keep(target, connection);
        judge(answer)
    }

    fn take_idle(&self, target: &Target) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.lock();
        let connections = idle.get_mut(target)?;
        while let Some(connection) = connections.pop() {
            if connection.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    fn keep(&self, target: &Target, connection: SendRequest<Full<Bytes>>) {
        let mut idle = self.idle.lock();
        if idle.len() >= TARGETS_MAX && !idle.contains_key(target) {
            idle.clear();
        }
        let connections = idle.entry(target.clone()).or_default();
        if connections.len() < IDLE_MAX {
            connections.push(connection);
        }
    }
}

struct Answer {
    code: StatusCode,
    body: Bytes,
}

fn judge(answer: Answer) -> Result<Bytes, String> {
    if answer.code.is_success() {
        return Ok(answer.body);
    }
    let text = String::from_utf8_lossy(&answer.body);
    let text = text.trim();
    Err(match answer.code {
        StatusCode::NOT_FOUND => "the server could not find the requested resource".to_owned(),
        StatusCode::BAD_REQUEST => {
            "the server rejected our request for an unknown reason".to_owned()
        }
        code if code.is_server_error() => {
            format!("an error on the server ({text:?}) has prevented the request from succeeding")
        }
        code => format!(
            "the server responded with the status code {}",
            code.as_u16()
        ),
    })
}

async fn exchange(
    connection: &mut SendRequest<Full<Bytes>>,
    target: &Target,
    (url, body): (&str, Bytes),
) -> Result<Answer, String> {
    let told = |error: hyper::Error| error.to_string();
    connection.ready().await.map_err(told)?;
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/{path}"))
        .header(header::HOST, target.authority())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, */*")
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(body))
        .map_err(|error| error.to_string())?;
    let response = connection.send_request(request).await.map_err(told)?;
    let code = response.status();
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
    let body = body.collect().await.map_err(|error| error.to_string())?;
    Ok(Answer {
        code,
        body: body.to_bytes(),
    })
}

async fn connect(server: &Server, target: &Target) -> Result<SendRequest<Full<Bytes>>, String> {
    let (host, port) = target.resolve(server)?;
    let stream = TcpStream::connect((host.as_str(), port)).await;
    let stream = stream.map_err(|error| match error.kind() {
        std::io::ErrorKind::ConnectionRefused => {
            format!("dial tcp {host}:{port}: connect: connection refused")
        }
        _ => format!("dial tcp {host}:{port}: {error}"),
    })?;
    let config = trust::client_config(target.authorities())?;
    let name = ServerName::try_from(target.server_name().to_owned());
    let name = name.map_err(|error| error.to_string())?;
    let secured = TlsConnector::from(Arc::new(config)).connect(name, stream);
    let secured = secured
        .await
        .map_err(|error| format!("tls: failed to verify certificate: {error}"))?;
    let shaken = http1::handshake(TokioIo::new(secured)).await;
    let (sender, connection) = shaken.map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!("a connection to a webhook ended: {error}");
        }
    });
    Ok(sender)
}
