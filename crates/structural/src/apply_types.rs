//! The shape of a custom resource's objects, for managed fields and server-side apply.

use listwatch_api::schema::{
    Field, ListIdentity, ObjectType, PatchStrategy, Presence, Schema, Shape, TypeId,
};

use crate::node::{Additional, ListType, Node, Traits, Types};

/// The types of every object's metadata.
const METADATA_TYPES: &str = "\
package io.k8s.apimachinery.pkg.apis.meta.v1
type ManagedFieldsEntry
  manager string 1
  operation string 2
  apiVersion string 3
  time? time 4
  fieldsType string 6
  fieldsV1? any 7
  subresource string 8
type ObjectMeta
  name string 1
  generateName string 2
  namespace string 3
  selfLink string 4
  uid string 5
  resourceVersion string 6
  generation int64 7
  creationTimestamp time 8
  deletionTimestamp? time 9
  deletionGracePeriodSeconds? int64 10
  labels {string} 11
  annotations {string} 12
  ownerReferences [OwnerReference] 13 keys=uid patch=merge:uid
  finalizers [string] 14 set patch=merge
  managedFields [ManagedFieldsEntry] 17
type OwnerReference atomic
  apiVersion! string 5 required
  kind! string 1 required
  name! string 3 required
  uid! string 4 required
  controller? boolean 6
  blockOwnerDeletion? boolean 7
";

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The types of an object with this schema; the object's own has this name.
pub(crate) fn of(root: &Node, name: &str) -> Schema {
    let metadata = Schema::parse(&[METADATA_TYPES]).expect("the table is fixed and well formed");
    let object_meta = metadata.find(OBJECT_META).expect("the table has it");
    let mut builder = Builder {
        types: metadata.into_types(),
        object_meta,
    };
    let unknown = Unknown::Refused.below(root);
    builder.object(root, name, unknown, Resource::Whole);
    Schema::new(builder.types)
}

/// What becomes of fields that the schema does not name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Refused,
    /// Kept, here and below.
    Kept,
}

impl Unknown {
    fn below(self, node: &Node) -> Self {
        match node.traits.has(Traits::PRESERVES_UNKNOWN) {
            true => Self::Kept,
            false => self,
        }
    }
}

/// Whether an object has `apiVersion`, `kind` and `metadata` of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resource {
    Whole,
    None,
}

struct Builder {
    types: Vec<ObjectType>,
    object_meta: TypeId,
}

impl Builder {
    fn shape(&mut self, node: &Node, name: &str, unknown: Unknown) -> Shape {
        let unknown = unknown.below(node);
        let types = node.types;
        if types == Types::ARRAY {
            self.list(node, name, unknown)
        } else if types == Types::OBJECT || (types.is_empty() && !node.properties.is_empty()) {
            self.map(node, name, unknown)
        } else if types == Types::STRING {
            let format = node
                .checks
                .as_ref()
                .and_then(|checks| checks.format.as_ref());
            match format.map(|format| format.name()) {
                None | Some("byte") => Shape::String,
                Some(_) => Shape::IntOrString,
            }
        } else if types == Types::INTEGER {
            Shape::Int64
        } else if types == Types::NUMBER {
            Shape::Number
        } else if types == Types::BOOLEAN {
            Shape::Boolean
        } else {
            Shape::Deduced
        }
    }

    fn list(&mut self, node: &Node, name: &str, unknown: Unknown) -> Shape {
        let element = match node.items() {
            Some(items) => self.shape(items, &format!("{name}[]"), unknown),
            None => Shape::Any,
        };
        Shape::List {
            element: Box::new(element),
            identity: match &node.list {
                ListType::Atomic => ListIdentity::Atomic,
                ListType::Set => ListIdentity::Set,
                ListType::Map(keys) => ListIdentity::Keys(keys.to_vec()),
            },
        }
    }

    fn map(&mut self, node: &Node, name: &str, unknown: Unknown) -> Shape {
        let atomic = node.traits.has(Traits::ATOMIC_MAP);
        let resource = match node.traits.has(Traits::EMBEDDED) {
            true => Resource::Whole,
            false => Resource::None,
        };
        if node.properties.is_empty() && resource == Resource::None {
            let value = match &node.additional {
                Additional::Each(each) => Some(self.shape(each, &format!("{name}{{}}"), unknown)),
                Additional::Unknown | Additional::Any => Some(Shape::Deduced),
                Additional::Refused => None,
            };
            if let Some(value) = value {
                return Shape::Map {
                    value: Box::new(value),
                    atomic,
                };
            }
        }
        let type_id = self.object(node, name, unknown, resource);
        Shape::Object { type_id, atomic }
    }

    fn object(&mut self, node: &Node, name: &str, unknown: Unknown, resource: Resource) -> TypeId {
        let mut fields = Vec::with_capacity(node.properties.len());
        for (property, below) in &node.properties {
            if resource == Resource::Whole && is_of_every_resource(property) {
                continue;
            }
            let shape = self.shape(below, &format!("{name}.{property}"), unknown);
            let default = below
                .default
                .as_ref()
                .map(|default| default.to_string().into());
            fields.push(field(property, shape, default));
        }
        if resource == Resource::Whole {
            fields.push(field("apiVersion", Shape::String, None));
            fields.push(field("kind", Shape::String, None));
            let metadata = Shape::Object {
                type_id: self.object_meta,
                atomic: false,
            };
            fields.push(field("metadata", metadata, None));
        }
        fields.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let rest = match &node.additional {
            Additional::Each(each) => Some(self.shape(each, &format!("{name}{{}}"), unknown)),
            Additional::Any => Some(Shape::Deduced),
            Additional::Unknown if unknown == Unknown::Kept => Some(Shape::Deduced),
            Additional::Unknown | Additional::Refused => None,
        };
        let type_id = TypeId::at(self.types.len());
        self.types.push(ObjectType {
            name: name.into(),
            fields,
            rest,
        });
        type_id
    }
}

fn is_of_every_resource(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

fn field(name: &str, shape: Shape, default: Option<Box<str>>) -> Field {
    Field {
        name: name.into(),
        shape,
        required: false,
        presence: Presence::Optional,
        patch: PatchStrategy::Default,
        position: 0,
        number: None,
        embedded: None,
        go_type: None,
        default,
    }
}
