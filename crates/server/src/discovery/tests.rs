use serde_json::{Value, json};

use super::*;
use crate::registry::Registry;

const RECORDED: &str = include_str!("../../../../conformance/golden/discovery.json");

fn discovery() -> Discovery {
    Discovery::build(Registry::builtin().definitions(), "192.0.2.2:16443")
}

fn parse(document: &Document) -> Value {
    serde_json::from_slice(&document.body).unwrap()
}

fn text(document: &Document) -> &str {
    std::str::from_utf8(&document.body).unwrap()
}

#[test]
fn aggregated_discovery_equals_the_recorded_one() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let discovery = discovery();
    let core = discovery.aggregated(Root::Core, AggregatedVersion::V2);
    assert_eq!(parse(core), recorded["api"]);
    let groups = discovery.aggregated(Root::Groups, AggregatedVersion::V2);
    assert_eq!(parse(groups), recorded["apis"]);
}

#[test]
fn aggregated_members_come_in_the_recorded_order() {
    let discovery = discovery();
    let core = discovery.aggregated(Root::Core, AggregatedVersion::V2);
    assert!(text(core).starts_with(concat!(
        r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"#,
        r#""items":[{"metadata":{},"versions":[{"version":"v1","resources":["#,
        r#"{"resource":"bindings","#,
        r#""responseKind":{"group":"","version":"","kind":"Binding"},"scope":"Namespaced","#,
        r#""singularResource":"binding","verbs":["create"]},"#,
    )));
}

#[test]
fn the_older_aggregated_version_differs_in_its_name_alone() {
    let discovery = discovery();
    let new = discovery.aggregated(Root::Groups, AggregatedVersion::V2);
    let old = discovery.aggregated(Root::Groups, AggregatedVersion::V2Beta1);
    let renamed = text(new).replace("apidiscovery.k8s.io/v2", "apidiscovery.k8s.io/v2beta1");
    assert_eq!(text(old), renamed);
    assert_ne!(old.etag, new.etag);
    assert!(old.content_type.contains(";v=v2beta1;"));
}

#[test]
fn the_core_root_is_told_as_recorded() {
    let expected = concat!(
        r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":"#,
        r#"[{"clientCIDR":"0.0.0.0/0","serverAddress":"192.0.2.2:16443"}]}"#,
        "\n"
    );
    assert_eq!(text(discovery().api_versions()), expected);
}

#[test]
fn core_resources_are_told_as_recorded() {
    let discovery = discovery();
    let core = discovery.resources("", "v1").unwrap();
    assert!(text(core).starts_with(concat!(
        r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"bindings","#,
        r#""singularName":"binding","namespaced":true,"kind":"Binding","verbs":["create"]},"#,
        r#"{"name":"componentstatuses","singularName":"componentstatus","namespaced":false,"#,
        r#""kind":"ComponentStatus","verbs":["get","list"],"shortNames":["cs"]},"#,
        r#"{"name":"configmaps","singularName":"configmap","namespaced":true,"kind":"ConfigMap","#,
        r#""verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"#,
        r#""shortNames":["cm"],"storageVersionHash":"qFsyl6wFWjQ="},"#,
    )));
}

#[test]
fn groups_are_told_as_recorded() {
    let discovery = discovery();
    assert!(text(discovery.group_list()).starts_with(concat!(
        r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apiregistration.k8s.io","#,
        r#""versions":[{"groupVersion":"apiregistration.k8s.io/v1","version":"v1"}],"#,
        r#""preferredVersion":{"groupVersion":"apiregistration.k8s.io/v1","version":"v1"}},"#,
        r#"{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"#,
    )));
}

#[test]
fn a_group_prefers_its_first_version() {
    let discovery = discovery();
    let group = parse(discovery.group("autoscaling").unwrap());
    let versions = json!([
        {"groupVersion": "autoscaling/v2", "version": "v2"},
        {"groupVersion": "autoscaling/v1", "version": "v1"},
    ]);
    assert_eq!(group["kind"], "APIGroup");
    assert_eq!(group["versions"], versions);
    assert_eq!(group["preferredVersion"], versions[0]);
}

#[test]
fn a_subresource_of_another_group_is_told_with_it() {
    let discovery = discovery();
    let apps = parse(discovery.resources("apps", "v1").unwrap());
    assert_eq!(apps["apiVersion"], "v1");
    let scale = apps["resources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|resource| resource["name"] == "deployments/scale");
    let expected = json!({
        "name": "deployments/scale",
        "singularName": "",
        "namespaced": true,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": ["get", "patch", "update"],
    });
    assert_eq!(scale, Some(&expected));
}

#[test]
fn unknown_groups_and_versions_have_no_document() {
    let discovery = discovery();
    assert!(discovery.group("example.com").is_none());
    assert!(discovery.resources("apps", "v2").is_none());
}

#[test]
fn the_etag_is_the_hash_of_the_body() {
    let discovery = discovery();
    let groups = discovery.group_list();
    let expected = format!("\"{}\"", upper_case_sha512(&groups.body));
    assert_eq!(*groups.etag, *expected);
    assert_eq!(groups.etag.len(), 130);
}

#[test]
fn the_paths_are_sorted_and_indented() {
    let discovery = discovery();
    let expected = concat!(
        "{\n  \"paths\": [\n    \"/api\",\n    \"/api/v1\",\n    \"/apis\",\n    \"/apis/\",\n",
        "    \"/apis/admissionregistration.k8s.io\",\n",
        "    \"/apis/admissionregistration.k8s.io/v1\",\n",
    );
    assert!(text(discovery.paths()).starts_with(expected));
}
