//! URL and headers to a typed request.

mod body;
mod path;
mod query;

use std::{net::IpAddr, sync::Arc};

use http::{HeaderMap, HeaderName, Method, header};
use listwatch_api::{GroupKind, GroupResource};

pub(crate) use body::{RequestBody, read_body};
pub(crate) use path::{Path, PathForm, ResourcePath, parse as parse_path};
pub(crate) use query::Query;

use crate::registry::{Definition, Registry, Scope, Verb};

/// A request for a resource that is served here.
#[derive(Debug)]
pub(crate) struct ResourceRequest {
    /// The kind asked for.
    pub definition: Arc<Definition>,
    /// The namespace in the path; `None` for cluster-wide kinds and for all namespaces.
    pub namespace: Option<String>,
    /// The object's name; `None` for a collection.
    pub name: Option<String>,
    /// The part of the object.
    pub subresource: Option<String>,
    /// Whether the path itself asks for a watch.
    pub form: PathForm,
    /// The parameters.
    pub query: Query,
    /// The headers.
    pub headers: HeaderMap,
    /// Who asks.
    pub client: IpAddr,
}

/// What a resource path turned out to be.
pub(crate) enum Lookup {
    /// A resource that is served.
    Found(Arc<Definition>),
    /// The group is known or its version served, the resource is not.
    UnknownResource,
    /// Nothing is known of the group, or of the version of one that clients define.
    UnknownGroup,
}

/// Finds the kind that a path is about, if the path fits its scope.
pub(crate) fn look_up(registry: &Registry, path: &ResourcePath) -> Lookup {
    match registry.find(&path.group, &path.version, &path.resource) {
        Some(definition) if fits(&definition, path) => Lookup::Found(definition),
        Some(_) => Lookup::UnknownResource,
        None if registry.version_exists(&path.group, &path.version) => Lookup::UnknownResource,
        None if registry.has_built_in_group(&path.group) => Lookup::UnknownResource,
        None => Lookup::UnknownGroup,
    }
}

/// A cluster-wide kind has no namespace, an object of a namespaced kind needs one, and a part must
/// be one that the kind has.
fn fits(definition: &Definition, path: &ResourcePath) -> bool {
    let in_scope = match definition.scope {
        Scope::Cluster => path.namespace.is_none(),
        Scope::Namespaced => path.namespace.is_some() || path.name.is_none(),
    };
    let has_part = match (&path.subresource, path.form) {
        (None, _) => true,
        (Some(name), PathForm::Plain) => definition.subresource(name).is_some(),
        (Some(_), PathForm::LegacyWatch) => false,
    };
    in_scope && has_part
}

impl ResourceRequest {
    /// The verb that a method means here; `None` when the path does not know the method.
    pub(crate) fn verb(&self, method: &Method) -> Option<Verb> {
        let is_item = self.name.is_some();
        let whole_cluster = self.definition.scope == Scope::Namespaced && self.namespace.is_none();
        match *method {
            Method::GET if self.form == PathForm::LegacyWatch => Some(Verb::Watch),
            Method::GET if is_item => Some(Verb::Get),
            Method::GET if self.query.typed().is_on("watch") => Some(Verb::Watch),
            Method::GET => Some(Verb::List),
            _ if self.form == PathForm::LegacyWatch || whole_cluster => None,
            Method::POST if !is_item || self.subresource.is_some() => Some(Verb::Create),
            Method::PUT if is_item => Some(Verb::Update),
            Method::PATCH if is_item => Some(Verb::Patch),
            Method::DELETE if is_item => Some(Verb::Delete),
            Method::DELETE => Some(Verb::DeleteCollection),
            _ => None,
        }
    }

    /// The resource, as messages name it.
    pub(crate) fn group_resource(&self) -> GroupResource<'_> {
        GroupResource::new(&self.definition.group, &self.definition.resource)
    }

    /// The kind, as messages name it. Events of either group are those of the core.
    pub(crate) fn group_kind(&self) -> GroupKind<'_> {
        let group = match &*self.definition.group {
            "events.k8s.io" => "",
            group => group,
        };
        GroupKind::new(group, &self.definition.kind)
    }

    /// The object's name; empty for a collection, where no message needs it.
    pub(crate) fn object_name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// A header as text.
    pub(crate) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The content type of the body; empty when the client does not say.
    pub(crate) fn content_type(&self) -> &str {
        self.header(header::CONTENT_TYPE).unwrap_or_default()
    }

    /// The same request, about one object of the collection.
    pub(crate) fn for_object(&self, namespace: Option<&str>, name: &str) -> Self {
        Self {
            definition: Arc::clone(&self.definition),
            namespace: namespace.map(str::to_owned),
            name: Some(name.to_owned()),
            subresource: None,
            form: PathForm::Plain,
            query: Query::default(),
            headers: HeaderMap::new(),
            client: self.client,
        }
    }
}
