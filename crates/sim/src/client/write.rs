//! Single objects: read one, and change one.

use bytes::Bytes;
use http::Method;
use listwatch_api::{ResourceVersion, Status};
use serde_json::{Value, json};

use super::{Client, Collection, RequestError};

/// A change to an object, relative to what there is.
#[derive(Clone, Debug)]
pub enum Patch {
    /// Members replace those of the object, `null` removes them (RFC 7386).
    Merge(Value),
    /// Operations one after the other (RFC 6902).
    Json(Value),
}

/// What must hold for a delete to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    None,
    /// The object is still at this version.
    Unchanged(ResourceVersion),
}

/// What came of a delete.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// The object is gone; the details name it.
    Gone(Box<Status>),
    /// The object is on its way out: this is its state until then.
    Marked(Box<Value>),
}

impl Client {
    /// The object of this name.
    pub async fn get(&self, collection: &Collection, name: &str) -> Result<Value, RequestError> {
        self.read(&collection.object_path(name)).await
    }

    /// Makes a new object and returns it as stored.
    pub async fn create(
        &self,
        collection: &Collection,
        object: &Value,
    ) -> Result<Value, RequestError> {
        let path = collection.path();
        self.send(Method::POST, &path, None, bytes(object)).await
    }

    /// Replaces an object and returns it as stored. When it carries a resourceVersion, only if the
    /// stored one is still at it.
    pub async fn update(
        &self,
        collection: &Collection,
        name: &str,
        object: &Value,
    ) -> Result<Value, RequestError> {
        let path = collection.object_path(name);
        self.send(Method::PUT, &path, None, bytes(object)).await
    }

    /// Changes an object and returns it as stored.
    pub async fn patch(
        &self,
        collection: &Collection,
        name: &str,
        patch: &Patch,
    ) -> Result<Value, RequestError> {
        let (content_type, body) = match patch {
            Patch::Merge(body) => ("application/merge-patch+json", body),
            Patch::Json(body) => ("application/json-patch+json", body),
        };
        let path = collection.object_path(name);
        self.send(Method::PATCH, &path, Some(content_type), bytes(body))
            .await
    }

    /// Deletes an object.
    pub async fn delete(
        &self,
        collection: &Collection,
        name: &str,
        precondition: Precondition,
    ) -> Result<Deleted, RequestError> {
        let body = match precondition {
            Precondition::None => Bytes::new(),
            Precondition::Unchanged(version) => bytes(&json!({
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "preconditions": {"resourceVersion": version.to_string()},
            })),
        };
        let path = collection.object_path(name);
        let answer: Value = self.send(Method::DELETE, &path, None, body).await?;
        if answer["kind"] != "Status" {
            return Ok(Deleted::Marked(Box::new(answer)));
        }
        let status = serde_json::from_value(answer).map_err(|error| RequestError::Unreadable {
            reason: error.to_string(),
        })?;
        Ok(Deleted::Gone(Box::new(status)))
    }
}

fn bytes(value: &Value) -> Bytes {
    value.to_string().into()
}
