//! A server with controllers, and what a client sees of it.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::BoxStream};
use http::Request;
use k8s_openapi::jiff::Timestamp;
use kube::{
    Client,
    api::{DynamicObject, WatchEvent},
};
use listwatch::wall_clock::WallClock;
use listwatch_controllers::{Choice, Controllers, Settings};
use listwatch_server::RunningServer;
use listwatch_store::MemoryStore;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    time::{Instant, timeout},
};

/// How long something may take that should take milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Stage {
    pub(crate) server: RunningServer,
    pub(crate) client: Client,
    controllers: Option<Controllers>,
}

/// What comes over a watch.
pub(crate) struct Watch {
    events: BoxStream<'static, kube::Result<WatchEvent<DynamicObject>>>,
    pub(crate) seen: Vec<Value>,
}

impl Stage {
    /// A server without controllers.
    pub(crate) async fn bare() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let store = Arc::new(MemoryStore::new());
        let server = RunningServer::start(listener, store, Default::default());
        let server = server.await.unwrap();
        let client = listwatch_in_process::client_named(server.handle(), "golden");
        Self {
            server,
            client,
            controllers: None,
        }
    }

    /// A server with these controllers.
    pub(crate) async fn with(choice: &str) -> Self {
        let mut stage = Self::bare().await;
        stage.control(choice);
        stage
    }

    /// A server with controllers that run already.
    pub(crate) fn around(server: RunningServer, controllers: Controllers) -> Self {
        let client = listwatch_in_process::client_named(server.handle(), "golden");
        Self {
            server,
            client,
            controllers: Some(controllers),
        }
    }

    /// A server with all controllers and so many simulated nodes.
    pub(crate) async fn with_nodes(count: u32) -> Self {
        let mut stage = Self::bare().await;
        let settings = Settings {
            choice: Choice::default().with_workloads(),
            simulated_nodes: count,
            ..Settings::default()
        };
        stage.controllers = Some(Controllers::start(stage.server.handle(), settings));
        stage
    }

    /// The same, whose controllers see the time of day pass as timers do.
    pub(crate) async fn with_nodes_in_step(count: u32) -> Self {
        let mut stage = Self::bare().await;
        let (begun, timer) = (Timestamp::now(), Instant::now());
        let settings = Settings {
            choice: Choice::default().with_workloads(),
            simulated_nodes: count,
            clock: WallClock::simulated(move || begun + timer.elapsed()),
            ..Settings::default()
        };
        stage.controllers = Some(Controllers::start(stage.server.handle(), settings));
        stage
    }

    /// Starts controllers.
    pub(crate) fn control(&mut self, choice: &str) {
        let choice: Choice = choice.parse().unwrap();
        let settings = Settings {
            choice,
            ..Settings::default()
        };
        self.controllers = Some(Controllers::start(self.server.handle(), settings));
    }

    /// Ends in order: controllers, then the server.
    pub(crate) async fn end(self) {
        if let Some(controllers) = self.controllers {
            controllers.stop().await;
        }
        self.server.shutdown().await;
    }

    /// A request and its answer.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let bytes = body.map(|body| body.to_string()).unwrap_or_default();
        let content_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .header("user-agent", "golden")
            .body(bytes.into())
            .unwrap();
        let response = self.server.handle().call(request).await.unwrap();
        let code = response.status().as_u16();
        let body = http_body_util::BodyExt::collect(response.into_body());
        let body = body.await.unwrap().to_bytes();
        (code, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Creates an object and returns it.
    pub(crate) async fn create(&self, path: &str, body: Value) -> Value {
        let (code, answer) = self.ask("POST", path, Some(body)).await;
        assert_eq!(code, 201, "{answer}");
        answer
    }

    /// Deletes an object.
    pub(crate) async fn delete(&self, path: &str, policy: &str) -> (u16, Value) {
        let options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": policy,
        });
        self.ask("DELETE", path, Some(options)).await
    }

    /// Watches a collection from now on.
    pub(crate) async fn watch(&self, path: &str) -> Watch {
        let (_, list) = self.ask("GET", path, None).await;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap();
        let uri = format!("{path}?watch=1&resourceVersion={version}");
        let request = Request::get(uri).body(Vec::new()).unwrap();
        let events = self.client.request_events::<DynamicObject>(request);
        Watch {
            events: events.await.unwrap().boxed(),
            seen: Vec::new(),
        }
    }
}

impl Watch {
    /// The next event, as `TYPE` and the object.
    pub(crate) async fn next(&mut self) -> (&'static str, Value) {
        self.next_in(PATIENCE).await
    }

    /// The next event of something that takes its time.
    pub(crate) async fn next_in(&mut self, patience: Duration) -> (&'static str, Value) {
        let event = timeout(patience, self.events.next()).await;
        let event = event.unwrap_or_else(|_| panic!("nothing after {:#?}", self.seen));
        let (kind, object) = match event.unwrap().unwrap() {
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
            other => panic!("{other:?}"),
        };
        let object = serde_json::to_value(object).unwrap();
        self.seen.push(json!({"type": kind, "object": object}));
        (kind, object)
    }

    /// Waits for an event of this type about the object with this name.
    pub(crate) async fn until(&mut self, kind: &str, name: &str) -> Value {
        loop {
            let (seen, object) = self.next().await;
            if seen == kind && object["metadata"]["name"] == name {
                return object;
            }
        }
    }

    /// Waits for a state of the object with this name that passes.
    pub(crate) async fn until_passes(
        &mut self,
        name: &str,
        passes: impl Fn(&Value) -> bool,
    ) -> Value {
        loop {
            let (_, object) = self.next().await;
            if object["metadata"]["name"] == name && passes(&object) {
                return object;
            }
        }
    }

    /// What was seen so far, as `TYPE name`.
    pub(crate) fn summary(&self) -> Vec<String> {
        let seen = self.seen.iter();
        seen.map(|event| {
            let kind = event["type"].as_str().unwrap();
            let name = event["object"]["metadata"]["name"].as_str().unwrap();
            format!("{kind} {name}")
        })
        .collect()
    }
}

/// A config map.
pub(crate) fn config_map(name: &str) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}})
}

/// The same object with owners.
pub(crate) fn owned(mut object: Value, owners: &[Value]) -> Value {
    object["metadata"]["ownerReferences"] = json!(owners);
    object
}

/// A reference to an owner.
pub(crate) fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"],
    })
}

/// A reference to an owner that waits for the dependent.
pub(crate) fn waiting_owner(object: &Value) -> Value {
    let mut reference = owner(object);
    reference["blockOwnerDeletion"] = json!(true);
    reference
}

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A template of pods with this label and image.
pub(crate) fn template(app: &str, image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    })
}

/// Something that makes pods.
pub(crate) fn workload(api_version: &str, kind: &str, name: &str, replicas: i32) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name, "example.com/one:1"),
        },
    })
}

/// Whether an object has a condition: what it says, or nothing.
pub(crate) fn condition<'a>(object: &'a Value, name: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|it| it["type"] == name);
    found.map_or(&Value::Null, |it| &it["status"])
}
