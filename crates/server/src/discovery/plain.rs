//! The documents that every client knows: one per root, group and version.

use serde::Serialize;

use super::{Document, Group, JSON, Version, group_version};
use crate::registry::{Definition, Scope, Subresource, Verb};

/// What is served outside of groups.
const FIXED_PATHS: [&str; 11] = [
    "/api",
    "/apis",
    "/apis/",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/readyz",
    "/version",
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiVersions<'a> {
    kind: &'static str,
    versions: Vec<&'a str>,
    #[serde(rename = "serverAddressByClientCIDRs")]
    server_addresses: [ServerAddress<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerAddress<'a> {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    server_address: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroupList<'a> {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiGroup<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    name: &'a str,
    versions: Vec<GroupVersion<'a>>,
    preferred_version: Option<GroupVersion<'a>>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion<'a> {
    group_version: String,
    version: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceList<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    group_version: String,
    resources: Vec<Resource<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resource<'a> {
    name: String,
    singular_name: &'a str,
    namespaced: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    kind: &'a str,
    verbs: Vec<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [Box<str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [Box<str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_version_hash: Option<&'a str>,
}

pub(super) fn api_versions<'a>(core: &[Group<'a>], address: &'a str) -> ApiVersions<'a> {
    let versions = core.iter().flat_map(|group| &group.versions);
    ApiVersions {
        kind: "APIVersions",
        versions: versions.map(|version| version.name).collect(),
        server_addresses: [ServerAddress {
            client_cidr: "0.0.0.0/0",
            server_address: address,
        }],
    }
}

pub(super) fn group_list<'a>(groups: &[Group<'a>]) -> GroupList<'a> {
    GroupList {
        kind: "APIGroupList",
        api_version: "v1",
        groups: groups.iter().map(listed_group).collect(),
    }
}

pub(super) fn group<'a>(group: &Group<'a>) -> ApiGroup<'a> {
    ApiGroup {
        kind: Some("APIGroup"),
        api_version: Some("v1"),
        ..listed_group(group)
    }
}

fn listed_group<'a>(group: &Group<'a>) -> ApiGroup<'a> {
    let versions: Vec<GroupVersion<'_>> = group
        .versions
        .iter()
        .map(|version| GroupVersion {
            group_version: group_version(group.name, version.name),
            version: version.name,
        })
        .collect();
    ApiGroup {
        kind: None,
        api_version: None,
        name: group.name,
        preferred_version: versions.first().cloned(),
        versions,
    }
}

pub(super) fn resource_list<'a>(group: &str, version: &Version<'a>) -> ResourceList<'a> {
    let entries = version.definitions.iter().copied().flat_map(|definition| {
        let below = definition.subresources.iter();
        let below = below.map(move |subresource| subresource_entry(definition, subresource));
        [resource_entry(definition)].into_iter().chain(below)
    });
    ResourceList {
        kind: "APIResourceList",
        api_version: (!group.is_empty()).then_some("v1"),
        group_version: group_version(group, version.name),
        resources: entries.collect(),
    }
}

fn resource_entry(definition: &Definition) -> Resource<'_> {
    Resource {
        name: definition.resource.to_string(),
        singular_name: &definition.singular,
        namespaced: definition.scope == Scope::Namespaced,
        group: None,
        version: None,
        kind: &definition.kind,
        verbs: words(&definition.offered_verbs()),
        short_names: &definition.short_names,
        categories: &definition.categories,
        storage_version_hash: definition.storage_version_hash.as_deref(),
    }
}

fn subresource_entry<'a>(definition: &'a Definition, subresource: &'a Subresource) -> Resource<'a> {
    Resource {
        name: format!("{}/{}", definition.resource, subresource.name),
        singular_name: "",
        namespaced: definition.scope == Scope::Namespaced,
        group: subresource.group.as_deref(),
        version: subresource.version.as_deref(),
        kind: &subresource.kind,
        verbs: words(&subresource.verbs),
        short_names: &[],
        categories: &[],
        storage_version_hash: None,
    }
}

pub(super) fn words(verbs: &[Verb]) -> Vec<&'static str> {
    verbs.iter().map(|verb| verb.as_str()).collect()
}

#[derive(Serialize)]
struct Paths {
    paths: Vec<String>,
}

pub(super) fn paths(groups: &[Group<'_>]) -> Document {
    let mut paths: Vec<String> = FIXED_PATHS.iter().map(ToString::to_string).collect();
    for group in groups {
        let root = if group.name.is_empty() {
            "/api".to_owned()
        } else {
            let root = format!("/apis/{}", group.name);
            paths.push(root.clone());
            root
        };
        let versions = group.versions.iter();
        paths.extend(versions.map(|version| format!("{root}/{}", version.name)));
    }
    paths.sort();
    let body = serde_json::to_vec_pretty(&Paths { paths });
    Document::new(body.expect("plain structs always become JSON"), JSON)
}
