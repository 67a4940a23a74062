use listwatch_api::schema::{ListIdentity, PatchStrategy, Shape};

use super::*;

fn definition(group: &str, version: &str, resource: &str) -> Arc<Definition> {
    Registry::builtin().find(group, version, resource).unwrap()
}

#[test]
fn every_builtin_kind_is_found_by_group_version_and_resource() {
    let registry = Registry::builtin();
    for definition in registry.definitions() {
        let found = registry
            .find(&definition.group, &definition.version, &definition.resource)
            .unwrap();
        assert!(Arc::ptr_eq(&found, definition));
    }
    assert!(registry.find("", "v1", "deployments").is_none());
    assert!(registry.find("apps", "v2", "deployments").is_none());
}

#[test]
fn groups_and_versions_exist_when_a_kind_of_them_does() {
    let registry = Registry::builtin();
    assert!(registry.group_exists("") && registry.group_exists("resource.k8s.io"));
    assert!(!registry.group_exists("example.com"));
    assert!(registry.version_exists("autoscaling", "v1"));
    assert!(!registry.version_exists("autoscaling", "v3"));
}

/// Where Kubernetes keeps its objects, but for `/registry/`: its own tests name these paths.
const KEPT_UNDER: [(&str, &str); 64] = [
    ("configmaps", "configmaps"),
    ("endpoints", "services/endpoints"),
    ("events", "events"),
    ("limitranges", "limitranges"),
    ("namespaces", "namespaces"),
    ("nodes", "minions"),
    ("persistentvolumeclaims", "persistentvolumeclaims"),
    ("persistentvolumes", "persistentvolumes"),
    ("pods", "pods"),
    ("podtemplates", "podtemplates"),
    ("replicationcontrollers", "controllers"),
    ("resourcequotas", "resourcequotas"),
    ("secrets", "secrets"),
    ("serviceaccounts", "serviceaccounts"),
    ("services", "services/specs"),
    ("apiservices", "apiregistration.k8s.io/apiservices"),
    ("controllerrevisions", "controllerrevisions"),
    ("daemonsets", "daemonsets"),
    ("deployments", "deployments"),
    ("replicasets", "replicasets"),
    ("statefulsets", "statefulsets"),
    ("events", "events"),
    ("horizontalpodautoscalers", "horizontalpodautoscalers"),
    ("horizontalpodautoscalers", "horizontalpodautoscalers"),
    ("cronjobs", "cronjobs"),
    ("jobs", "jobs"),
    ("certificatesigningrequests", "certificatesigningrequests"),
    ("clustertrustbundles", "clustertrustbundles"),
    ("podcertificaterequests", "podcertificaterequests"),
    ("ingressclasses", "ingressclasses"),
    ("ingresses", "ingress"),
    ("ipaddresses", "ipaddresses"),
    ("networkpolicies", "networkpolicies"),
    ("servicecidrs", "servicecidrs"),
    ("poddisruptionbudgets", "poddisruptionbudgets"),
    ("clusterrolebindings", "clusterrolebindings"),
    ("clusterroles", "clusterroles"),
    ("rolebindings", "rolebindings"),
    ("roles", "roles"),
    ("csidrivers", "csidrivers"),
    ("csinodes", "csinodes"),
    ("csistoragecapacities", "csistoragecapacities"),
    ("storageclasses", "storageclasses"),
    ("volumeattachments", "volumeattachments"),
    ("volumeattributesclasses", "volumeattributesclasses"),
    ("mutatingadmissionpolicies", "mutatingadmissionpolicies"),
    (
        "mutatingadmissionpolicybindings",
        "mutatingadmissionpolicybindings",
    ),
    (
        "mutatingwebhookconfigurations",
        "mutatingwebhookconfigurations",
    ),
    ("validatingadmissionpolicies", "validatingadmissionpolicies"),
    (
        "validatingadmissionpolicybindings",
        "validatingadmissionpolicybindings",
    ),
    (
        "validatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    ),
    (
        "customresourcedefinitions",
        "apiextensions.k8s.io/customresourcedefinitions",
    ),
    ("priorityclasses", "priorityclasses"),
    ("leases", "leases"),
    ("runtimeclasses", "runtimeclasses"),
    ("endpointslices", "endpointslices"),
    ("deviceclasses", "deviceclasses"),
    ("devicetaintrules", "devicetaintrules"),
    ("resourceclaims", "resourceclaims"),
    ("resourceclaimtemplates", "resourceclaimtemplates"),
    ("resourceslices", "resourceslices"),
    ("flowschemas", "flowschemas"),
    ("prioritylevelconfigurations", "prioritylevelconfigurations"),
    ("storageversionmigrations", "storageversionmigrations"),
];

#[test]
fn every_stored_kind_is_kept_where_kubernetes_keeps_it() {
    let registry = Registry::builtin();
    let stored = registry
        .definitions()
        .iter()
        .filter(|definition| definition.persistence == Persistence::Stored);
    let found: Vec<(&str, &str)> = stored
        .map(|definition| (&*definition.resource, &*definition.storage_prefix))
        .collect();
    let expected = KEPT_UNDER.map(|(resource, kept)| (resource, format!("/registry/{kept}/")));
    let expected: Vec<(&str, &str)> = expected
        .iter()
        .map(|(resource, prefix)| (*resource, prefix.as_str()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn both_versions_of_one_kind_share_its_keys_and_hash() {
    let one = definition("autoscaling", "v1", "horizontalpodautoscalers");
    let two = definition("autoscaling", "v2", "horizontalpodautoscalers");
    assert_eq!(one.storage_prefix, two.storage_prefix);
    assert_eq!(one.storage_version_hash, two.storage_version_hash);
    assert_eq!(one.conversion, Conversion::AutoscalingV1);
    assert_eq!(two.conversion, Conversion::None);
}

#[test]
fn field_labels_are_refused_in_the_words_of_each_kind() {
    let refusal = |group, resource| {
        definition(group, "v1", resource)
            .field_source("spec.x")
            .map(|_| ())
            .unwrap_err()
    };
    assert_eq!(
        refusal("", "configmaps"),
        r#""spec.x" is not a known field selector: only "metadata.name", "metadata.namespace""#
    );
    assert_eq!(refusal("", "pods"), "field label not supported: spec.x");
    assert_eq!(
        refusal("batch", "jobs"),
        r#"field label "spec.x" not supported for Job"#
    );
    assert_eq!(
        refusal("resource.k8s.io", "resourceslices"),
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x"
    );
}

#[test]
fn field_labels_lead_to_members_of_the_stored_object() {
    let pods = definition("", "v1", "pods");
    let Ok(FieldSource::Member(host)) = pods.field_source("spec.host") else {
        panic!("spec.host is the old name of spec.nodeName");
    };
    assert_eq!(host.path, ["spec".into(), "nodeName".into()]);
    assert!(host.indexed);

    let events = definition("events.k8s.io", "v1", "events");
    let Ok(FieldSource::Member(kind)) = events.field_source("regarding.kind") else {
        panic!("events.k8s.io knows regarding.kind");
    };
    assert_eq!(kind.path, ["involvedObject".into(), "kind".into()]);
}

#[test]
fn a_cluster_wide_kind_with_its_own_labels_has_no_namespace_label() {
    let nodes = definition("", "v1", "nodes");
    assert!(nodes.field_source("metadata.namespace").is_err());
    let classes = definition("storage.k8s.io", "v1", "storageclasses");
    assert_eq!(
        classes.field_source("metadata.namespace"),
        Ok(FieldSource::Namespace)
    );
}

#[test]
fn status_belongs_to_its_subresource_where_there_is_one() {
    let status = |resource| definition("", "v1", resource).status;
    assert_eq!(status("pods"), StatusWriting::Separate);
    assert_eq!(status("nodes"), StatusWriting::SeparateAfterCreate);
    assert_eq!(status("configmaps"), StatusWriting::Open);
}

#[test]
fn reviews_are_answered_and_never_stored() {
    let review = definition("authorization.k8s.io", "v1", "subjectaccessreviews");
    assert_eq!(review.persistence, Persistence::Answered);
    assert_eq!(review.storage_version_hash, None);
}

#[test]
fn every_builtin_kind_has_a_shape() {
    for definition in Registry::builtin().definitions() {
        assert!(definition.schema.is_some(), "{}", definition.kind);
    }
}

#[test]
fn every_type_that_a_subresource_speaks_has_a_shape_unless_it_is_an_address() {
    let registry = Registry::builtin();
    let shapeless: Vec<&str> = registry
        .definitions()
        .iter()
        .flat_map(|definition| &definition.subresources)
        .filter(|subresource| subresource.schema.is_none())
        .map(|subresource| &*subresource.kind)
        .collect();
    let options = [
        "NodeProxyOptions",
        "PodAttachOptions",
        "PodExecOptions",
        "PodPortForwardOptions",
        "PodProxyOptions",
        "ServiceProxyOptions",
    ];
    assert_eq!(shapeless, options);
}

#[test]
fn containers_merge_by_name_and_ports_by_number_and_protocol() {
    let registry = Registry::builtin();
    let schema = registry.schema();
    let field = |type_name: &str, field: &str| {
        let type_id = schema.find(type_name).unwrap();
        schema.object_type(type_id).field(field).unwrap()
    };
    let containers = field("io.k8s.api.core.v1.PodSpec", "containers");
    assert!(containers.required);
    let merge = PatchStrategy::Merge {
        key: Some("name".into()),
        retain_keys: false,
    };
    assert_eq!(containers.patch, merge);
    let Shape::List { identity, .. } = &field("io.k8s.api.core.v1.Container", "ports").shape else {
        panic!("ports is a list");
    };
    let keys = vec!["containerPort".into(), "protocol".into()];
    assert_eq!(*identity, ListIdentity::Keys(keys));
    let protocol = field("io.k8s.api.core.v1.ContainerPort", "protocol");
    assert_eq!(protocol.default.as_deref(), Some("\"TCP\""));
    let strategy = field("io.k8s.api.apps.v1.DeploymentSpec", "strategy");
    assert_eq!(strategy.patch, PatchStrategy::RetainKeys);
    assert_eq!(strategy.number, Some(4));
}
