//! The objects that are written, and the requests that write them.
//!
//! A pod with number n lives in namespace `bench-(n mod 100)`, has the label `group=g-(n mod 100)`
//! and sits on a node of its own, `node-n`.

use std::{ops::Range, sync::Arc};

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    contender::Running,
    drive::{Limit, Load, Turn, drive, drive_metered},
    endpoint::{Client, Content, Endpoint},
    meter::Spent,
    template::{GROUPS, PADDING, Template},
};
use crate::pods;

/// All pods.
pub(crate) const PODS: &str = "/api/v1/pods";
/// ConfigMaps of one namespace.
pub(crate) const COLLECTION: &str = "/api/v1/namespaces/bench-00000000/configmaps";
/// Connections that fill a server.
const FILLING: usize = 64;

/// Sizes that objects of various sizes have.
const SIZES: usize = 251;
/// Variables in the environment of a pod, and of one whose size is to vary.
const VARIABLES: usize = 12;
const VARIABLES_FEW: usize = 4;

/// Requests for pods of one size or of several.
pub(crate) struct Pods {
    endpoint: Endpoint,
    bodies: Vec<String>,
}

impl Pods {
    /// Pods of which a client sends this many bytes, or the fewest that they have.
    pub(crate) fn new(endpoint: &Endpoint, bytes: usize) -> Self {
        Self {
            endpoint: endpoint.clone(),
            bodies: vec![pod(bytes, VARIABLES)],
        }
    }

    /// Pods of many sizes, from an eighth less than this to seven eighths more, each as often as
    /// the other. They have few fields, so that a server adds less to them.
    pub(crate) fn of_many_sizes(endpoint: &Endpoint, bytes: usize) -> Self {
        let size = |index| bytes - bytes / 8 + bytes * index / (SIZES - 1);
        let bodies = (0..SIZES).map(|index| pod(size(index), VARIABLES_FEW));
        Self {
            endpoint: endpoint.clone(),
            bodies: bodies.collect(),
        }
    }

    /// Creates the pod with the number of the turn.
    pub(crate) fn create(&self) -> Template {
        self.whole("POST", "/api/v1/namespaces/bench-#GROUP##/pods")
    }

    /// Writes the whole pod anew.
    pub(crate) fn update(&self) -> Template {
        self.whole("PUT", POD)
    }

    fn whole(&self, method: &str, path: &str) -> Template {
        let bodies = self.bodies.iter();
        Template::join(bodies.map(|body| {
            let content = Content::Object(body);
            self.endpoint.request(method, path, content)
        }))
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

    /// The paths of the pods with numbers below this.
    pub(crate) fn paths(&self, count: u64) -> Arc<[String]> {
        let template = Template::new(POD);
        let mut path = Vec::new();
        let fill = |number| {
            template.fill(number, 0, &mut path);
            String::from_utf8_lossy(&path).into_owned()
        };
        (0..count).map(fill).collect()
    }

    /// Creates the pods with these numbers.
    pub(crate) async fn fill(&self, numbers: Range<u64>) -> Result<()> {
        let (load, request) = self.filling(numbers);
        let filled = drive(&self.endpoint, load, request).await?;
        filled.clean().map(drop)
    }

    /// The same, and what it took.
    pub(crate) async fn fill_metered(
        &self,
        running: &Running,
        numbers: Range<u64>,
    ) -> Result<Spent> {
        let (load, request) = self.filling(numbers);
        let (filled, meter) = drive_metered(running, load, request).await?;
        filled.clean()?;
        meter.stop()
    }

    fn filling(&self, numbers: Range<u64>) -> (Load, impl Fn(Turn, &mut Vec<u8>) + use<>) {
        let create = self.create();
        let first = numbers.start;
        let load = Load::closed(FILLING, Limit::Turns(numbers.end - first));
        let request = move |turn: Turn, request: &mut Vec<u8>| {
            create.fill(first + turn.number, 0, request);
        };
        (load, request)
    }

    /// Bytes of each of these pods as the server gives it back.
    pub(crate) async fn stored_bytes(&self, numbers: Range<u64>) -> Result<Vec<u64>> {
        let get = self.get();
        let mut connection = self.endpoint.connect(Client::Reading).await?;
        let (mut request, mut bytes) = (Vec::new(), Vec::new());
        for number in numbers {
            get.fill(number, 0, &mut request);
            bytes.push(connection.send(&request).await?.granted()?.bytes);
        }
        Ok(bytes)
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

fn pod(bytes: usize, variables: usize) -> String {
    let mut pod = pods::submitted(0);
    pod["metadata"]["name"] = json!("pod-#NUMBER#");
    pod["metadata"]["namespace"] = json!("bench-#GROUP##");
    pod["metadata"]["labels"]["group"] = json!("g-#GROUP##");
    pod["metadata"]["annotations"]["bench/sequence"] = json!("seq@#REPEAT#");
    pod["metadata"]["annotations"]["bench/padding"] = json!("");
    pod["spec"]["nodeName"] = json!("node-#NUMBER#");
    if let Some(environment) = pod["spec"]["containers"][0]["env"].as_array_mut() {
        environment.truncate(variables);
    }
    let missing = bytes.saturating_sub(pod.to_string().len());
    pod["metadata"]["annotations"]["bench/padding"] = json!(padding(missing));
    pod.to_string()
}

/// A ConfigMap of which a client sends this many bytes.
pub(crate) fn config_map(bytes: usize) -> String {
    let map = |text: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
               "metadata": {"name": "map-#NUMBER#", "labels": {"group": "g-#GROUP##"}},
               "data": {"text": text}})
    };
    let missing = bytes.saturating_sub(map("").to_string().len());
    map(&padding(missing)).to_string()
}

fn padding(length: usize) -> String {
    std::iter::repeat_n(PADDING, length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_the_size_that_was_asked_for() {
        assert_eq!(pod(4_000, VARIABLES).len(), 4_000);
        let small = pod(0, VARIABLES);
        assert!(small.len() < 2_200, "{}", small.len());
        assert!(small.contains("#REPEAT#") && small.contains("node-#NUMBER#"));
        assert_eq!(config_map(1_000).len(), 1_000);
    }

    #[test]
    fn pods_of_many_sizes_are_spread_evenly() {
        let endpoint = Endpoint::plain("127.0.0.1:80").unwrap();
        let pods = Pods::of_many_sizes(&endpoint, 3_000);
        let sizes: Vec<usize> = pods.bodies.iter().map(String::len).collect();
        assert_eq!((sizes[0], sizes[SIZES - 1]), (2_625, 5_625));
        assert!(sizes.is_sorted_by(|one, next| next - one == 12));
    }

    #[test]
    fn the_pod_whose_instructions_are_counted_is_the_one_that_is_measured() {
        let mut counted: Value = serde_json::from_str(include_str!("../../pod.json")).unwrap();
        let text = &mut counted["metadata"]["annotations"]["bench/padding"];
        *text = json!(padding(text.as_str().unwrap().len()));
        assert_eq!(pod(4_000, VARIABLES), counted.to_string());
    }
}
