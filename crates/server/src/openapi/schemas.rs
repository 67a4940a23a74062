//! The types of a document: all that its kinds lead to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use listwatch_api::schema::{
    Field, ListIdentity, ObjectType, PatchStrategy, Schema, Shape, TypeId,
};
use serde_json::{Map, Value, json};

use super::{Dialect, prose};
use crate::registry::{Definition, Expected};

pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
pub(super) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
pub(super) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

/// The group, version and kind of every type that is a kind.
pub(super) struct Kinds(HashMap<TypeId, Value>);

impl Kinds {
    pub(super) fn collect(definitions: &[Arc<Definition>]) -> Self {
        let mut kinds = HashMap::new();
        let all = definitions.iter().flat_map(|definition| {
            let spoken = definition.subresources.iter();
            let spoken = spoken.map(|below| Expected::of_subresource(definition, below));
            [Expected::from(&**definition)].into_iter().chain(spoken)
        });
        for Expected {
            group,
            version,
            kind,
            schema,
            ..
        } in all
        {
            if let Some(type_id) = schema {
                let named = json!({"group": group, "kind": kind, "version": version});
                kinds.insert(type_id, named);
            }
        }
        Self(kinds)
    }

    fn get(&self, schema: &Schema, object_type: &ObjectType) -> Option<Value> {
        let type_id = schema.find(&object_type.name)?;
        if let Some(kind) = self.0.get(&type_id) {
            return Some(kind.clone());
        }
        if [STATUS, DELETE_OPTIONS].contains(&&*object_type.name) {
            let kind = object_type.short_name();
            return Some(json!({"group": "", "kind": kind, "version": "v1"}));
        }
        let element = schema.find(object_type.name.strip_suffix("List")?)?;
        let mut kind = self.0.get(&element)?.clone();
        kind["kind"] = object_type.short_name().into();
        Some(kind)
    }
}

/// Where a document keeps the type with this name.
pub(super) fn reference(name: &str, dialect: Dialect) -> Value {
    let place = match dialect {
        Dialect::Two => "#/definitions/",
        Dialect::Three => "#/components/schemas/",
    };
    json!({"$ref": format!("{place}{name}")})
}

/// The name of the type of lists of a kind.
pub(super) fn list_name(object_type: &ObjectType) -> String {
    format!("{}List", object_type.name)
}

/// All types that these kinds lead to, by name.
pub(super) fn describe(
    definitions: &[&Definition],
    schema: &Schema,
    kinds: &Kinds,
    dialect: Dialect,
) -> BTreeMap<String, Value> {
    let mut describer = Describer {
        schema,
        dialect,
        special: BTreeSet::from([Special::Patch]),
        waiting: roots(definitions, schema),
    };
    let mut described = BTreeMap::new();
    while let Some(type_id) = describer.waiting.pop() {
        let object_type = schema.object_type(type_id);
        if described.contains_key(&*object_type.name) {
            continue;
        }
        let mut content = describer.object(object_type);
        if let Some(kind) = kinds.get(schema, object_type) {
            content["x-kubernetes-group-version-kind"] = json!([kind]);
        }
        described.insert(object_type.name.to_string(), content);
    }
    let special = describer.special.into_iter();
    described.extend(special.map(|special| (special.name().to_owned(), special.content(dialect))));
    described
}

fn roots(definitions: &[&Definition], schema: &Schema) -> Vec<TypeId> {
    let mut roots: Vec<TypeId> = Vec::new();
    for definition in definitions {
        roots.extend(definition.schema);
        let list = definition
            .schema
            .map(|own| list_name(schema.object_type(own)));
        roots.extend(list.and_then(|list| schema.find(&list)));
        roots.extend(
            definition
                .subresources
                .iter()
                .filter_map(|below| below.schema),
        );
    }
    if definitions
        .iter()
        .any(|definition| definition.custom.is_some())
    {
        let shared = ["ObjectMeta", "ListMeta"].iter();
        roots.extend(shared.filter_map(|name| schema.find(&format!("{META}.{name}"))));
    }
    roots.extend(
        [STATUS, DELETE_OPTIONS]
            .iter()
            .filter_map(|name| schema.find(name)),
    );
    roots
}

struct Describer<'a> {
    schema: &'a Schema,
    dialect: Dialect,
    special: BTreeSet<Special>,
    waiting: Vec<TypeId>,
}

