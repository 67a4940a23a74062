use serde_json::json;

use super::*;

const CONFIG_MAPS: &str = "/registry/configmaps/";

fn reader(storage_prefix: &str) -> ValueReader {
    let registry = Arc::new(Registry::builtin());
    ValueReader::new(&registry, storage_prefix).unwrap()
}

fn normalized(storage_prefix: &str, place: &str, value: &[u8]) -> Result<Value, String> {
    let key = Key::new(format!("{storage_prefix}{place}"));
    let canonical = reader(storage_prefix).normalize(&key, value);
    let canonical = canonical.map_err(|reason| reason.to_string())?;
    Ok(serde_json::from_slice(&canonical).unwrap())
}

fn config_map(value: &str) -> Result<Value, String> {
    normalized(CONFIG_MAPS, "default/a", value.as_bytes())
}

#[test]
fn what_this_server_writes_is_taken_as_it_is() {
    let reader = reader(CONFIG_MAPS);
    let key = Key::new("/registry/configmaps/default/a");
    let looks = |text: &str| reader.looks_canonical(&key, text.as_bytes());
    let object = json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": "a", "generateName": "x-", "namespace": "default", "uid": "u"},
    });
    let canonical = String::from_utf8(to_canonical(&object)).unwrap();
    assert!(looks(&canonical));
    assert!(looks(&canonical.replace(r#","generateName":"x-""#, "")));
    for (from, to) in [
        (r#""name":"a""#, r#""name":"b""#),
        (r#""namespace":"default","#, ""),
        (r#""namespace":"default","#, r#""namespace":"other","#),
        (r#","uid":"u""#, ""),
        (r#"{"kind":"ConfigMap","#, r#"{"kind":"Secret","#),
        (r#""apiVersion":"v1","#, r#""apiVersion": "v1","#),
        ("x-", r#"x\"#),
    ] {
        let foreign = canonical.replace(from, to);
        assert_ne!(foreign, canonical, "{from}");
        assert!(!looks(&foreign), "{foreign}");
    }
}

#[test]
fn names_that_need_escapes_are_recognized() {
    let key = Key::new("/registry/clusterroles/a<b\"é");
    let object = json!({
        "kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {"name": "a<b\"é", "generateName": "a<b\"", "uid": "u"},
    });
    let reader = reader("/registry/clusterroles/");
    assert!(reader.looks_canonical(&key, &to_canonical(&object)));
}

#[test]
fn json_of_any_order_and_formatting_becomes_canonical() {
    let value = r#" {
        "data": {"b": "2", "a": "1"},
        "metadata": {
            "resourceVersion": "7", "selfLink": "/api/v1/x", "namespace": "default",
            "labels": {"b": "2", "a": "1"}, "name": "a", "creationTimestamp": null,
            "managedFields": [{"manager": "m", "operation": "Update", "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}]
        },
        "apiVersion": "v1", "kind": "ConfigMap"
    }
"#;
    let key = Key::new("/registry/configmaps/default/a");
    let canonical = reader(CONFIG_MAPS).normalize(&key, value.as_bytes());
    assert_eq!(
        String::from_utf8(canonical.unwrap()).unwrap(),
        concat!(
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","#,
            r#""namespace":"default","labels":{"a":"1","b":"2"},"#,
            r#""managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","#,
            r#""fieldsV1":{"f:data":{"f:a":{}}},"manager":"m","operation":"Update"}]},"#,
            r#""data":{"a":"1","b":"2"}}"#
        )
    );
}

#[test]
fn what_the_metadata_do_not_say_the_key_does() {
    let bare = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}"#;
    let expected = json!({"name": "a", "namespace": "default"});
    assert_eq!(config_map(bare).unwrap()["metadata"], expected);
}

#[test]
fn another_served_version_becomes_the_stored_one() {
    let value = json!({
        "kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "maxReplicas": 3, "targetCPUUtilizationPercentage": 80,
        },
    });
    let prefix = "/registry/horizontalpodautoscalers/";
    let read = normalized(prefix, "default/a", value.to_string().as_bytes()).unwrap();
    assert_eq!(read["apiVersion"], "autoscaling/v2");
    let target = json!({"type": "Utilization", "averageUtilization": 80});
    assert_eq!(read["spec"]["metrics"][0]["resource"]["target"], target);

    let value = json!({
        "kind": "Event", "apiVersion": "events.k8s.io/v1", "note": "well",
        "metadata": {"name": "a", "namespace": "default"},
        "regarding": {"kind": "Pod"}, "eventTime": null,
    });
    let read = normalized(
        "/registry/events/",
        "default/a",
        value.to_string().as_bytes(),
    )
    .unwrap();
    assert_eq!(read["apiVersion"], "v1");
    assert_eq!(
        (&read["message"], &read["involvedObject"]["kind"]),
        (&json!("well"), &json!("Pod"))
    );
}

#[test]
fn another_name_of_the_same_shape_is_understood() {
    let value = json!({
        "kind": "ClusterTrustBundle", "apiVersion": "certificates.k8s.io/v1beta1",
        "metadata": {"name": "a"}, "spec": {"trustBundle": "x"},
    });
    let value = value.to_string();
    let read = normalized("/registry/clustertrustbundles/", "a", value.as_bytes()).unwrap();
    assert_eq!(read["apiVersion"], "certificates.k8s.io/v1");
    assert_eq!(read["spec"]["trustBundle"], "x");
}

#[test]
fn a_definition_in_the_version_that_kubernetes_stores_is_understood() {
    let value = json!({
        "kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1beta1",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "version": "v1", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"}, "preserveUnknownFields": false,
            "versions": [{"name": "v1", "served": true, "storage": true}],
            "validation": {"openAPIV3Schema": {"type": "object"}},
            "conversion": {"strategy": "None"},
        },
    });
    let prefix = "/registry/apiextensions.k8s.io/customresourcedefinitions/";
    let value = value.to_string();
    let read = normalized(prefix, "widgets.example.com", value.as_bytes()).unwrap();
    assert_eq!(read["apiVersion"], "apiextensions.k8s.io/v1");
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    assert_eq!(read["spec"]["versions"][0]["schema"], schema);
    assert_eq!(read["spec"].get("validation"), None);
}

#[test]
fn protobuf_becomes_the_object_it_stands_for() {
    let value = b"k8s\0\
        \x0a\x0f\x0a\x02v1\x12\x09ConfigMap\
        \x12\x1c\x0a\x10\x0a\x01a\x12\0\x1a\x07default\x22\0\x12\x08\x0a\x01x\x12\x03one\
        \x1a\0\x22\0";
    let expected = json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": "a", "namespace": "default"}, "data": {"x": "one"},
    });
    assert_eq!(normalized(CONFIG_MAPS, "default/a", value), Ok(expected));
    let elsewhere = normalized(CONFIG_MAPS, "other/a", value).unwrap_err();
    assert_eq!(
        elsewhere,
        r#"its metadata.namespace is "default", and its key says "other""#
    );
    let secrets = normalized("/registry/secrets/", "default/a", value).unwrap_err();
    assert_eq!(
        secrets,
        r#"it says that it is "ConfigMap" of "v1", and belongs to "Secret" of "v1""#
    );
    let cut = normalized(CONFIG_MAPS, "default/a", &value[..30]).unwrap_err();
    assert_eq!(cut, "unexpected EOF");
}

#[test]
fn what_cannot_be_read_is_told_with_its_reason() {
    let reason = |value: &str| config_map(value).unwrap_err();
    assert_eq!(reason(""), "it is empty");
    assert_eq!(
        reason("k8s:enc:aescbc:v1:key1:\u{1}\u{2}"),
        "it is encrypted, and there is no key for it here"
    );
    assert_eq!(
        reason("garbage"),
        "it is neither JSON nor protobuf: invalid character 'g' looking for beginning of value"
    );
    assert_eq!(reason("[1]"), "it is no JSON object");
    assert_eq!(
        reason(r#"{"kind":"ConfigMap","apiVersion":"v1","data":{}}"#),
        "it has no metadata"
    );
    assert_eq!(
        reason(r#"{"metadata":{"name":"a"}}"#),
        r#"it says that it is "" of "", and belongs to "ConfigMap" of "v1""#
    );
    assert_eq!(
        reason(r#"{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"a"}}"#),
        r#"it says that it is "ConfigMap" of "v2", and belongs to "ConfigMap" of "v1""#
    );
    assert_eq!(
        reason(r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b"}}"#),
        r#"its metadata.name is "b", and its key says "a""#
    );
    let wrong_type =
        reason(r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{},"data":{"a":5}}"#);
    assert!(
        wrong_type.contains("cannot unmarshal number"),
        "{wrong_type}"
    );
}

#[test]
fn a_value_that_no_commit_could_hold_is_not_read() {
    let value = vec![b' '; COMMIT_BYTES_MAX + 1];
    let reason = normalized(CONFIG_MAPS, "default/a", &value).unwrap_err();
    assert_eq!(reason, "it has 16777217 bytes, 16777216 at the most");
}

#[test]
fn a_reason_does_not_grow_with_the_value() {
    let kind = "é".repeat(1_000_000);
    let value = format!(r#"{{"kind":"{kind}","apiVersion":"v1","metadata":{{}}}}"#);
    let reason = config_map(&value).unwrap_err();
    assert!(reason.len() < 310 && reason.ends_with(" ..."), "{reason}");
}

#[test]
fn a_key_must_be_one_of_the_kind() {
    let value = br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}"#;
    for place in ["a", "/a", "default/", "default/a/b", ""] {
        let reason = normalized(CONFIG_MAPS, place, value).unwrap_err();
        assert_eq!(
            reason, "its key is not one of an object of this kind",
            "{place}"
        );
    }
    let node = br#"{"kind":"Node","apiVersion":"v1","metadata":{"namespace":"x"}}"#;
    let reason = normalized("/registry/minions/", "n", node).unwrap_err();
    assert_eq!(
        reason,
        r#"its metadata.namespace is "x", and its key says """#
    );
    assert!(normalized("/registry/minions/", "n/m", node).is_err());
}
