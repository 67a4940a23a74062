//! Which kinds exist and how each behaves, as data.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use listwatch_api::schema::{Schema, TypeId};
use serde_json::{Map, Value};

mod conversion;
mod custom;
mod decode;
mod definition;
mod kind_table;
mod stored_value;

pub use custom::{
    ConversionWebhook, CustomKind, CustomKinds, CustomVersion, Life, MalformedDefinition,
    ScalePaths, Strategy,
};
pub(crate) use decode::repeated_keys;
pub use decode::{DecodeError, Expected, FieldProblem, Home};
pub use definition::{
    Conversion, Definition, DeletionAnswer, FieldRefusal, FieldSource, Generation, Lifetime,
    Naming, Persistence, PutToMissing, PutWithoutVersion, Scope, SelectableField, StatusWriting,
    Subresource, Verb,
};
pub use kind_table::storage_version_hash;
pub use stored_value::{Form, Unreadable, ValueReader};

const BUILTIN_KINDS: &str = include_str!("registry/builtin/kinds.txt");
/// The shapes that all versions share.
pub(crate) const META_SCHEMA: &str = include_str!("registry/builtin/schema/meta.v1.txt");
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const BUILTIN_SCHEMA: [&str; 25] = [
    include_str!("registry/builtin/schema/admissionregistration.v1.txt"),
    include_str!("registry/builtin/schema/apiextensions.v1.txt"),
    include_str!("registry/builtin/schema/apiregistration.v1.txt"),
    include_str!("registry/builtin/schema/apps.v1.txt"),
    include_str!("registry/builtin/schema/authentication.v1.txt"),
    include_str!("registry/builtin/schema/authorization.v1.txt"),
    include_str!("registry/builtin/schema/autoscaling.v1.txt"),
    include_str!("registry/builtin/schema/autoscaling.v2.txt"),
    include_str!("registry/builtin/schema/batch.v1.txt"),
    include_str!("registry/builtin/schema/certificates.v1.txt"),
    include_str!("registry/builtin/schema/coordination.v1.txt"),
    include_str!("registry/builtin/schema/core.v1.txt"),
    include_str!("registry/builtin/schema/discovery.v1.txt"),
    include_str!("registry/builtin/schema/events.v1.txt"),
    include_str!("registry/builtin/schema/flowcontrol.v1.txt"),
    META_SCHEMA,
    include_str!("registry/builtin/schema/networking.v1.txt"),
    include_str!("registry/builtin/schema/node.v1.txt"),
    include_str!("registry/builtin/schema/policy.v1.txt"),
    include_str!("registry/builtin/schema/rbac.v1.txt"),
    include_str!("registry/builtin/schema/resource.v1.txt"),
    include_str!("registry/builtin/schema/scheduling.v1.txt"),
    include_str!("registry/builtin/schema/scheduling.v1alpha3.txt"),
    include_str!("registry/builtin/schema/storage.v1.txt"),
    include_str!("registry/builtin/schema/storagemigration.v1.txt"),
];

/// The kinds that are served, and the shapes of their objects.
///
/// The built-in ones stay. The custom ones come and go; whoever has taken a [`Definition`] or all
/// [`CustomKinds`] keeps what was served then.
#[derive(Debug)]
pub struct Registry {
    definitions: Vec<Arc<Definition>>,
    custom: ArcSwap<CustomKinds>,
    places_by_resource: HashMap<Box<str>, Vec<usize>>,
    /// Where objects are stored that are also served in another version than the stored one.
    converted: HashSet<Box<str>>,
    schema: Arc<Schema>,
}

impl Registry {
    /// The kinds that are always there. They are read once in a process.
    pub fn builtin() -> Self {
        static BUILTIN: LazyLock<(Vec<Arc<Definition>>, Arc<Schema>)> = LazyLock::new(|| {
            let schema = Schema::parse(&BUILTIN_SCHEMA).expect("a test reads the built-in schema");
            let definitions = kind_table::parse(BUILTIN_KINDS, &schema)
                .expect("a test reads the table of built-in kinds");
            let definitions = definitions.into_iter().map(Arc::new);
            (definitions.collect(), Arc::new(schema))
        });
        let (definitions, schema) = &*BUILTIN;
        Self::new(definitions.clone(), Arc::clone(schema))
    }

    /// A registry of these kinds, in discovery's order, with the shapes they refer to.
    pub fn new(definitions: Vec<Arc<Definition>>, schema: Arc<Schema>) -> Self {
        let mut places_by_resource = HashMap::<Box<str>, Vec<usize>>::new();
        for (place, definition) in definitions.iter().enumerate() {
            places_by_resource
                .entry(definition.resource.clone())
                .or_default()
                .push(place);
        }
        let converted = definitions
            .iter()
            .filter(|definition| definition.conversion != Conversion::None)
            .map(|definition| definition.storage_prefix.clone());
        Self {
            converted: converted.collect(),
            custom: ArcSwap::default(),
            definitions,
            places_by_resource,
            schema,
        }
    }

