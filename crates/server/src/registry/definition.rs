//! One kind as the API serves it: everything a verb needs to know, and nothing it does.

use std::sync::Arc;

use listwatch_api::{media_type::Origin, metadata::MetadataRules, name::NameRule, schema::TypeId};

pub use listwatch_api::metadata::Scope;
use serde_json::Value;

use super::{ConversionWebhook, CustomVersion, Life};

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
    /// How a field selector with another name is refused.
    pub field_refusal: FieldRefusal,
    /// Whether its objects are kept.
    pub persistence: Persistence,
    /// The beginning of all its keys in the store, such as `/registry/configmaps/`.
    pub storage_prefix: Box<str>,
    /// The `apiVersion`s, beside the served ones, in which others may have stored its objects: of
    /// the same shape, under another name.
    pub also_stored_as: Vec<Box<str>>,
    /// Tells clients whether the stored form changed; absent when nothing is stored.
    pub storage_version_hash: Option<Box<str>>,
    /// How its stored form becomes this version and back.
    pub conversion: Conversion,
    /// The shape of its objects; `None` keeps anything.
    pub schema: Option<TypeId>,
    /// When `metadata.generation` grows.
    pub generation: Generation,
    /// Who writes `status`.
    pub status: StatusWriting,
    /// What names its objects may have.
    pub naming: Naming,
    /// What a PUT to a missing name does.
    pub put_to_missing: PutToMissing,
    /// What a PUT without a resourceVersion does.
    pub put_without_version: PutWithoutVersion,
    /// What a DELETE that removes an object at once answers with.
    pub deletion_answer: DeletionAnswer,
    /// How long its objects live.
    pub lifetime: Lifetime,
    /// What a custom kind has beyond that; `None` for a built-in one.
    pub custom: Option<CustomVersion>,
}

/// What a DELETE that removes an object at once answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionAnswer {
    /// A `Status` that names it.
    Status,
    /// The object in its last state.
    Object,
}

/// How long the objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until they are deleted.
    Unlimited,
    /// For as long as the server keeps events, counted from their last change.
    Events,
}

/// Whether the objects of a kind are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// In the store, under the kind's prefix.
    Stored,
    /// Nowhere: each request is answered by computing, such as an access review.
    Answered,
}

/// Who writes the `status` of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusWriting {
    /// Anybody: there is no `status` subresource.
    Open,
    /// The `status` subresource alone: a create drops it, an update leaves it as it was.
    Separate,
    /// As `Separate`, but a create may bring one along.
    SeparateAfterCreate,
}

/// What a PUT to a missing name does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutToMissing {
    /// It is answered with 404.
    Refuses,
    /// It creates the object.
    Creates,
}

/// What a PUT without a resourceVersion does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutWithoutVersion {
    /// It overwrites whatever is there.
    Overwrites,
    /// It is invalid.
    Refuses,
}

/// How a field selector that a kind does not know is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldRefusal {
    /// By naming the two fields that every kind has.
    NamesTheKnown,
    /// By naming the label alone.
    Unsupported,
    /// By naming the label and the kind.
    UnsupportedForKind,
    /// By naming the label and the kind with group and version.
    UnsupportedForGroupVersionKind,
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
    /// The shape of what it speaks; `None` when it is not an object of a known shape.
    pub schema: Option<TypeId>,
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
    /// The members to descend when the first path leads to nothing.
    pub fallback: Option<Vec<Box<str>>>,
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
    /// It is 1 for good.
    Constant,
    /// From 1, with every change of `spec`.
    Spec,
    /// With every change of `spec`, but a new object has none.
    SpecAfterCreate,
    /// From 1, with every change outside `metadata` and `status`.
    OutsideStatus,
    /// From 1, with every change outside `metadata`.
    OutsideMetadata,
    /// From 1, with every change outside `metadata`, and of `metadata.labels`.
    OutsideMetadataAndLabels,
}

/// What names the objects of a kind may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Lower case words joined by `-` and `.`.
    DnsSubdomain,
    /// One lower case word with `-`, at most 63 characters.
    DnsLabel,
    /// Anything that fits into a path.
    PathSegment,
    /// An IP address in its shortest form.
    IpAddress,
}

