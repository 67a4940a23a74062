//! The objects that are written, and the requests that write them.
//!
//! A pod with number n lives in namespace `bench-(n mod 100)`, has the label `group=g-(n mod 100)`
//! and sits on a node of its own, `node-n`.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    drive::{Limit, Load, drive},
    endpoint::{Client, Content, Endpoint},
    template::{GROUPS, Template},
};
use crate::pods;

/// All pods.
pub(crate) const PODS: &str = "/api/v1/pods";
/// Connections that fill a server.
const FILLING: usize = 64;

/// Requests for pods of one size.
pub(crate) struct Pods {
    endpoint: Endpoint,
    body: String,
}

impl Pods {
    /// Pods of which a client sends this many bytes, or the fewest that they have.
    pub(crate) fn new(endpoint: &Endpoint, bytes: usize) -> Self {
        Self {
            endpoint: endpoint.clone(),
            body: pod(bytes),
        }
    }

    /// Creates the pod with the number of the turn.
    pub(crate) fn create(&self) -> Template {
        let path = "/api/v1/namespaces/bench-#GROUP##/pods";
        self.endpoint
            .request("POST", path, Content::Object(&self.body))
    }

    /// Writes the whole pod anew.
    pub(crate) fn update(&self) -> Template {
        self.endpoint
            .request("PUT", POD, Content::Object(&self.body))
    }

    /// Changes one annotation.
    pub(crate) fn patch(&self) -> Template {
        let patch = r#"{"metadata":{"annotations":{"bench/sequence":"seq@#REPEAT#"}}}"#;
        self.endpoint
            .request("PATCH", POD, Content::MergePatch(patch))
    }

    /// Reads one pod.
    pub(crate) fn get(&self) -> Template {
        self.endpoint.request("GET", POD, Content::None)
    }

    /// Creates the pods with these numbers.
    pub(crate) async fn fill(&self, numbers: std::ops::Range<u64>) -> Result<()> {
        let create = self.create();
        let first = numbers.start;
        let load = Load::closed(FILLING, Limit::Turns(numbers.end - first));
        let filled = drive(&self.endpoint, load, move |turn, request| {
            create.fill(first + turn.number, 0, request);
        });
        filled.await?.clean().map(drop)
    }

    /// Bytes of the first pod as the server gives it back.
    pub(crate) async fn stored_bytes(&self) -> Result<u64> {
        let mut request = Vec::new();
        self.get().fill(0, 0, &mut request);
        let mut connection = self.endpoint.connect(Client::Reading).await?;
        Ok(connection.send(&request).await?.granted()?.bytes)
    }
}

const POD: &str = "/api/v1/namespaces/bench-#GROUP##/pods/pod-#NUMBER#";

/// Makes the namespaces that pods live in; those that are there already stay.
pub(crate) async fn make_namespaces(endpoint: &Endpoint) -> Result<()> {
    let body = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"bench-#GROUP##"}}"#;
    let create = endpoint.request("POST", "/api/v1/namespaces", Content::Object(body));
    let mut connection = endpoint.connect(Client::Reading).await?;
    let mut request = Vec::new();
    for number in 0..GROUPS {
        create.fill(number, 0, &mut request);
        let answer = connection.send(&request).await?;
        if answer.status != 409 {
            answer.granted()?;
        }
    }
    Ok(())
}

/// Removes what an earlier group has left in the namespaces of this run.
pub(crate) async fn clear(endpoint: &Endpoint) -> Result<()> {
    let path = "/api/v1/namespaces/bench-#GROUP##/pods?gracePeriodSeconds=0";
    let delete = endpoint.request("DELETE", path, Content::None);
    let mut connection = endpoint.connect(Client::Reading).await?;
    let mut request = Vec::new();
    for number in 0..GROUPS {
        delete.fill(number, 0, &mut request);
        connection.send(&request).await?.granted()?;
    }
    Ok(())
}

/// The resourceVersion of now.
pub(crate) async fn resource_version(endpoint: &Endpoint, path: &str) -> Result<String> {
    let mut connection = endpoint.connect(Client::Reading).await?;
    let list = connection
        .fetch(&endpoint.get(&format!("{path}?limit=1")))
        .await?;
    let list: Value = serde_json::from_slice(&list)?;
    let version = list["metadata"]["resourceVersion"].as_str();
    Ok(version.unwrap_or_default().to_owned())
}

fn pod(bytes: usize) -> String {
    let mut pod = pods::submitted(0);
    pod["metadata"]["name"] = json!("pod-#NUMBER#");
    pod["metadata"]["namespace"] = json!("bench-#GROUP##");
    pod["metadata"]["labels"]["group"] = json!("g-#GROUP##");
    pod["metadata"]["annotations"]["bench/sequence"] = json!("seq@#REPEAT#");
    pod["metadata"]["annotations"]["bench/padding"] = json!("");
    pod["spec"]["nodeName"] = json!("node-#NUMBER#");
    let missing = bytes.saturating_sub(pod.to_string().len());
    pod["metadata"]["annotations"]["bench/padding"] = json!(padding(missing));
    pod.to_string()
}

/// Text that does not repeat itself.
fn padding(length: usize) -> String {
    let mut random = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| random.alphanumeric())
        .take(length)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_the_size_that_was_asked_for() {
        assert_eq!(pod(4_000).len(), 4_000);
        let small = pod(0);
        assert!(small.len() < 2_200, "{}", small.len());
        assert!(small.contains("#REPEAT#") && small.contains("node-#NUMBER#"));
    }

    #[test]
    fn the_pod_whose_instructions_are_counted_is_the_one_that_is_measured() {
        assert_eq!(pod(4_000), include_str!("../../pod.json").trim_end());
    }
}
