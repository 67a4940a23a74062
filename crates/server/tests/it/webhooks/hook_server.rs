//! A webhook over HTTPS on a free port, with a certificate of its own making.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{OwnedRwLockWriteGuard, RwLock},
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivateKeyDer},
};

type Behaviour = dyn Fn(&Value) -> Value + Send + Sync;

/// A webhook that behaves as a test says, and remembers what it was asked.
pub(crate) struct HookServer {
    address: SocketAddr,
    certificate: String,
    asked: Arc<Mutex<Vec<Value>>>,
    /// Held by a test that wants answers to wait.
    gate: Arc<RwLock<()>>,
    running: JoinHandle<()>,
}

impl Drop for HookServer {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl HookServer {
    /// Starts one that makes the `response` of each review from its `request`.
    pub(crate) async fn start(answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Self {
        let answer = move |review: &Value| {
            let mut response = answer(&review["request"]);
            response["uid"] = review["request"]["uid"].clone();
            json!({
                "kind": "AdmissionReview",
                "apiVersion": "admission.k8s.io/v1",
                "response": response,
            })
        };
        Self::start_named("127.0.0.1", answer).await
    }

    /// Starts one with a certificate for this name that makes whole answers of whole reviews.
    pub(crate) async fn start_named(
        name: &str,
        answer: impl Fn(&Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        let names = vec![name.to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answer: Arc<Behaviour> = Arc::new(answer);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let gate = Arc::default();
        let hook = Hook {
            answer,
            asked: Arc::clone(&asked),
            gate: Arc::clone(&gate),
        };
        let running = tokio::spawn(serve(listener, acceptor, hook));
        Self {
            gate,
            address,
            certificate: made.cert.pem(),
            asked,
            running,
        }
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().clone()
    }

    /// Lets answers wait until what is given back is dropped.
    pub(crate) async fn hold(&self) -> OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.gate).write_owned().await
    }

    /// The port on which it listens.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Where it is, as a configuration says it.
    pub(crate) fn client_config(&self) -> Value {
        json!({
            "url": format!("https://{}/hook", self.address),
            "caBundle": STANDARD.encode(&self.certificate),
        })
    }
}

/// What a webhook does with a question.
#[derive(Clone)]
struct Hook {
    answer: Arc<Behaviour>,
    asked: Arc<Mutex<Vec<Value>>>,
    gate: Arc<RwLock<()>>,
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, hook: Hook) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, hook) = (acceptor.clone(), hook.clone());
        tokio::spawn(async move {
            let Ok(secured) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(|request: Request<Incoming>| {
                let Hook {
                    answer,
                    asked,
                    gate,
                } = &hook;
                async move {
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let review: Value = serde_json::from_slice(&body).unwrap();
                    asked.lock().push(review["request"].clone());
                    let answer = answer(&review);
                    drop(gate.read().await);
                    let body = Full::new(Bytes::from(answer.to_string()));
                    Ok::<_, Infallible>(Response::new(body))
                }
            });
            drop(
                http1::Builder::new()
                    .serve_connection(TokioIo::new(secured), service)
                    .await,
            );
        });
    }
}
