//! Objects that say with which numbers and names a policy is in force.

use std::sync::Arc;

use listwatch_api::selector::LabelSelector;
use serde_json::Value;

use super::{
    super::{
        matching::{read_selector, selects},
        plugins::select,
    },
    Binding, Policy, text,
};
use crate::{
    registry::{Definition, Scope},
    server::Server,
    watch_cache::Area,
};

/// The kind of the objects that a policy takes.
pub(in crate::admission) struct ParamKind {
    api_version: String,
    kind: String,
}

/// Which of them a binding gives it.
pub(in crate::admission) struct ParamRef {
    name: Option<String>,
    namespace: Option<String>,
    selector: Option<LabelSelector>,
    when_missing: WhenMissing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenMissing {
    Allow,
    Deny,
}

impl ParamKind {
    pub(super) fn read(kind: &Value) -> Option<Self> {
        kind.is_object().then(|| Self {
            api_version: text(&kind["apiVersion"]),
            kind: text(&kind["kind"]),
        })
    }

    fn find(&self, server: &Server) -> Option<Arc<Definition>> {
        server.registry.find_kind(&self.api_version, &self.kind)
    }
}

impl ParamRef {
    pub(super) fn read(stated: &Value) -> Option<Self> {
        let filled = |member: &str| {
            let text = stated[member].as_str().filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        stated.is_object().then(|| Self {
            name: filled("name"),
            namespace: filled("namespace"),
            selector: stated.get("selector").map(read_selector),
            when_missing: match stated["parameterNotFoundAction"].as_str() {
                Some("Deny") => WhenMissing::Deny,
                _ => WhenMissing::Allow,
            },
        })
    }
}

/// The objects that a binding gives its policy, each for a look of its own; nothing at all is one
/// look without any.
pub(in crate::admission) fn collect(
    server: &Server,
    policy: &Policy,
    binding: &Binding,
    namespace: Option<&str>,
) -> Result<Vec<Value>, String> {
    let (Some(kind), Some(wanted)) = (&policy.param_kind, &binding.param_ref) else {
        return Ok(vec![Value::Null]);
    };
    let unknown = || {
        let ParamKind { api_version, kind } = kind;
        format!("paramKind kind `{api_version}, Kind={kind}` not known")
    };
    let definition = kind.find(server).ok_or_else(unknown)?;
    let area = match (definition.scope, &wanted.namespace) {
        (Scope::Cluster, Some(_)) => {
            let why = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
            return Err(why.to_owned());
        }
        (Scope::Cluster, None) => Area::Everywhere,
        (Scope::Namespaced, Some(namespace)) => Area::Namespace(namespace.as_str().into()),
        (Scope::Namespaced, None) => {
            let namespace = namespace.ok_or(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped \
                 resources",
            )?;
            Area::Namespace(namespace.into())
        }
    };
    let cache = server.cache(&definition).map_err(|_| unknown())?;
    let is_wanted = |object: &Value| match (&wanted.name, &wanted.selector) {
        (Some(name), _) => object["metadata"]["name"] == **name,
        (None, Some(selector)) => selects(selector, &object["metadata"]["labels"]),
        (None, None) => false,
    };
    let found: Vec<Value> = select(&cache, area).into_iter().filter(is_wanted).collect();
    if found.is_empty() && wanted.when_missing == WhenMissing::Deny {
        let why = "no params found for policy binding with `Deny` parameterNotFoundAction";
        return Err(why.to_owned());
    }
    Ok(found)
}
