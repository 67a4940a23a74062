//! From what a person types to a kind that the server has.

use anyhow::{Result, bail};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::{Client, discovery::ApiResource};

/// A kind that can be listed and watched.
#[derive(Debug, PartialEq)]
pub(super) struct Kind {
    pub(super) resource: ApiResource,
    pub(super) scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Namespaced,
    Cluster,
}

/// What was typed: `pods`, `deploy`, `Deployment` or `deployments.apps`.
struct Wanted<'a> {
    name: &'a str,
    group: Option<&'a str>,
}

/// Finds the kind, in the core group first and then in the others in the server's order.
pub(super) async fn find(client: &Client, typed: &str) -> Result<Kind> {
    let wanted = Wanted::parse(typed);
    if wanted.group.is_none_or(str::is_empty) {
        let core = client.list_core_api_resources("v1").await?;
        if let Some(kind) = wanted.choose(&core.group_version, &core.resources) {
            return Ok(kind);
        }
    }
    for group in client.list_api_groups().await?.groups {
        if wanted.group.is_some_and(|wanted| wanted != group.name) {
            continue;
        }
        let preferred = group
            .preferred_version
            .or(group.versions.into_iter().next());
        let Some(preferred) = preferred else { continue };
        let list = client.list_api_group_resources(&preferred.group_version);
        let list = list.await?;
        if let Some(kind) = wanted.choose(&list.group_version, &list.resources) {
            return Ok(kind);
        }
    }
    bail!("the server has no resource {typed:?}; `kubectl api-resources` lists those it has")
}

impl<'a> Wanted<'a> {
    fn parse(typed: &'a str) -> Self {
        match typed.split_once('.') {
            Some((name, group)) => Self {
                name,
                group: Some(group),
            },
            None => Self {
                name: typed,
                group: None,
            },
        }
    }

    fn choose(&self, group_version: &str, resources: &[APIResource]) -> Option<Kind> {
        let found = resources.iter().find(|resource| self.means(resource))?;
        let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
        Some(Kind {
            resource: ApiResource {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version: group_version.to_owned(),
                kind: found.kind.clone(),
                plural: found.name.clone(),
            },
            scope: match found.namespaced {
                true => Scope::Namespaced,
                false => Scope::Cluster,
            },
        })
    }

    fn means(&self, resource: &APIResource) -> bool {
        let names = [&resource.name, &resource.singular_name, &resource.kind];
        let short = resource.short_names.iter().flatten();
        let mut names = names.into_iter().chain(short);
        names.any(|name| name.eq_ignore_ascii_case(self.name))
            && resource.verbs.iter().any(|verb| verb == "watch")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployments() -> APIResource {
        APIResource {
            name: "deployments".to_owned(),
            singular_name: "deployment".to_owned(),
            kind: "Deployment".to_owned(),
            namespaced: true,
            short_names: Some(vec!["deploy".to_owned()]),
            verbs: vec!["list".to_owned(), "watch".to_owned()],
            ..APIResource::default()
        }
    }

    #[test]
    fn a_kind_goes_by_many_names() {
        for typed in [
            "deployments",
            "deployment",
            "Deployment",
            "deploy",
            "DEPLOY",
        ] {
            let kind = Wanted::parse(typed).choose("apps/v1", &[deployments()]);
            let kind = kind.unwrap_or_else(|| panic!("{typed} is not found"));
            assert_eq!(kind.resource.plural, "deployments");
            assert_eq!(kind.resource.group, "apps");
            assert_eq!(kind.resource.version, "v1");
            assert_eq!(kind.scope, Scope::Namespaced);
        }
        assert_eq!(
            Wanted::parse("pods").choose("apps/v1", &[deployments()]),
            None
        );
    }

    #[test]
    fn what_stands_after_the_first_dot_is_the_group() {
        let wanted = Wanted::parse("ingresses.networking.k8s.io");
        assert_eq!(wanted.name, "ingresses");
        assert_eq!(wanted.group, Some("networking.k8s.io"));
    }

    #[test]
    fn a_kind_that_cannot_be_watched_is_not_found() {
        let mut resource = deployments();
        resource.verbs = vec!["create".to_owned()];
        assert_eq!(Wanted::parse("deploy").choose("apps/v1", &[resource]), None);
    }
}
