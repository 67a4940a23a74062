//! A small HTTP client that shows every code, header and byte.

mod answer;
mod events;
mod raw;
mod shared;
mod web_socket;

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Method, Request, request::Builder};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;

pub(crate) use answer::{Answer, names, version};
pub(crate) use events::{Event, Events};
pub(crate) use raw::RawConnection;
pub(crate) use shared::{SharedConnection, get};
pub(crate) use web_socket::{WebSocket, upgrade};

use crate::running::within;

/// Talks to one server over kept HTTP/1.1 connections. Clones share them.
#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    http: HttpClient<HttpConnector, Full<Bytes>>,
}

/// The content type of a kind of patch.
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = HttpClient::builder(TokioExecutor::new()).build(connector);
        Self { address, http }
    }

    /// A request that a test gives its own headers and body.
    pub(crate) fn call(&self, method: Method, path: &str) -> Call<'_> {
        let uri = format!("http://{}{path}", self.address);
        Call {
            client: self,
            request: Request::builder().method(method).uri(uri),
            body: Bytes::new(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path).answer().await
    }

    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Answer {
        let call = self.call(Method::GET, path);
        call.header("accept", accept).answer().await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Answer {
        self.call(Method::POST, path).json(object).answer().await
    }

    pub(crate) async fn put(&self, path: &str, object: &Value) -> Answer {
        self.call(Method::PUT, path).json(object).answer().await
    }

    pub(crate) async fn patch(&self, path: &str, patch_type: &str, patch: &Value) -> Answer {
        let call = self.call(Method::PATCH, path);
        let call = call.body(patch_type, patch.to_string());
        call.answer().await
    }

    /// Merges these fields into an object.
    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Answer {
        self.patch(path, MERGE_PATCH, patch).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path).answer().await
    }

    /// Deletes with options in the body.
    pub(crate) async fn delete_with(&self, path: &str, options: &Value) -> Answer {
        self.call(Method::DELETE, path).json(options).answer().await
    }

    /// Opens a watch, which must be accepted.
    pub(crate) async fn watch(&self, path: &str) -> Events {
        self.call(Method::GET, path).events().await
    }

    /// A connection on which a test writes bytes of its own.
    pub(crate) async fn raw(&self) -> RawConnection {
        RawConnection::open(self.address).await
    }
}

/// A request under construction.
pub(crate) struct Call<'a> {
    client: &'a Client,
    request: Builder,
    body: Bytes,
}

impl Call<'_> {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) fn body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    pub(crate) fn json(self, object: &Value) -> Self {
        self.body("application/json", object.to_string())
    }

    pub(crate) async fn answer(self) -> Answer {
        let (head, body) = self.begin().await.into_parts();
        let body = within(body.collect()).await.unwrap().to_bytes();
        Answer {
            code: head.status.as_u16(),
            headers: head.headers,
            body,
        }
    }

    pub(crate) async fn events(self) -> Events {
        let response = self.begin().await;
        assert_eq!(response.status(), 200);
        Events::new(response)
    }

    /// The bytes of the answer as they come, which must be accepted.
    pub(crate) async fn chunks(self) -> Chunks {
        let response = self.begin().await;
        assert_eq!(response.status(), 200);
        Chunks(response.into_body())
    }

    async fn begin(self) -> http::Response<hyper::body::Incoming> {
        let request = self.request.body(Full::new(self.body)).unwrap();
        within(self.client.http.request(request)).await.unwrap()
    }
}

/// The bytes of an answer as they come.
pub(crate) struct Chunks(hyper::body::Incoming);

impl Chunks {
    /// The next bytes, which must come.
    pub(crate) async fn next(&mut self) -> Bytes {
        let frame = within(self.0.frame()).await.expect("the answer goes on");
        frame.unwrap().into_data().expect("there are no trailers")
    }
}
