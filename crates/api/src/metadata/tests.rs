use serde_json::json;

use super::*;
use crate::field_error::aggregate;

const CONFIG_MAP: MetadataRules = MetadataRules {
    name: NameRule::DnsSubdomain,
    scope: Scope::Namespaced,
    origin: Origin::BuiltIn,
};
const CUSTOM: MetadataRules = MetadataRules {
    origin: Origin::Custom,
    ..CONFIG_MAP
};
const CLUSTER: MetadataRules = MetadataRules {
    scope: Scope::Cluster,
    ..CONFIG_MAP
};

/// Good metadata of a new object with these fields as well.
fn with(fields: Value) -> Value {
    let mut metadata = json!({"name": "x", "namespace": "default"});
    for (name, value) in fields.as_object().unwrap() {
        metadata[name] = value.clone();
    }
    metadata
}

fn created(fields: Value) -> String {
    aggregate(&CONFIG_MAP.check_create(&with(fields)))
}

fn updated(fields: Value, old: Value) -> String {
    let old = with(old);
    let mut metadata = old.clone();
    metadata["resourceVersion"] = json!("7");
    for (name, value) in fields.as_object().unwrap() {
        metadata[name] = value.clone();
    }
    aggregate(&CONFIG_MAP.check_update(&metadata, &old))
}

#[test]
fn good_metadata_is_accepted() {
    let metadata = with(json!({
        "generateName": "x-",
        "labels": {"a.b/c": "d", "e": ""},
        "annotations": {"Example.com/Any": "any thing"},
        "finalizers": ["a/b", "orphan"],
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "A", "name": "a", "uid": "u",
            "controller": true}],
        "managedFields": [{"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1"}],
    }));
    assert_eq!(CONFIG_MAP.check_create(&metadata), []);
}

#[test]
fn names_are_required_and_checked() {
    let expected = "metadata.name: Required value: name or generateName is required";
    assert_eq!(created(json!({"name": ""})), expected);
    let bad = created(json!({"name": "Bad_Name"}));
    let expected = "metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain";
    assert!(bad.starts_with(expected), "{bad}");
    let long = "a".repeat(254);
    let expected =
        format!("metadata.name: Invalid value: \"{long}\": must be no more than 253 characters");
    assert_eq!(created(json!({"name": long})), expected);
    let prefix = created(json!({"generateName": "Bad-"}));
    assert!(
        prefix.starts_with("metadata.generateName: Invalid value: \"Bad-\": "),
        "{prefix}"
    );
}

#[test]
fn a_namespace_belongs_to_namespaced_kinds_only() {
    assert_eq!(
        created(json!({"namespace": ""})),
        "metadata.namespace: Required value"
    );
    let expected = "metadata.namespace: Invalid value: \"a.b\": must not contain dots";
    assert_eq!(created(json!({"namespace": "a.b"})), expected);
    let errors = aggregate(&CLUSTER.check_create(&with(json!({}))));
    assert_eq!(
        errors,
        "metadata.namespace: Forbidden: not allowed on this type"
    );
}

#[test]
fn labels_and_annotations_are_checked() {
    let key = created(json!({"labels": {"-x": "y"}}));
    assert!(
        key.starts_with("metadata.labels: Invalid value: \"-x\": name part must"),
        "{key}"
    );
    let value = created(json!({"labels": {"a": "v a l"}}));
    let expected = "metadata.labels: Invalid value: \"v a l\": a valid label must be an empty";
    assert!(value.starts_with(expected), "{value}");
    let key = created(json!({"annotations": {"a b": "x"}}));
    let expected = "metadata.annotations: Invalid value: \"a b\": name part must consist";
    assert!(key.starts_with(expected), "{key}");
    let long = created(json!({"annotations": {"a": "x".repeat(262_144)}}));
    let expected = "metadata.annotations: Too long: may not be more than 262144 bytes";
    assert_eq!(long, expected);
}

#[test]
fn finalizers_of_built_in_kinds_are_qualified() {
    let expected = "metadata.finalizers[0]: Invalid value: \"noslash\": name is neither a \
                    standard finalizer name nor is it fully qualified";
    assert_eq!(created(json!({"finalizers": ["noslash"]})), expected);
    let metadata = with(json!({"finalizers": ["noslash"]}));
    assert_eq!(CUSTOM.check_create(&metadata), []);
    let both = created(json!({"finalizers": ["orphan", "foregroundDeletion"]}));
    let expected = "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: \
                    finalizer orphan and foregroundDeletion cannot be both set";
    assert_eq!(both, expected);
}

