//! What is served here, told to clients: the documents of `/api`, `/apis` and below, plain and
//! aggregated. Made once per change of the registry, answered as bytes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::Serialize;
use sha2::{Digest, Sha512};

use crate::registry::{CustomKinds, Definition, Registry};

mod aggregated;
mod plain;

const JSON: &str = "application/json";

/// A ready answer.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// What is sent.
    pub body: Bytes,
    /// The `Content-Type` to send it with.
    pub content_type: &'static str,
    /// The quoted `ETag` to send it with.
    pub etag: Box<str>,
}

/// Which of the two roots of the API a document describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// `/api`: the core group.
    Core,
    /// `/apis`: all other groups.
    Groups,
}

/// The versions in which aggregated discovery is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregatedVersion {
    /// `apidiscovery.k8s.io/v2`.
    V2,
    /// `apidiscovery.k8s.io/v2beta1`, the same under an older name.
    V2Beta1,
}

/// The discovery documents of the kinds that are served now: made when somebody asks, and again
/// when somebody asks after the custom kinds have changed.
pub(crate) struct LiveDiscovery {
    registry: Arc<Registry>,
    address: Box<str>,
    made: Mutex<Option<(Arc<CustomKinds>, Arc<Discovery>)>>,
}

impl LiveDiscovery {
    /// Documents of this registry; clients are told to reach the server at `address`.
    pub(crate) fn new(registry: Arc<Registry>, address: &str) -> Self {
        Self {
            registry,
            address: address.into(),
            made: Mutex::new(None),
        }
    }

    /// The documents of the kinds that are served now.
    pub(crate) fn current(&self) -> Arc<Discovery> {
        let custom = self.registry.custom();
        let mut made = self.made.lock();
        if let Some((of, documents)) = &*made
            && Arc::ptr_eq(of, &custom)
        {
            return Arc::clone(documents);
        }
        let mut definitions = self.registry.definitions().to_vec();
        definitions.extend(custom.definitions());
        let documents = Arc::new(Discovery::build(&definitions, &self.address));
        *made = Some((custom, Arc::clone(&documents)));
        documents
    }
}

/// All discovery documents of one set of kinds.
#[derive(Debug)]
pub(crate) struct Discovery {
    api_versions: Document,
    group_list: Document,
    groups: BTreeMap<Box<str>, Document>,
    resources: BTreeMap<(Box<str>, Box<str>), Document>,
    aggregated: [Document; 4],
    paths: Document,
}

impl Discovery {
    /// Describes these kinds in their order, those of the core group first; clients are told to
    /// reach the server at `address`.
    pub(crate) fn build(definitions: &[Arc<Definition>], address: &str) -> Self {
        let groups = Group::collect(definitions);
        let core_end = groups.iter().position(|group| !group.name.is_empty());
        let (core, named) = groups.split_at(core_end.unwrap_or(groups.len()));
        let resources = groups.iter().flat_map(|group| {
            group.versions.iter().map(|version| {
                let key = (group.name.into(), version.name.into());
                (key, json(&plain::resource_list(group.name, version)))
            })
        });
        Self {
            api_versions: json(&plain::api_versions(core, address)),
            group_list: json(&plain::group_list(named)),
            groups: named
                .iter()
                .map(|group| (group.name.into(), json(&plain::group(group))))
                .collect(),
            resources: resources.collect(),
            aggregated: [
                aggregated::document(core, AggregatedVersion::V2),
                aggregated::document(core, AggregatedVersion::V2Beta1),
                aggregated::document(named, AggregatedVersion::V2),
                aggregated::document(named, AggregatedVersion::V2Beta1),
            ],
            paths: plain::paths(&groups),
        }
    }

    /// The document of `/api`.
    pub(crate) fn api_versions(&self) -> &Document {
        &self.api_versions
    }

    /// The document of `/apis`.
    pub(crate) fn group_list(&self) -> &Document {
        &self.group_list
    }

    /// The document of `/apis/{group}`.
    pub(crate) fn group(&self, group: &str) -> Option<&Document> {
        self.groups.get(group)
    }

    /// The document of `/api/{version}` or `/apis/{group}/{version}`.
    pub(crate) fn resources(&self, group: &str, version: &str) -> Option<&Document> {
        self.resources.get(&(group.into(), version.into()))
    }

    /// The document of `/api` or `/apis` with all resources in it.
    pub(crate) fn aggregated(&self, root: Root, version: AggregatedVersion) -> &Document {
        match (root, version) {
            (Root::Core, AggregatedVersion::V2) => &self.aggregated[0],
            (Root::Core, AggregatedVersion::V2Beta1) => &self.aggregated[1],
            (Root::Groups, AggregatedVersion::V2) => &self.aggregated[2],
            (Root::Groups, AggregatedVersion::V2Beta1) => &self.aggregated[3],
        }
    }

    /// The document of `/`.
    pub(crate) fn paths(&self) -> &Document {
        &self.paths
    }
}

/// A group and its versions, in the order of the definitions.
struct Group<'a> {
    name: &'a str,
    versions: Vec<Version<'a>>,
}

struct Version<'a> {
    name: &'a str,
    definitions: Vec<&'a Definition>,
}

impl<'a> Group<'a> {
    fn collect(definitions: &'a [Arc<Definition>]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for definition in definitions {
            let group = find_or_push(
                &mut groups,
                |group| group.name == &*definition.group,
                || Self {
                    name: &definition.group,
                    versions: Vec::new(),
                },
            );
            let version = find_or_push(
                &mut group.versions,
                |version| version.name == &*definition.version,
                || Version {
                    name: &definition.version,
                    definitions: Vec::new(),
                },
            );
            version.definitions.push(definition);
        }
        groups
    }
}

fn find_or_push<T>(
    list: &mut Vec<T>,
    is_it: impl Fn(&T) -> bool,
    make: impl FnOnce() -> T,
) -> &mut T {
    let place = list.iter().position(is_it).unwrap_or_else(|| {
        list.push(make());
        list.len() - 1
    });
    &mut list[place]
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

fn json(content: &impl Serialize) -> Document {
    let mut body = serde_json::to_vec(content).expect("plain structs always become JSON");
    body.push(b'\n');
    Document::new(body, JSON)
}

impl Document {
    /// An answer with the hash of its bytes as its `ETag`.
    pub(crate) fn new(body: Vec<u8>, content_type: &'static str) -> Self {
        Self {
            etag: format!("\"{}\"", upper_case_sha512(&body)).into(),
            body: body.into(),
            content_type,
        }
    }
}

/// The SHA-512 of some bytes in upper case, by which clients know documents again.
pub(crate) fn upper_case_sha512(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(128);
    for byte in Sha512::digest(bytes) {
        write!(text, "{byte:02X}").expect("a string takes everything");
    }
    text
}

#[cfg(test)]
mod tests;
