//! OpenAPI documents made from the registry: what kubectl reads before it creates, applies,
//! compares or explains. Made when first asked for, then kept. They hold structure, and prose about
//! what all objects have.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use listwatch_api::protobuf::encode_openapi;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::discovery::{Document, upper_case_sha512};
use crate::registry::{CustomKinds, Definition, Registry};

mod custom;
mod paths;
mod prose;
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

/// All OpenAPI documents of one registry. Those of built-in kinds are made once; those of custom
/// kinds, and the two that tell of both, when somebody asks after a change.
#[derive(Debug)]
pub(crate) struct OpenApi {
    registry: Arc<Registry>,
    /// The entries of built-in versions in the index.
    places: OnceLock<BTreeMap<String, Value>>,
    versions: BTreeMap<String, OnceLock<Document>>,
    changing: Mutex<Changing>,
}

/// Documents that change with the custom kinds.
#[derive(Debug, Default)]
struct Changing {
    of: Option<Arc<CustomKinds>>,
    index: Option<Document>,
    everything: Option<Document>,
    everything_in_protobuf: Option<Document>,
    /// By the beginning of their paths.
    versions: BTreeMap<String, Document>,
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
            places: OnceLock::new(),
            changing: Mutex::default(),
        }
    }

    /// The custom kinds as they are now, and what has been made of them.
    fn changing(&self) -> (Arc<CustomKinds>, MutexGuard<'_, Changing>) {
        let custom = self.registry.custom();
        let mut changing = self.changing.lock();
        if !changing
            .of
            .as_ref()
            .is_some_and(|of| Arc::ptr_eq(of, &custom))
        {
            let is_current = |root: &String, document: &mut Document| {
                let hash = custom::hash(&custom::definitions(&custom, root));
                *document.etag == *quoted(&hash)
            };
            let mut versions = std::mem::take(&mut changing.versions);
            versions.retain(is_current);
            *changing = Changing {
                of: Some(Arc::clone(&custom)),
                versions,
                ..Changing::default()
            };
        }
        (custom, changing)
    }

    /// The document of `/openapi/v3`: where the document of each version is, and its hash.
    pub(crate) fn index(&self) -> Document {
        let (kinds, mut changing) = self.changing();
        let make = || {
            let place = |root: &str, hash: &str| {
                let url = format!("/openapi/v3/{root}?hash={hash}");
                json!({"serverRelativeURL": url})
            };
            let built_in = self.places.get_or_init(|| {
                let entry = |root: &String| {
                    let hash = upper_case_sha512(&self.describe_version(root));
                    (root.clone(), place(root, &hash))
                };
                self.versions.keys().map(entry).collect()
            });
            let mut places = built_in.clone();
            for (root, definitions) in custom::by_root(&kinds) {
                let own = || place(&root, &custom::hash(&definitions));
                places.entry(root.clone()).or_insert_with(own);
            }
            Document::new(json!({"paths": places}).to_string().into(), JSON)
        };
        changing.index.get_or_insert_with(make).clone()
    }

    /// The document of `/openapi/v3/{root}`; `root` is such as `api/v1` or `apis/apps/v1`.
    pub(crate) fn version(&self, root: &str) -> Option<Document> {
        if let Some((root, kept)) = self.versions.get_key_value(root) {
            let made = kept.get_or_init(|| Document::new(self.describe_version(root), JSON));
            return Some(made.clone());
        }
        let (kinds, mut changing) = self.changing();
        let definitions = custom::definitions(&kinds, root);
        if definitions.is_empty() {
            return None;
        }
        let made = changing.versions.entry(root.to_owned()).or_insert_with(|| {
            let described = definitions.iter().map(|definition| &**definition).collect();
            Document {
                body: self.describe(described, Dialect::Three).into(),
                content_type: JSON,
                etag: quoted(&custom::hash(&definitions)).into(),
            }
        });
        Some(made.clone())
    }

    /// The document of `/openapi/v2`.
    pub(crate) fn everything(&self) -> Document {
        let (kinds, mut changing) = self.changing();
        self.made_of_everything(&kinds, &mut changing)
    }

    fn made_of_everything(&self, kinds: &CustomKinds, changing: &mut Changing) -> Document {
        let make = || {
            let custom = kinds.definitions();
            let definitions = self.registry.definitions().iter().chain(&custom);
            let definitions = definitions.map(|definition| &**definition).collect();
            Document::new(self.describe(definitions, Dialect::Two), JSON)
        };
        changing.everything.get_or_insert_with(make).clone()
    }

    /// The same for those who ask for protobuf.
    pub(crate) fn everything_in_protobuf(&self) -> Document {
        let (kinds, mut changing) = self.changing();
        if let Some(made) = &changing.everything_in_protobuf {
            return made.clone();
        }
        let everything = self.made_of_everything(&kinds, &mut changing);
        // What a definition says that this form cannot hold is left to the other form.
        let message = encode_openapi(&everything.body).unwrap_or_default();
        let made = Document::new(message, PROTOBUF);
        changing.everything_in_protobuf.insert(made).clone()
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
            for definition in &definitions {
                for (name, described) in custom::describe(definition, dialect) {
                    document.member(&name, &described);
                }
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

fn quoted(hash: &str) -> String {
    format!("\"{hash}\"")
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
