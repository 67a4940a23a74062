//! Sends requests over kept connections and tells good answers from bad ones.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use listwatch_api::Status;
use serde::de::DeserializeOwned;

use super::{InvalidAddress, RequestError};

/// How long an answer may take to begin, and then to end. After that the connection counts as lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest answer that is read into memory. A longer one is [`RequestError::Unreadable`].
const ANSWER_BYTES_MAX: usize = 1 << 30;

const JSON: &str = "application/json";

/// A connection to a Kubernetes API. Cheap to clone: clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: HttpClient<HttpConnector, Full<Bytes>>,
    authority: http::uri::Authority,
    answer_timeout: Duration,
}

impl Client {
    /// A client of the server at `http://host:port`. Connects when it first needs to.
    pub fn new(address: &str) -> Result<Self, InvalidAddress> {
        let invalid = |reason: String| InvalidAddress {
            address: address.to_owned(),
            reason,
        };
        let uri: Uri = address
            .parse()
            .map_err(|error| invalid(format!("{error}")))?;
        let parts = uri.into_parts();
        let authority = parts
            .authority
            .ok_or_else(|| invalid("no host".to_owned()))?;
        if parts.scheme != Some(http::uri::Scheme::HTTP) {
            return Err(invalid("the scheme is not http".to_owned()));
        }
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = HttpClient::builder(TokioExecutor::new()).build(connector);
        Ok(Self {
            http,
            authority,
            answer_timeout: ANSWER_TIMEOUT,
        })
    }

    /// The same, with another limit on how long an answer may take to begin, and then to end.
    #[must_use]
    pub fn with_answer_timeout(self, answer_timeout: Duration) -> Self {
        Self {
            answer_timeout,
            ..self
        }
    }

    /// `host:port`
    pub(crate) fn authority(&self) -> &str {
        self.authority.as_str()
    }

    pub(crate) async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, RequestError> {
        let request = self.request(Method::GET, path, None, Bytes::new());
        self.answer(request).await
    }

    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Bytes,
    ) -> Result<T, RequestError> {
        let request = self.request(method, path, Some(content_type.unwrap_or(JSON)), body);
        self.answer(request).await
    }

    /// Opens a stream: the answer's body as it comes.
    pub(crate) async fn open(&self, path: &str) -> Result<Incoming, RequestError> {
        let request = self.request(Method::GET, path, None, Bytes::new());
        Ok(self.begin(request).await?.into_body())
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Bytes,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.authority))
            .header(header::ACCEPT, JSON)
            .header(
                header::USER_AGENT,
                concat!("listwatch/", env!("CARGO_PKG_VERSION")),
            );
        if let Some(content_type) = content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let request = request.body(Full::new(body));
        request.expect("paths are encoded and headers are constants")
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<T, RequestError> {
        let response = self.begin(request).await?;
        let body = self.collect(response.into_body()).await?;
        serde_json::from_slice(&body).map_err(|error| RequestError::Unreadable {
            reason: error.to_string(),
        })
    }

    /// The answer, once it is known to be a good one.
    async fn begin(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, RequestError> {
        let sent = tokio::time::timeout(self.answer_timeout, self.http.request(request));
        let sent = sent.await.map_err(|_| self.no_answer())?;
        let response = sent.map_err(|error| {
            let reason = chain(&error);
            if error.is_connect() {
                RequestError::Unreachable { reason }
            } else {
                RequestError::Disconnected { reason }
            }
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let code = response.status().as_u16();
        let retry_after = retry_after(&response);
        let body = self.collect(response.into_body()).await?;
        Err(RequestError::from_status(status(code, &body), retry_after))
    }

    async fn collect(&self, body: Incoming) -> Result<Bytes, RequestError> {
        let whole = Limited::new(body, ANSWER_BYTES_MAX).collect();
        let whole = tokio::time::timeout(self.answer_timeout, whole).await;
        let whole = whole.map_err(|_| self.no_answer())?;
        let whole = whole.map_err(|error| RequestError::Disconnected {
            reason: chain(&*error),
        })?;
        Ok(whole.to_bytes())
    }

    fn no_answer(&self) -> RequestError {
        RequestError::Disconnected {
            reason: format!("no answer in {:?}", self.answer_timeout),
        }
    }
}

/// The status that the server gave; one made from the code when the body is none.
fn status(code: u16, body: &[u8]) -> Status {
    let given = serde_json::from_slice::<Status>(body).ok();
    let mut status =
        given.unwrap_or_else(|| Status::failure(code, None, String::from_utf8_lossy(body)));
    status.code.get_or_insert(code);
    status
}

fn retry_after(response: &Response<Incoming>) -> Option<Duration> {
    let value = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?;
    value.parse().ok().map(Duration::from_secs)
}

/// An error with all that caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_addresses_are_taken() {
        assert!(Client::new("http://127.0.0.1:8080").is_ok());
        for address in ["https://127.0.0.1:8080", "127.0.0.1:8080", "", "http://"] {
            let error = Client::new(address).unwrap_err();
            assert!(error.to_string().contains("http://host:port"), "{error}");
        }
    }

    #[test]
    fn an_answer_without_a_status_becomes_one() {
        let status = status(429, b"Too many requests, please try again later.");
        assert_eq!(status.http_code(), 429);
        assert_eq!(status.message, "Too many requests, please try again later.");
    }
}