    /// The resource of this group and version.
    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<Arc<Definition>> {
        let places = self.places_by_resource.get(resource);
        let mut definitions = places
            .into_iter()
            .flatten()
            .map(|&place| &self.definitions[place]);
        definitions
            .find(|found| &*found.group == group && &*found.version == version)
            .cloned()
            .or_else(|| self.custom.load().find(group, version, resource))
    }

    /// The custom kinds as they are now.
    pub fn custom(&self) -> Arc<CustomKinds> {
        self.custom.load_full()
    }

    /// Serves these custom kinds instead of those before.
    pub(crate) fn replace_custom(&self, kinds: CustomKinds) {
        self.custom.store(Arc::new(kinds));
    }

    /// The shape of the objects of a kind, of what subresources speak, and of what all versions
    /// share.
    pub fn type_of(&self, api_version: &str, kind: &str) -> Option<TypeId> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let shared = || self.schema.find(&format!("{META}.{kind}"));
        if group == "meta.k8s.io" {
            return shared();
        }
        let spoken = self.definitions.iter().find_map(|definition| {
            let own = Some(Expected::from(&**definition));
            let below = definition.subresources.iter();
            let below = below.map(|part| Expected::of_subresource(definition, part));
            let found = own.into_iter().chain(below).find(|spoken| {
                spoken.kind == kind && spoken.version == version && spoken.group == group
            });
            found.and_then(|spoken| spoken.schema)
        });
        spoken.or_else(|| (api_version == "v1").then(shared).flatten())
    }

    /// Whether the objects of this kind are also served in another version than the stored one.
    pub fn is_converted(&self, definition: &Definition) -> bool {
        self.converted.contains(&definition.storage_prefix)
    }

    /// Whether any kind of this group is served.
    pub fn group_exists(&self, group: &str) -> bool {
        self.definitions
            .iter()
            .any(|definition| &*definition.group == group)
            || self.custom.load().group_exists(group)
    }

    /// Whether any kind of this version of the group is served.
    pub fn version_exists(&self, group: &str, version: &str) -> bool {
        self.definitions
            .iter()
            .any(|definition| &*definition.group == group && &*definition.version == version)
            || self.custom.load().version_exists(group, version)
    }

    /// Whether a group has kinds that nobody had to define.
    pub fn has_built_in_group(&self, group: &str) -> bool {
        let mut definitions = self.definitions.iter();
        definitions.any(|definition| &*definition.group == group)
    }

    /// All served versions of a kind.
    pub fn versions(&self, definition: &Definition) -> Vec<Arc<Definition>> {
        let custom = self.custom();
        if let Some(kind) = custom.kind(&definition.group, &definition.resource) {
            return kind.versions.clone();
        }
        let same = |other: &&Arc<Definition>| other.storage_prefix == definition.storage_prefix;
        self.definitions.iter().filter(same).cloned().collect()
    }

    /// The kind with this name in this version.
    pub fn find_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Definition>> {
        let custom = self.custom().definitions();
        let mut known = self.definitions.iter().chain(&custom);
        let found = known.find(|it| *it.kind == *kind && it.api_version() == api_version);
        found.cloned()
    }

    /// The built-in kinds, in discovery's order.
    pub fn definitions(&self) -> &[Arc<Definition>] {
        &self.definitions
    }

    /// Gives an object the status of one that nobody has looked at yet.
    pub fn reset_status(&self, definition: &Definition, object: &mut Value) {
        let Value::Object(members) = object else {
            return;
        };
        let unset = definition.schema.map(|type_id| self.unset(type_id));
        match unset.and_then(|mut unset| unset.remove("status")) {
            Some(status) => drop(members.insert("status".to_owned(), status)),
            None => drop(members.remove("status")),
        }
    }

    /// The shape of the objects of a kind, built in or custom; `None` keeps anything.
    pub fn shape_of<'a>(&'a self, definition: &'a Definition) -> Option<(&'a Schema, TypeId)> {
        match &definition.custom {
            None => definition.schema.map(|type_id| (&*self.schema, type_id)),
            Some(custom) => custom.types(),
        }
    }

    /// An object of a kind in which nothing is set, as Kubernetes writes it.
    pub fn unset_object(&self, definition: &Definition) -> Map<String, Value> {
        definition
            .schema
            .map_or_else(Map::new, |type_id| self.unset(type_id))
    }

    /// The shapes that the definitions' type ids refer to.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
}

#[cfg(test)]
mod tests;
