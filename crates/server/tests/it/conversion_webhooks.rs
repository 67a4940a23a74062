//! Webhooks that convert custom resources from one version into another, for readers, writers and
//! watchers.

mod failing;
mod reading;
mod watching;
mod writing;

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    client::Answer,
    running::{TestServer, start_server},
    webhooks::hook_server::HookServer,
};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.com";
/// The stored version, in which a color is a text.
const V1: &str = "/apis/ex.com/v1/namespaces/default/widgets";
/// The other, in which it is part of a paint.
const V2: &str = "/apis/ex.com/v2/namespaces/default/widgets";

/// A change that a test makes to each answer.
type Twist = Box<dyn Fn(&mut Value) + Send + Sync>;

/// A server with a kind that a webhook converts.
struct Scene {
    server: TestServer,
    hook: HookServer,
    twist: Arc<Mutex<Option<Twist>>>,
}

impl Scene {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A scene whose definition a test changes before it is stored.
    async fn with(change: impl FnOnce(&mut Value)) -> Self {
        let server = start_server().await;
        let (hook, twist) = start_hook("127.0.0.1").await;
        let mut definition = definition(&hook.client_config());
        change(&mut definition);
        server.post(DEFINITIONS, &definition).await.created();
        Self {
            server,
            hook,
            twist,
        }
    }

    /// Lets the webhook answer otherwise from now on.
    fn twist(&self, twist: impl Fn(&mut Value) + Send + Sync + 'static) {
        *self.twist.lock() = Some(Box::new(twist));
    }

    /// Lets it answer rightly again.
    fn untwist(&self) {
        *self.twist.lock() = None;
    }

    /// How often it was asked.
    fn questions(&self) -> usize {
        self.hook.asked().len()
    }

    /// Creates a widget in the stored version, which needs no webhook.
    async fn store(&self, name: &str, color: &str) -> Value {
        self.server
            .post(V1, &widget_v1(name, color))
            .await
            .created()
    }

    async fn get_v2(&self, name: &str) -> Answer {
        self.server.get(&format!("{V2}/{name}")).await
    }
}

async fn start_hook(name: &str) -> (HookServer, Arc<Mutex<Option<Twist>>>) {
    let twist: Arc<Mutex<Option<Twist>>> = Arc::default();
    let twisted = Arc::clone(&twist);
    let hook = HookServer::start_named(name, move |review| {
        let mut answer = converted(review);
        if let Some(twist) = &*twisted.lock() {
            twist(&mut answer);
        }
        answer
    });
    (hook.await, twist)
}

/// The right answer to a review.
fn converted(review: &Value) -> Value {
    let request = &review["request"];
    let desired = request["desiredAPIVersion"].as_str().unwrap();
    let objects = request["objects"].as_array().unwrap().iter();
    let objects: Vec<Value> = objects.map(|object| convert(object, desired)).collect();
    json!({
        "kind": "ConversionReview",
        "apiVersion": review["apiVersion"],
        "response": {
            "uid": request["uid"],
            "convertedObjects": objects,
            "result": {"status": "Success"},
        },
    })
}

fn convert(object: &Value, desired: &str) -> Value {
    let mut converted = object.clone();
    converted["apiVersion"] = json!(desired);
    let Some(spec) = converted.get_mut("spec").and_then(Value::as_object_mut) else {
        return converted;
    };
    match desired {
        "ex.com/v2" => {
            if let Some(color) = spec.remove("color") {
                spec.insert("paint".to_owned(), json!({"color": color}));
            }
        }
        _ => {
            if let Some(paint) = spec.remove("paint") {
                spec.insert("color".to_owned(), paint["color"].clone());
            }
        }
    }
    converted
}

fn version(name: &str, spec: &Value, color: &str) -> Value {
    json!({
        "name": name, "served": true, "storage": name == "v1",
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
        },
        "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": color}],
        "selectableFields": [{"jsonPath": color}],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
        }}},
    })
}

fn definition(client_config: &Value) -> Value {
    let v1 = json!({
        "color": {"type": "string", "maxLength": 10},
        "size": {"type": "integer", "default": 3},
    });
    let v2 = json!({
        "paint": {"type": "object", "properties": {
            "color": {"type": "string", "maxLength": 8},
        }},
        "size": {"type": "integer", "default": 5},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.ex.com"},
        "spec": {
            "group": "ex.com",
            "scope": "Namespaced",
            "names": {
                "plural": "widgets", "singular": "widget", "kind": "Widget",
                "listKind": "WidgetList",
            },
            "versions": [
                version("v1", &v1, ".spec.color"),
                version("v2", &v2, ".spec.paint.color"),
            ],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": client_config,
            }},
        },
    })
}

fn widget_v1(name: &str, color: &str) -> Value {
    json!({
        "apiVersion": "ex.com/v1", "kind": "Widget",
        "metadata": {"name": name}, "spec": {"color": color},
    })
}

fn widget_v2(name: &str, color: &str) -> Value {
    json!({
        "apiVersion": "ex.com/v2", "kind": "Widget",
        "metadata": {"name": name}, "spec": {"paint": {"color": color}},
    })
}