#[test]
fn owners_are_complete() {
    let expected = "[metadata.ownerReferences[0].apiVersion: Required value: must not be empty, \
        metadata.ownerReferences[0].name: Required value: must not be empty, \
        metadata.ownerReferences[0].uid: Required value: must not be empty]";
    assert_eq!(
        created(json!({"ownerReferences": [{"kind": "X"}]})),
        expected
    );
    let owner = |api_version| {
        json!({"apiVersion": api_version, "kind": "Event", "name": "e",
        "uid": "u"})
    };
    let expected = "metadata.ownerReferences[0].apiVersion: Invalid value: \"a/b/c\": must be \
                    <group>/<version> or <version>";
    assert_eq!(
        created(json!({"ownerReferences": [owner("a/b/c")]})),
        expected
    );
    let expected = "metadata.ownerReferences[0]: Invalid value: {\"apiVersion\":\"v1\",\
        \"kind\":\"Event\",\"name\":\"e\",\"uid\":\"u\"}: /v1, Kind=Event is disallowed from \
        being an owner";
    assert_eq!(created(json!({"ownerReferences": [owner("v1")]})), expected);
}

#[test]
fn one_owner_at_most_is_the_controller() {
    let owner = |name| {
        json!({"apiVersion": "v1", "kind": "A", "name": name, "uid": "u",
        "controller": true})
    };
    let expected = "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",\
        \"kind\":\"A\",\"name\":\"x\",\"uid\":\"u\",\"controller\":true},{\"apiVersion\":\"v1\",\
        \"kind\":\"A\",\"name\":\"y\",\"uid\":\"u\",\"controller\":true}]: Only one reference can \
        have Controller set to true. Found \"true\" in references for A/x and A/y";
    assert_eq!(
        created(json!({"ownerReferences": [owner("x"), owner("y")]})),
        expected
    );
}

#[test]
fn a_flood_of_errors_is_cut_short() {
    let labels = (0..20_000).map(|number| (format!("-{number}"), json!("-")));
    let owners = vec![json!({"controller": true}); 10_000];
    let metadata = with(json!({
        "labels": labels.collect::<serde_json::Map<_, _>>(),
        "ownerReferences": owners,
        "finalizers": vec!["-"; 20_000],
    }));
    assert!(CONFIG_MAP.check_create(&metadata).len() < 5 * FIELD_ERRORS_MAX);
}

#[test]
fn managed_fields_have_a_shape() {
    let entries = json!({"managedFields": [{"operation": "Jump", "fieldsType": "V2",
        "subresource": "s".repeat(257)}, {}]});
    let expected = "[metadata.managedFields[0].operation: Unsupported value: \"Jump\": supported \
        values: \"Apply\", \"Update\", metadata.managedFields[0].fieldsType: Invalid value: \
        \"V2\": must be `FieldsV1`, metadata.managedFields[0].subresource: Too long: may not be \
        more than 256 bytes, metadata.managedFields[1].operation: Required value: must not be \
        empty]";
    assert_eq!(created(entries), expected);
}

#[test]
fn identity_never_changes() {
    let old = json!({"uid": "u", "creationTimestamp": "2026-11-15T06:44:32Z", "generation": 2});
    assert_eq!(updated(json!({}), old.clone()), "[]");
    let expected = "metadata.name: Invalid value: \"y\": field is immutable";
    assert_eq!(updated(json!({"name": "y"}), old.clone()), expected);
    let expected = "metadata.uid: Invalid value: \"w\": field is immutable";
    assert_eq!(updated(json!({"uid": "w"}), old.clone()), expected);
    let expected = "metadata.deletionTimestamp: Invalid value: \"2026-11-15T06:44:32Z\": field \
                    is immutable";
    let deleted = json!({"deletionTimestamp": "2026-11-15T06:44:32Z"});
    assert_eq!(updated(deleted, old.clone()), expected);
    let expected = "metadata.generation: Invalid value: 1: must not be decremented";
    assert_eq!(updated(json!({"generation": 1}), old.clone()), expected);
    let expected = "metadata.resourceVersion: Invalid value: \"\": must be specified for an update";
    assert_eq!(updated(json!({"resourceVersion": ""}), old), expected);
}

#[test]
fn an_object_that_is_going_gets_no_new_finalizers() {
    let old = json!({"deletionTimestamp": "2026-11-15T06:44:32Z", "finalizers": ["x.io/f"]});
    assert_eq!(updated(json!({"finalizers": []}), old.clone()), "[]");
    let expected = "metadata.finalizers: Forbidden: no new finalizers can be added if the object \
                    is being deleted, found new finalizers []string{\"x.io/g\"}";
    assert_eq!(
        updated(json!({"finalizers": ["x.io/f", "x.io/g"]}), old),
        expected
    );
}

#[test]
fn a_generated_name_is_the_prefix_and_five_random_characters() {
    let mut next = 0;
    let random = |below| {
        next += 1;
        (next * 7) % below
    };
    assert_eq!(generate_name("gen-", random), "gen-ks4cl");
    let long = generate_name(&"a".repeat(100), |_| 0);
    assert_eq!(long, format!("{}bbbbb", "a".repeat(58)));
    assert_eq!(
        generate_name(&"é".repeat(60), |_| 26),
        format!("{}99999", "é".repeat(29))
    );
}