impl Describer<'_> {
    fn object(&mut self, object_type: &ObjectType) -> Value {
        let mut content = json!({"type": "object"});
        if !object_type.fields.is_empty() {
            let fields = object_type.fields.iter();
            let properties: Map<String, Value> = fields
                .map(|field| (field.name.to_string(), self.field(object_type, field)))
                .collect();
            content["properties"] = properties.into();
        }
        let required: Vec<&str> = object_type
            .fields
            .iter()
            .filter(|field| field.required)
            .map(|field| &*field.name)
            .collect();
        if !required.is_empty() {
            content["required"] = required.into();
        }
        content
    }

    fn field(&mut self, object_type: &ObjectType, field: &Field) -> Value {
        let mut extensions = merging(field);
        if let Some(text) = self.prose(object_type, field) {
            extensions.insert("description".to_owned(), text.into());
        }
        if let Some(default) = &field.default {
            let value = serde_json::from_str(default).unwrap_or(Value::Null);
            extensions.insert("default".to_owned(), value);
        }
        let mut content = self.shape(&field.shape, field.go_type.as_deref());
        if extensions.is_empty() {
            return content;
        }
        // What stands beside a reference is not read, so the reference moves one step inside.
        if self.dialect == Dialect::Three && content.get("$ref").is_some() {
            content = json!({"allOf": [content]});
        }
        if let Value::Object(members) = &mut content {
            members.append(&mut extensions);
        }
        content
    }

    /// What is said of a field that objects of all kinds have.
    fn prose(&self, object_type: &ObjectType, field: &Field) -> Option<&'static str> {
        let is_metadata = object_type.name.strip_prefix(META) == Some(".ObjectMeta");
        match &*field.name {
            "apiVersion" if field.embedded.is_some() => Some(prose::API_VERSION),
            "kind" if field.embedded.is_some() => Some(prose::KIND),
            "metadata" => match &field.shape {
                Shape::Object { type_id, .. } => {
                    match self.schema.object_type(*type_id).short_name() {
                        "ObjectMeta" => Some(prose::METADATA),
                        "ListMeta" => Some(prose::LIST_METADATA),
                        _ => None,
                    }
                }
                _ => None,
            },
            name if is_metadata => prose::of_object_metadata(name),
            _ => None,
        }
    }

    fn shape(&mut self, shape: &Shape, go_type: Option<&str>) -> Value {
        match shape {
            Shape::String => json!({"type": "string"}),
            Shape::Bytes => json!({"type": "string", "format": "byte"}),
            Shape::Boolean => json!({"type": "boolean"}),
            Shape::Int32 => json!({"type": "integer", "format": "int32"}),
            Shape::Int64 => json!({"type": "integer", "format": "int64"}),
            Shape::Number => json!({"type": "number", "format": "double"}),
            Shape::Time => self.special(Special::Time),
            Shape::MicroTime => self.special(Special::MicroTime),
            Shape::Quantity => self.special(Special::Quantity),
            Shape::IntOrString => self.special(Special::IntOrString),
            Shape::Any | Shape::Deduced => match Special::of_go_type(go_type) {
                Some(special) => self.special(special),
                None => json!({}),
            },
            Shape::Object { type_id, .. } => {
                self.waiting.push(*type_id);
                reference(&self.schema.object_type(*type_id).name, self.dialect)
            }
            Shape::Map { value, .. } => {
                let values = self.shape(value, None);
                json!({"type": "object", "additionalProperties": values})
            }
            Shape::List { element, .. } => {
                let element_type = go_type.and_then(|name| name.strip_prefix("[]"));
                json!({"type": "array", "items": self.shape(element, element_type)})
            }
        }
    }

    fn special(&mut self, special: Special) -> Value {
        self.special.insert(special);
        reference(special.name(), self.dialect)
    }
}

/// How the elements of a field are told apart and patched.
fn merging(field: &Field) -> Map<String, Value> {
    let mut extensions = Map::new();
    let mut add = |name: &str, value: Value| {
        extensions.insert(format!("x-kubernetes-{name}"), value);
    };
    match &field.shape {
        Shape::List { identity, .. } => match identity {
            ListIdentity::Atomic => add("list-type", "atomic".into()),
            ListIdentity::Set => add("list-type", "set".into()),
            ListIdentity::Keys(keys) => {
                add("list-type", "map".into());
                add("list-map-keys", json!(keys));
            }
        },
        Shape::Object { atomic: true, .. } | Shape::Map { atomic: true, .. } => {
            add("map-type", "atomic".into());
        }
        _ => {}
    }
    match &field.patch {
        PatchStrategy::Default => {}
        PatchStrategy::Replace => add("patch-strategy", "replace".into()),
        PatchStrategy::RetainKeys => add("patch-strategy", "retainKeys".into()),
        PatchStrategy::Merge { key, retain_keys } => {
            let strategy = if *retain_keys {
                "merge,retainKeys"
            } else {
                "merge"
            };
            add("patch-strategy", strategy.into());
            if let Some(key) = key {
                add("patch-merge-key", json!(key));
            }
        }
    }
    extensions
}

/// Types that say in JSON something else than fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Special {
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    Fields,
    RawExtension,
    Patch,
    Json,
    SchemaOrArray,
    SchemaOrBool,
}

impl Special {
    fn of_go_type(go_type: Option<&str>) -> Option<Self> {
        match go_type? {
            "v1.FieldsV1" => Some(Self::Fields),
            "runtime.RawExtension" => Some(Self::RawExtension),
            "v1.JSON" => Some(Self::Json),
            "v1.JSONSchemaPropsOrArray" => Some(Self::SchemaOrArray),
            "v1.JSONSchemaPropsOrBool" => Some(Self::SchemaOrBool),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity",
            Self::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
            Self::Time => "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
            Self::MicroTime => "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
            Self::Fields => "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
            Self::RawExtension => "io.k8s.apimachinery.pkg.runtime.RawExtension",
            Self::Patch => PATCH,
            Self::Json => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
            Self::SchemaOrArray => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray"
            }
            Self::SchemaOrBool => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool"
            }
        }
    }

    fn content(self, dialect: Dialect) -> Value {
        match (self, dialect) {
            (Self::Quantity, Dialect::Two) => json!({"type": "string"}),
            (Self::Quantity, Dialect::Three) => {
                json!({"oneOf": [{"type": "string"}, {"type": "number"}]})
            }
            (Self::IntOrString, Dialect::Two) => {
                json!({"type": "string", "format": "int-or-string"})
            }
            (Self::IntOrString, Dialect::Three) => {
                let either = json!([{"type": "integer"}, {"type": "string"}]);
                json!({"format": "int-or-string", "oneOf": either})
            }
            (Self::Time | Self::MicroTime, _) => json!({"type": "string", "format": "date-time"}),
            (Self::Fields | Self::RawExtension | Self::Patch, _) => json!({"type": "object"}),
            (Self::Json | Self::SchemaOrArray | Self::SchemaOrBool, _) => json!({}),
        }
    }
}