impl Naming {
    /// The rule for names, where it is one that many kinds share.
    pub fn rule(self) -> NameRule {
        match self {
            Self::DnsSubdomain => NameRule::DnsSubdomain,
            Self::DnsLabel => NameRule::DnsLabel,
            Self::PathSegment | Self::IpAddress => NameRule::PathSegment,
        }
    }
}

/// Where the value of a selected field is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldSource<'a> {
    /// In `metadata.name`.
    Name,
    /// In `metadata.namespace`.
    Namespace,
    /// In a member of the stored object.
    Member(&'a SelectableField),
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

    /// What it demands of its objects' metadata.
    pub fn metadata_rules(&self) -> MetadataRules {
        MetadataRules {
            name: self.naming.rule(),
            scope: self.scope,
            origin: match &*self.group {
                // Their validation is that of custom kinds, which takes any qualified finalizer.
                "apiextensions.k8s.io" => Origin::Custom,
                _ => self.origin(),
            },
        }
    }

    /// What clients are told can be done with it: of a custom kind that is on its way out, less
    /// than can.
    pub fn offered_verbs(&self) -> Vec<Verb> {
        let is_leaving = self
            .custom
            .as_ref()
            .is_some_and(|it| it.life == Life::Terminating);
        let writes = [Verb::Create, Verb::Update, Verb::Patch];
        let offered = self.verbs.iter().copied();
        offered
            .filter(|verb| !is_leaving || !writes.contains(verb))
            .collect()
    }

    /// What whoever uses it is told.
    pub fn warning(&self) -> Option<&str> {
        let Some(custom) = &self.custom else {
            return self.deprecation();
        };
        custom.warning.as_deref()
    }

    /// What Kubernetes says of built-in kinds that it wants to be rid of.
    fn deprecation(&self) -> Option<&'static str> {
        match &*self.kind {
            "ComponentStatus" => Some("v1 ComponentStatus is deprecated in v1.19+"),
            "Endpoints" => {
                Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
            }
            _ => None,
        }
    }

    /// Whether it is built in.
    pub fn origin(&self) -> Origin {
        match self.custom {
            Some(_) => Origin::Custom,
            None => Origin::BuiltIn,
        }
    }

    /// Makes a stored object of a custom kind say that it is of this version.
    pub fn name_version(&self, object: &mut Value) {
        if self.custom.is_some() {
            object["apiVersion"] = self.api_version().into();
        }
    }

    /// Who converts its objects from one version into another, if somebody has to be asked.
    pub fn conversion_webhook(&self) -> Option<&Arc<ConversionWebhook>> {
        self.custom.as_ref()?.webhook()
    }

    /// The subresource with this name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources
            .iter()
            .find(|subresource| &*subresource.name == name)
    }

    /// Where the value of this field label is found, or the text of the refusal.
    pub fn field_source(&self, label: &str) -> Result<FieldSource<'_>, String> {
        match label {
            "metadata.name" => return Ok(FieldSource::Name),
            "metadata.namespace" if self.knows_namespace_label() => {
                return Ok(FieldSource::Namespace);
            }
            _ => {}
        }
        self.selectable_fields
            .iter()
            .find(|field| &*field.name == label)
            .map(FieldSource::Member)
            .ok_or_else(|| self.refuse_field_label(label))
    }

    fn knows_namespace_label(&self) -> bool {
        self.scope == Scope::Namespaced || self.field_refusal == FieldRefusal::NamesTheKnown
    }

    fn refuse_field_label(&self, label: &str) -> String {
        match self.field_refusal {
            FieldRefusal::NamesTheKnown => format!(
                "{label:?} is not a known field selector: \
                 only \"metadata.name\", \"metadata.namespace\""
            ),
            FieldRefusal::Unsupported => format!("field label not supported: {label}"),
            FieldRefusal::UnsupportedForKind => {
                format!("field label {label:?} not supported for {}", self.kind)
            }
            FieldRefusal::UnsupportedForGroupVersionKind => format!(
                "field label not supported for {}, Kind={}: {label}",
                self.api_version(),
                self.kind
            ),
        }
    }
}
