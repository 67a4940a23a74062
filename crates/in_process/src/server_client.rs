//! kube's client on a server of the same process.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header::USER_AGENT};
use kube::{Client, client::Body};
use listwatch_server::{AnswerBody, ServerHandle};
use thiserror::Error;
use tower_service::Service;

/// The namespace of requests that name none.
const DEFAULT_NAMESPACE: &str = "default";

/// What a client is called that has no other name.
const DEFAULT_USER_AGENT: &str = "listwatch-in-process";

/// A client whose requests are answered by a server of this process. Nothing is encoded for a
/// socket, and none is open. After the server has stopped all requests fail.
///
/// Watches are streams. WebSockets need a connection: give those clients the server's address.
pub fn client(server: ServerHandle) -> Client {
    client_named(server, DEFAULT_USER_AGENT)
}

/// The same, for a program that has a name: it shows in `managedFields`.
pub fn client_named(server: ServerHandle, user_agent: &'static str) -> Client {
    let user_agent = HeaderValue::from_static(user_agent);
    Client::new(InProcess { server, user_agent }, DEFAULT_NAMESPACE)
}

#[derive(Clone)]
struct InProcess {
    server: ServerHandle,
    user_agent: HeaderValue,
}

/// Why a request was not answered.
#[derive(Debug, Error)]
enum Unanswered {
    #[error(transparent)]
    Stopped(#[from] listwatch_server::ServerStopped),
    #[error("the body could not be read: {0}")]
    Body(#[from] kube::Error),
}

impl Service<Request<Body>> for InProcess {
    type Response = Response<AnswerBody>;
    type Error = Unanswered;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Unanswered>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Unanswered>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (server, user_agent) = (self.server.clone(), self.user_agent.clone());
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            head.headers.entry(USER_AGENT).or_insert(user_agent);
            let body: Bytes = body.collect_bytes().await?;
            Ok(server.call(Request::from_parts(head, body)).await?)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, sync::Arc};

    use futures_util::StreamExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{
        Api,
        api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams},
    };
    use listwatch_server::{RunningServer, Settings};
    use listwatch_store::MemoryStore;
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    async fn server() -> RunningServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let store = Arc::new(MemoryStore::new());
        RunningServer::start(listener, store, Settings::default())
            .await
            .unwrap()
    }

    fn color() -> ConfigMap {
        serde_json::from_value(json!({"metadata": {"name": "color"}, "data": {"is": "blue"}}))
            .unwrap()
    }

    #[tokio::test]
    async fn a_client_of_the_same_process_writes_reads_and_watches() {
        let server = server().await;
        let api: Api<ConfigMap> = Api::default_namespaced(client(server.handle()));
        let before = api.list(&ListParams::default()).await.unwrap();
        let version = before.metadata.resource_version.unwrap();
        let watch = api.watch(&WatchParams::default(), &version).await.unwrap();
        let mut watch = pin!(watch);
        api.create(&PostParams::default(), &color()).await.unwrap();
        let refused = api.create(&PostParams::default(), &color()).await;
        assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 409));
        api.delete("color", &DeleteParams::default()).await.unwrap();
        let mut told = Vec::new();
        while told.len() < 2 {
            match watch.next().await.unwrap().unwrap() {
                WatchEvent::Added(object) => told.push(("added", object.data)),
                WatchEvent::Deleted(object) => told.push(("deleted", object.data)),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(told, [("added", color().data), ("deleted", color().data)]);
        server.shutdown().await;
    }

    #[tokio::test]
    async fn a_client_of_a_server_that_has_stopped_says_so() {
        let server = server().await;
        let api: Api<ConfigMap> = Api::default_namespaced(client(server.handle()));
        server.shutdown().await;
        let error = api.get("color").await.unwrap_err();
        assert!(format!("{error:?}").contains("Stopped"), "{error:?}");
    }
}
