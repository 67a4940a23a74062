use std::collections::BTreeSet;

use super::*;

fn open_api() -> OpenApi {
    OpenApi::new(Arc::new(Registry::builtin()))
}

fn parse(document: Document) -> Value {
    serde_json::from_slice(&document.body).unwrap()
}

fn names(parameters: &Value) -> Vec<&str> {
    let all = parameters.as_array().unwrap().iter();
    all.map(|parameter| parameter["name"].as_str().unwrap())
        .collect()
}

#[test]
fn the_index_names_every_version_with_the_hash_of_its_document() {
    let open_api = open_api();
    let index = parse(open_api.index());
    let paths = index["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 23);
    let document = open_api.version("apis/apps/v1").unwrap();
    let hash = document.etag.trim_matches('"');
    assert_eq!(
        paths["apis/apps/v1"]["serverRelativeURL"],
        format!("/openapi/v3/apis/apps/v1?hash={hash}")
    );
    assert!(open_api.version("apis/example.com/v1").is_none());
}

#[test]
fn every_reference_of_every_document_leads_to_a_type() {
    let open_api = open_api();
    let roots: Vec<String> = open_api.versions.keys().cloned().collect();
    for root in roots {
        let document = parse(open_api.version(&root).unwrap());
        check_references(&document, &document["components"]["schemas"], &root);
    }
    let document = parse(open_api.everything());
    check_references(&document, &document["definitions"], "v2");
}

fn check_references(value: &Value, types: &Value, root: &str) {
    match value {
        Value::Array(elements) => elements
            .iter()
            .for_each(|element| check_references(element, types, root)),
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                let name = reference.rsplit('/').next().unwrap();
                assert!(types.get(name).is_some(), "{root}: {reference}");
            }
            members
                .values()
                .for_each(|member| check_references(member, types, root));
        }
        _ => {}
    }
}

#[test]
fn kubectl_finds_the_field_validation_parameter_of_every_patch() {
    let open_api = open_api();
    for definition in open_api.registry.definitions() {
        if !definition.verbs.contains(&crate::registry::Verb::Patch) {
            continue;
        }
        let document = parse(open_api.version(&root(definition)).unwrap());
        let kind = json!({
            "group": definition.group,
            "kind": definition.kind,
            "version": definition.version,
        });
        let patch = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .map(|path| &path["patch"])
            .find(|patch| patch["x-kubernetes-group-version-kind"] == kind)
            .unwrap_or_else(|| panic!("no patch of {kind}"));
        assert!(names(&patch["parameters"]).contains(&"fieldValidation"));
        let content = patch["requestBody"]["content"].as_object().unwrap();
        assert!(content.contains_key("application/strategic-merge-patch+json"));
    }
}

#[test]
fn the_type_of_a_kind_is_found_by_its_group_version_and_kind() {
    let document = parse(open_api().version("apis/apps/v1").unwrap());
    let types = document["components"]["schemas"].as_object().unwrap();
    let kinds: BTreeSet<&str> = types
        .values()
        .filter_map(|described| described["x-kubernetes-group-version-kind"].as_array())
        .flatten()
        .filter(|kind| kind["group"] == "apps" && kind["version"] == "v1")
        .filter_map(|kind| kind["kind"].as_str())
        .collect();
    let expected = [
        "ControllerRevision",
        "ControllerRevisionList",
        "DaemonSet",
        "DaemonSetList",
        "Deployment",
        "DeploymentList",
        "ReplicaSet",
        "ReplicaSetList",
        "StatefulSet",
        "StatefulSetList",
    ];
    assert_eq!(kinds, expected.into_iter().collect());
}

#[test]
fn fields_tell_their_shape_and_how_they_merge() {
    let document = parse(open_api().version("apis/apps/v1").unwrap());
    let types = &document["components"]["schemas"];
    let pod = &types["io.k8s.api.core.v1.PodSpec"];
    assert_eq!(
        pod["properties"]["containers"],
        json!({
            "type": "array",
            "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "name",
        })
    );
    assert_eq!(pod["required"], json!(["containers"]));
    assert_eq!(
        types["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"],
        json!({
            "allOf": [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy"}],
            "x-kubernetes-patch-strategy": "retainKeys",
        })
    );
    assert_eq!(
        types["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"],
        json!({"type": "string", "default": "TCP"})
    );
}

#[test]
fn paths_follow_the_scope_and_verbs_of_their_kind() {
    let document = parse(open_api().version("api/v1").unwrap());
    let methods = |path: &str| -> Vec<String> {
        let item = document["paths"][path].as_object().unwrap();
        item.keys().cloned().collect()
    };
    assert_eq!(methods("/api/v1/pods"), ["get", "parameters"]);
    assert_eq!(
        methods("/api/v1/namespaces/{namespace}/pods"),
        ["delete", "get", "parameters", "post"]
    );
    assert_eq!(methods("/api/v1/namespaces"), ["get", "parameters", "post"]);
    assert_eq!(
        methods("/api/v1/namespaces/{namespace}/pods/{name}/status"),
        ["get", "parameters", "patch", "put"]
    );
    assert_eq!(
        methods("/api/v1/namespaces/{namespace}/pods/{name}/eviction"),
        ["parameters", "post"]
    );
    let list = &document["paths"]["/api/v1/namespaces/{namespace}/pods"]["get"];
    assert_eq!(list["operationId"], "listCoreV1NamespacedPod");
    assert_eq!(list["x-kubernetes-action"], "list");
    assert_eq!(list["tags"], json!(["core_v1"]));
}

#[test]
fn the_second_version_holds_everything_in_one_document() {
    let document = parse(open_api().everything());
    assert_eq!(document["swagger"], "2.0");
    let patch =
        &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(names(&patch["parameters"])[0], "body");
    assert!(names(&patch["parameters"]).contains(&"fieldValidation"));
    assert_eq!(
        document["definitions"]["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"],
        json!([{"group": "", "kind": "Pod", "version": "v1"}])
    );
}

#[test]
fn what_all_objects_have_is_explained_in_both_dialects() {
    let open_api = open_api();
    let two = parse(open_api.everything());
    let three = parse(open_api.version("api/v1").unwrap());
    for types in [&two["definitions"], &three["components"]["schemas"]] {
        let metadata = &types["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"];
        for (name, field) in metadata.as_object().unwrap() {
            let text = field["description"].as_str();
            assert!(text.is_some_and(|text| text.ends_with('.')), "{name}");
        }
        let created = metadata["creationTimestamp"]["description"].as_str();
        assert!(
            created
                .unwrap()
                .contains("CreationTimestamp is a timestamp")
        );
        let pod = &types["io.k8s.api.core.v1.Pod"]["properties"];
        let described = pod["metadata"]["description"].as_str().unwrap();
        assert!(described.contains("Standard object's metadata"));
        assert!(pod["apiVersion"]["description"].is_string());
        assert!(pod["kind"]["description"].is_string());
    }
}
