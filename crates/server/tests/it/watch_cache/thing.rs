//! Objects for the tests: things, with labels, a node (indexed) and a phase (not indexed).

use std::collections::BTreeMap;

use bytes::Bytes;
use listwatch_api::object::to_canonical;
use listwatch_server::{
    registry::{Scope, SelectableField},
    watch_cache::KindLayout,
};
use serde_json::json;

/// What the keys of things begin with.
pub(super) const THINGS: &str = "/registry/things/";
/// What the keys of another kind begin with.
pub(super) const OTHERS: &str = "/registry/others/";

/// A state of a thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Thing {
    /// Its labels.
    pub(super) labels: BTreeMap<String, String>,
    /// Its `spec.node`.
    pub(super) node: Option<String>,
    /// Its `status.phase`.
    pub(super) phase: Option<String>,
}

impl Thing {
    /// The bytes to store.
    pub(super) fn bytes(&self) -> Bytes {
        let mut object = json!({
            "kind": "Thing",
            "apiVersion": "v1",
            "metadata": {"uid": "u", "labels": self.labels},
            "spec": {},
            "status": {},
        });
        if let Some(node) = &self.node {
            object["spec"]["node"] = node.as_str().into();
        }
        if let Some(phase) = &self.phase {
            object["status"]["phase"] = phase.as_str().into();
        }
        to_canonical(&object).into()
    }
}

/// The layouts of things and of another kind.
pub(super) fn layouts() -> Vec<KindLayout> {
    let field = |name: &str, path: [&str; 2], indexed| SelectableField {
        name: name.into(),
        path: path.into_iter().map(Into::into).collect(),
        fallback: None,
        default: "".into(),
        indexed,
    };
    let fields = [
        field("spec.node", ["spec", "node"], true),
        field("status.phase", ["status", "phase"], false),
    ];
    vec![
        KindLayout::new(THINGS, Scope::Namespaced, &fields),
        KindLayout::new(OTHERS, Scope::Cluster, []),
    ]
}
