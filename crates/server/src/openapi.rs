//! OpenAPI documents made from the registry: what kubectl reads before it creates, applies,
//! compares or explains. Made when first asked for, then kept. They hold structure, no prose.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use listwatch_api::protobuf::encode_openapi;
use serde_json::{Value, json};

use crate::discovery::{Document, upper_case_sha512};
use crate::registry::{Definition, Registry};

mod paths;
mod schemas;

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const TITLE: &str = "Kubernetes";
const VERSION: &str = "v1.37.0";

/// The two generations of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// Swagger 2.0: everything in one document.
    Two,
    /// OpenAPI 3.0: one document for each version of a group.
    Three,
}

/// All OpenAPI documents of one registry.
#[derive(Debug)]
pub(crate) struct OpenApi {
    registry: Arc<Registry>,
    index: OnceLock<Document>,
    versions: BTreeMap<String, OnceLock<Document>>,
    everything: OnceLock<Document>,
    everything_in_protobuf: OnceLock<Document>,
}

impl OpenApi {
    /// Documents for the kinds of this registry; nothing is made yet.
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        let roots = registry
            .definitions()
            .iter()
            .map(|definition| root(definition));
        Self {
            versions: roots.map(|root| (root, OnceLock::new())).collect(),
            registry,
            index: OnceLock::new(),
            everything: OnceLock::new(),
            everything_in_protobuf: OnceLock::new(),
        }
    }

    /// The document of `/openapi/v3`: where the document of each version is, and its hash.
    pub(crate) fn index(&self) -> &Document {
        self.index.get_or_init(|| {
            let entry = |root: &String| {
                let hash = upper_case_sha512(&self.describe_version(root));
                let url = format!("/openapi/v3/{root}?hash={hash}");
                (root.clone(), json!({"serverRelativeURL": url}))
            };
            let paths: BTreeMap<String, Value> = self.versions.keys().map(entry).collect();
            Document::new(json!({"paths": paths}).to_string().into(), JSON)
        })
    }

    /// The document of `/openapi/v3/{root}`; `root` is such as `api/v1` or `apis/apps/v1`.
    pub(crate) fn version(&self, root: &str) -> Option<&Document> {
        let (root, kept) = self.versions.get_key_value(root)?;
        Some(kept.get_or_init(|| Document::new(self.describe_version(root), JSON)))
    }

    /// The document of `/openapi/v2`.
    pub(crate) fn everything(&self) -> &Document {
        self.everything.get_or_init(|| {
            let definitions = self.registry.definitions();
            let definitions = definitions.iter().map(|definition| &**definition).collect();
            Document::new(self.describe(definitions, Dialect::Two), JSON)
        })
    }

    /// The same for those who ask for protobuf.
    pub(crate) fn everything_in_protobuf(&self) -> &Document {
        self.everything_in_protobuf.get_or_init(|| {
            let message = encode_openapi(&self.everything().body);
            let message = message.expect("a test writes the document of all kinds");
            Document::new(message, PROTOBUF)
        })
    }

    fn describe_version(&self, wanted: &str) -> Vec<u8> {
        let definitions = self.registry.definitions().iter();
        let definitions = definitions
            .map(|definition| &**definition)
            .filter(|definition| root(definition) == wanted)
            .collect();
        self.describe(definitions, Dialect::Three)
    }

    fn describe(&self, definitions: Vec<&Definition>, dialect: Dialect) -> Vec<u8> {
        let schema = self.registry.schema();
        let kinds = schemas::Kinds::collect(self.registry.definitions());
        let mut document = StreamedObject::new();
        document.member("info", &json!({"title": TITLE, "version": VERSION}));
        match dialect {
            Dialect::Two => document.member("swagger", &json!("2.0")),
            Dialect::Three => document.member("openapi", &json!("3.0.0")),
        }
        document.nested("paths", |document| {
            for definition in &definitions {
                for (path, item) in paths::describe(definition, schema, dialect) {
                    document.member(&path, &item);
                }
            }
        });
        let describe_types = |document: &mut StreamedObject| {
            for (name, described) in schemas::describe(&definitions, schema, &kinds, dialect) {
                document.member(&name, &described);
            }
        };
        match dialect {
            Dialect::Two => document.nested("definitions", describe_types),
            Dialect::Three => document.nested("components", |document| {
                document.nested("schemas", describe_types);
            }),
        }
        document.finish()
    }
}

/// The path below which a version of a group is served, without the first slash.
fn root(definition: &Definition) -> String {
    if definition.group.is_empty() {
        format!("api/{}", definition.version)
    } else {
        format!("apis/{}/{}", definition.group, definition.version)
    }
}

/// A JSON object that is written member by member, so that no document is ever held as a tree.
struct StreamedObject {
    text: Vec<u8>,
    separator: &'static [u8],
}

impl StreamedObject {
    fn new() -> Self {
        Self {
            text: b"{".to_vec(),
            separator: b"",
        }
    }

    fn member(&mut self, name: &str, value: &Value) {
        self.name(name);
        serde_json::to_writer(&mut self.text, value).expect("a value always becomes JSON");
        self.separator = b",";
    }

    fn nested(&mut self, name: &str, members: impl FnOnce(&mut Self)) {
        self.name(name);
        self.text.push(b'{');
        self.separator = b"";
        members(self);
        self.text.push(b'}');
        self.separator = b",";
    }

    fn name(&mut self, name: &str) {
        self.text.extend_from_slice(self.separator);
        serde_json::to_writer(&mut self.text, name).expect("a text always becomes JSON");
        self.text.push(b':');
    }

    fn finish(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }
}

#[cfg(test)]
mod tests;
