//! All groups, versions and resources of a root in one document.

use serde::Serialize;

use super::plain::words;
use super::{AggregatedVersion, Document, Group};
use crate::registry::{Definition, Scope, Subresource};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupDiscoveryList<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Metadata<'a>,
    items: Vec<GroupDiscovery<'a>>,
}

#[derive(Default, Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

#[derive(Serialize)]
struct GroupDiscovery<'a> {
    metadata: Metadata<'a>,
    versions: Vec<VersionDiscovery<'a>>,
}

#[derive(Serialize)]
struct VersionDiscovery<'a> {
    version: &'a str,
    resources: Vec<ResourceDiscovery<'a>>,
    freshness: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDiscovery<'a> {
    resource: &'a str,
    response_kind: ResponseKind<'a>,
    scope: &'static str,
    singular_resource: &'a str,
    verbs: Vec<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [Box<str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [Box<str>],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<SubresourceDiscovery<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubresourceDiscovery<'a> {
    subresource: &'a str,
    response_kind: ResponseKind<'a>,
    verbs: Vec<&'static str>,
}

#[derive(Serialize)]
struct ResponseKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

pub(super) fn document(groups: &[Group<'_>], version: AggregatedVersion) -> Document {
    let (api_version, content_type) = match version {
        AggregatedVersion::V2 => (
            "apidiscovery.k8s.io/v2",
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        ),
        AggregatedVersion::V2Beta1 => (
            "apidiscovery.k8s.io/v2beta1",
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        ),
    };
    let list = GroupDiscoveryList {
        kind: "APIGroupDiscoveryList",
        api_version,
        metadata: Metadata::default(),
        items: groups.iter().map(group_discovery).collect(),
    };
    let mut body = serde_json::to_vec(&list).expect("plain structs always become JSON");
    body.push(b'\n');
    Document::new(body, content_type)
}

fn group_discovery<'a>(group: &Group<'a>) -> GroupDiscovery<'a> {
    let versions = group.versions.iter().map(|version| VersionDiscovery {
        version: version.name,
        resources: version
            .definitions
            .iter()
            .map(|definition| resource_discovery(definition))
            .collect(),
        freshness: "Current",
    });
    GroupDiscovery {
        metadata: Metadata {
            name: (!group.name.is_empty()).then_some(group.name),
        },
        versions: versions.collect(),
    }
}

fn resource_discovery(definition: &Definition) -> ResourceDiscovery<'_> {
    let subresources = definition.subresources.iter();
    ResourceDiscovery {
        resource: &definition.resource,
        response_kind: own_kind(definition),
        scope: match definition.scope {
            Scope::Cluster => "Cluster",
            Scope::Namespaced => "Namespaced",
        },
        singular_resource: &definition.singular,
        verbs: words(&definition.offered_verbs()),
        short_names: &definition.short_names,
        categories: &definition.categories,
        subresources: subresources
            .map(|subresource| subresource_discovery(definition, subresource))
            .collect(),
    }
}

/// The kind of a resource; only custom ones are told where it belongs.
fn own_kind(definition: &Definition) -> ResponseKind<'_> {
    let (group, version) = match definition.custom {
        Some(_) => (&*definition.group, &*definition.version),
        None => ("", ""),
    };
    ResponseKind {
        group,
        version,
        kind: &definition.kind,
    }
}

fn subresource_discovery<'a>(
    definition: &'a Definition,
    subresource: &'a Subresource,
) -> SubresourceDiscovery<'a> {
    let own = own_kind(definition);
    SubresourceDiscovery {
        subresource: &subresource.name,
        response_kind: ResponseKind {
            group: subresource.group.as_deref().unwrap_or(own.group),
            version: subresource.version.as_deref().unwrap_or(own.version),
            kind: &subresource.kind,
        },
        verbs: words(&subresource.verbs),
    }
}
