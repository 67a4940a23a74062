//! A request as those see it who are asked about it.

use listwatch_api::Status;
use serde_json::{Value, json};

use super::{apply_defaults, matching::Operation};
use crate::{
    commit::Persistence,
    registry::{Definition, Expected, Scope},
    request::ResourceRequest,
    server::Server,
    verbs::{Part, scale_of, scaled},
};

/// Who everybody is on a server without authentication.
pub(crate) const USER: &str = "system:unsecured";

/// The groups of everybody.
pub(crate) const GROUPS: [&str; 2] = ["system:masters", "system:authenticated"];

/// A request about which somebody is asked.
pub(crate) struct Asked<'a> {
    pub(crate) server: &'a Server,
    pub(crate) request: &'a ResourceRequest,
    pub(crate) part: Part,
    pub(crate) operation: Operation,
    /// The object's name; empty while it has none.
    pub(crate) name: String,
    /// The options of the request, as an object of their kind.
    pub(crate) options: Value,
    pub(crate) persistence: Persistence,
}

/// The states of an object in the version that somebody wants to see.
pub(super) struct Shown {
    /// As it is to be.
    pub(super) object: Option<Value>,
    /// As it was.
    pub(super) old: Option<Value>,
}

impl Asked<'_> {
    pub(super) fn is_dry_run(&self) -> bool {
        self.persistence == Persistence::DryRun
    }

    pub(super) fn subresource(&self) -> &str {
        self.request.subresource.as_deref().unwrap_or_default()
    }

    /// The namespace that the request is about; for a namespace, itself.
    pub(super) fn namespace(&self) -> Option<&str> {
        match is_namespace(&self.request.definition) {
            true => Some(self.name.as_str()).filter(|name| !name.is_empty()),
            false => self.request.namespace.as_deref(),
        }
    }

    /// What the request is, without the objects, to somebody who wants to see this version.
    pub(super) fn describe(&self, version: &Definition) -> Value {
        let asked = &*self.request.definition;
        let mut described = json!({
            "kind": self.kind(version),
            "resource": resource(version),
            "requestKind": self.kind(asked),
            "requestResource": resource(asked),
            "operation": self.operation.as_str(),
            "userInfo": {"username": USER, "groups": GROUPS},
            "dryRun": self.is_dry_run(),
            "options": self.options,
        });
        let mut add = |member: &str, text: &str| {
            if !text.is_empty() {
                described[member] = json!(text);
            }
        };
        add("subResource", self.subresource());
        add("requestSubResource", self.subresource());
        add("name", &self.name);
        add("namespace", self.namespace().unwrap_or_default());
        described
    }

    fn kind(&self, definition: &Definition) -> Value {
        let expected = self.expected(definition);
        let (group, version, kind) = (expected.group, expected.version, expected.kind);
        json!({"group": group, "version": version, "kind": kind})
    }

    fn expected<'a>(&self, definition: &'a Definition) -> Expected<'a> {
        match definition.subresource(self.subresource()) {
            Some(part) => Expected::of_subresource(definition, part),
            None => Expected::from(definition),
        }
    }

    /// A stored state as a version shows it.
    pub(super) async fn show(&self, version: &Definition, stored: &Value) -> Result<Value, Status> {
        let converted = self.server.conversions.restated(version, stored).await;
        let converted = converted.map_err(|why| Status::internal(&why))?;
        if self.part == Part::Scale {
            return Ok(scale_of(version, &converted));
        }
        let mut shown = converted.into_owned();
        self.server
            .registry
            .to_served(version.conversion, &mut shown);
        let expected = self.expected(version);
        shown["kind"] = json!(expected.kind);
        shown["apiVersion"] = json!(match expected.group {
            "" => expected.version.to_owned(),
            group => format!("{group}/{}", expected.version),
        });
        Ok(shown)
    }

    /// What somebody made of the object, in the form in which it is stored.
    pub(super) async fn restore(
        &self,
        version: &Definition,
        stored: &Value,
        mut changed: Value,
    ) -> Result<Value, Status> {
        let registry = &self.server.registry;
        if self.part == Part::Scale {
            // What is converted is held in the version of the request.
            let own = &self.request.definition;
            let is_converted = own.conversion_webhook().is_some();
            let version = if is_converted { own } else { version };
            return scaled(version, stored, &changed);
        }
        let decoded = registry.decode(self.expected(version), &mut changed, &[]);
        decoded.map_err(|error| Status::internal(&error.to_string()))?;
        registry.to_stored(version.conversion, &mut changed);
        if stored["apiVersion"] == *self.request.definition.api_version() {
            let (conversions, own) = (&self.server.conversions, &self.request.definition);
            let converted = conversions.restated(own, &changed).await;
            let converted = converted.map_err(|why| Status::internal(&why))?;
            changed = converted.into_owned();
        }
        for member in ["kind", "apiVersion"] {
            changed[member] = stored[member].clone();
        }
        apply_defaults(&self.request.definition, &mut changed);
        Ok(changed)
    }
}

fn resource(definition: &Definition) -> Value {
    let (group, version, name) = (
        &*definition.group,
        &*definition.version,
        &*definition.resource,
    );
    json!({"group": group, "version": version, "resource": name})
}

pub(super) fn is_namespace(definition: &Definition) -> bool {
    definition.scope == Scope::Cluster
        && definition.group.is_empty()
        && &*definition.resource == "namespaces"
}
