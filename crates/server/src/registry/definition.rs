//! One kind as the API serves it: everything a verb needs to know, and nothing it does.

use listwatch_api::schema::TypeId;

/// One resource of one served version.
#[derive(Debug)]
pub struct Definition {
    /// The API group; empty for the core group.
    pub group: Box<str>,
    /// The version, such as `v1`.
    pub version: Box<str>,
    /// The resource's name in paths, such as `configmaps`.
    pub resource: Box<str>,
    /// The kind, such as `ConfigMap`.
    pub kind: Box<str>,
    /// The kind of a list of it.
    pub list_kind: Box<str>,
    /// One of it, as people write it, such as `configmap`.
    pub singular: Box<str>,
    /// What kubectl users type, such as `cm`.
    pub short_names: Vec<Box<str>>,
    /// Groups of kinds it belongs to, such as `all`.
    pub categories: Vec<Box<str>>,
    /// Where its objects live.
    pub scope: Scope,
    /// What can be done with it, in discovery's order.
    pub verbs: Vec<Verb>,
    /// What hangs below an object of it.
    pub subresources: Vec<Subresource>,
    /// The fields that a field selector may name, beside `metadata.name` and `metadata.namespace`.
    pub selectable_fields: Vec<SelectableField>,
    /// The beginning of all its keys in the store, such as `/registry/configmaps/`.
    pub storage_prefix: Box<str>,
    /// How its stored form becomes this version and back.
    pub conversion: Conversion,
    /// The shape of its objects; `None` keeps anything.
    pub schema: Option<TypeId>,
    /// When `metadata.generation` grows.
    pub generation: Generation,
    /// What names its objects may have.
    pub naming: Naming,
    /// Whether a PUT to a missing name creates it.
    pub create_on_update: bool,
    /// Whether a PUT without a resourceVersion overwrites whatever is there.
    pub unconditional_update: bool,
}

/// Where the objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One set for the whole cluster.
    Cluster,
    /// One set in each namespace.
    Namespaced,
}

/// What can be done with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// POST to the collection.
    Create,
    /// DELETE of one.
    Delete,
    /// DELETE of the collection.
    DeleteCollection,
    /// GET of one.
    Get,
    /// GET of the collection.
    List,
    /// PATCH of one.
    Patch,
    /// PUT of one.
    Update,
    /// GET of the collection as a stream.
    Watch,
}

impl Verb {
    /// The word in discovery documents and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }
}

/// A part of an object with a path of its own.
#[derive(Debug, PartialEq, Eq)]
pub struct Subresource {
    /// The last part of the path, such as `status`.
    pub name: Box<str>,
    /// The group of the kind it speaks; `None` for the resource's own kind.
    pub group: Option<Box<str>>,
    /// The version of the kind it speaks; `None` for the resource's own.
    pub version: Option<Box<str>>,
    /// The kind it speaks, such as `Scale`.
    pub kind: Box<str>,
    /// What can be done with it.
    pub verbs: Vec<Verb>,
}

/// A field that a selector may name, and where its value is found.
#[derive(Debug, PartialEq, Eq)]
pub struct SelectableField {
    /// The name in selectors, such as `spec.nodeName`.
    pub name: Box<str>,
    /// The members to descend in the stored object, such as `["spec", "nodeName"]`.
    pub path: Vec<Box<str>>,
    /// The text of an absent value, such as `false` for a boolean.
    pub default: Box<str>,
    /// Whether the cache keeps an index of it.
    pub indexed: bool,
}

/// How the stored form of a kind and a served version differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// Not at all, beyond `kind` and `apiVersion`.
    None,
    /// `events.k8s.io/v1` served from core events.
    EventsV1,
    /// `autoscaling/v1` served from `autoscaling/v2`.
    AutoscalingV1,
}

/// When `metadata.generation` grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// The kind has none.
    Untracked,
    /// With every change of `spec`.
    Spec,
    /// With every change outside `metadata` and `status`.
    OutsideStatus,
}

/// What names the objects of a kind may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Lower case words joined by `-` and `.`.
    DnsSubdomain,
    /// One lower case word with `-`, at most 63 characters.
    DnsLabel,
    /// As a label, but beginning with a letter.
    DnsLabelLettersFirst,
    /// Anything that fits into a path.
    PathSegment,
}

impl Definition {
    /// The `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}
