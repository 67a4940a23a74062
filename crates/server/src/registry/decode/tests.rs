use serde_json::json;

use super::*;

const RECORDED_DEFAULTS: &str =
    include_str!("../../../../../conformance/golden/07-built-in-defaults.jsonl");
const RECORDED_VALIDATION: &str =
    include_str!("../../../../../conformance/golden/08-built-in-validation.jsonl");

fn decode(resource: (&str, &str, &str), body: Value) -> Result<(Value, Vec<String>), String> {
    let registry = Registry::builtin();
    let definition = registry
        .find(resource.0, resource.1, resource.2)
        .expect("a built-in resource");
    let (mut object, text) = (body.clone(), body.to_string());
    let problems = registry
        .decode(Expected::from(&*definition), &mut object, text.as_bytes())
        .map_err(|error| error.to_string())?;
    Ok((object, problems.iter().map(ToString::to_string).collect()))
}

const CONFIG_MAPS: (&str, &str, &str) = ("", "v1", "configmaps");
const PODS: (&str, &str, &str) = ("", "v1", "pods");

fn recorded(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// The definition of a collection's path.
fn find_path(registry: &Registry, path: &str) -> Option<std::sync::Arc<Definition>> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match parts[..] {
        ["api", version, "namespaces", _, resource] | ["api", version, resource] => {
            registry.find("", version, resource)
        }
        ["apis", group, version, "namespaces", _, resource]
        | ["apis", group, version, resource] => registry.find(group, version, resource),
        _ => None,
    }
}

/// The definition that an object says it belongs to.
fn find_kind(registry: &Registry, object: &Value) -> Option<std::sync::Arc<Definition>> {
    let mut definitions = registry.definitions().iter();
    let found = definitions.find(|definition| {
        object["kind"] == *definition.kind && object["apiVersion"] == *definition.api_version()
    });
    found.cloned()
}

#[test]
fn what_kubernetes_answered_is_already_in_the_form_that_decoding_gives() {
    let registry = Registry::builtin();
    let mut compared = 0;
    for record in recorded(RECORDED_DEFAULTS) {
        let answer = &record["response"];
        let Some(definition) = find_kind(&registry, answer) else {
            continue;
        };
        let mut object = answer.clone();
        let problems = registry
            .decode(Expected::from(&*definition), &mut object, b"")
            .unwrap();
        assert_eq!(problems, []);
        assert_eq!(object, *answer);
        compared += 1;
    }
    assert!(compared > 55, "only {compared} answers were compared");
}

#[test]
fn what_kubernetes_accepted_has_no_unknown_fields() {
    let registry = Registry::builtin();
    let mut accepted = 0;
    for record in recorded(RECORDED_DEFAULTS).filter(|record| record["status"] == 201) {
        let mut body = record["request"]["body"].clone();
        let definition = find_kind(&registry, &body).unwrap();
        let problems = registry
            .decode(Expected::from(&*definition), &mut body, b"")
            .unwrap();
        assert_eq!(problems, [], "{}", definition.kind);
        accepted += 1;
    }
    assert!(accepted > 40, "only {accepted} bodies were decoded");
}

#[test]
fn type_errors_are_told_as_recorded() {
    let registry = Registry::builtin();
    let mut compared = 0;
    for record in recorded(RECORDED_VALIDATION) {
        let message = record["response"]["message"].as_str().unwrap_or_default();
        if !message.contains("cannot be handled as") {
            continue;
        }
        let request = &record["request"];
        let definition = find_path(&registry, request["path"].as_str().unwrap()).unwrap();
        let mut body = request["body"].clone();
        let error = registry
            .decode(Expected::from(&*definition), &mut body, b"")
            .unwrap_err();
        assert_eq!(error.to_string(), message);
        compared += 1;
    }
    assert!(compared >= 5, "only {compared} refusals were compared");
}

#[test]
fn unknown_fields_are_dropped_and_told_with_their_paths() {
    let body = json!({
        "metadata": {"name": "a", "color": "red"},
        "spec": {"foo": 1, "containers": [{"name": "c", "bar": {}}]},
    });
    let (object, problems) = decode(PODS, body).unwrap();
    assert_eq!(
        problems,
        [
            r#"unknown field "metadata.color""#,
            r#"unknown field "spec.containers[0].bar""#,
            r#"unknown field "spec.foo""#,
        ]
    );
    assert_eq!(object["metadata"], json!({"name": "a"}));
    assert_eq!(object["spec"].get("foo"), None);
}

#[test]
fn an_unknown_field_inside_a_map_is_told_with_its_key() {
    let body = json!({"spec": {"devices": [{"name": "d", "attributes": {"a/b": {"x": 1}}}]}});
    let (_, problems) = decode(("resource.k8s.io", "v1", "resourceslices"), body).unwrap();
    assert_eq!(
        problems,
        [r#"unknown field "spec.devices[0].attributes.a/b.x""#]
    );
}

#[test]
fn strict_validation_refuses_with_all_problems() {
    let registry = Registry::builtin();
    let definition = registry.find("", "v1", "configmaps").unwrap();
    let problems = [
        FieldProblem::Unknown("zzz".to_owned()),
        FieldProblem::Duplicate("data.a".to_owned()),
    ];
    let refusal = Expected::from(&*definition)
        .refuse_problems(&problems)
        .unwrap();
    assert_eq!(
        refusal.to_string(),
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: \
         strict decoding error: unknown field \"zzz\", duplicate field \"data.a\""
    );
    assert_eq!(Expected::from(&*definition).refuse_problems(&[]), None);
}

#[test]
fn null_is_the_same_as_absent() {
    let body = json!({"metadata": {"name": "a", "labels": null}, "data": null});
    let (object, _) = decode(CONFIG_MAPS, body).unwrap();
    let expected = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}});
    assert_eq!(object, expected);
}

#[test]
fn null_inside_lists_and_maps_is_the_empty_value() {
    let body = json!({"metadata": {"finalizers": [null]}, "data": {"k": null}});
    let (object, _) = decode(CONFIG_MAPS, body).unwrap();
    assert_eq!(object["metadata"]["finalizers"], json!([""]));
    assert_eq!(object["data"], json!({"k": ""}));
}

#[test]
fn empty_values_go_unless_a_pointer_holds_them() {
    let body = json!({
        "metadata": {"labels": {}},
        "spec": {"replicas": 0, "paused": false, "selector": {}, "template": {}},
    });
    let (object, _) = decode(("apps", "v1", "deployments"), body).unwrap();
    let expected = json!({
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {},
        "spec": {
            "replicas": 0,
            "selector": {},
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": null}},
        },
        "status": {},
    });
    assert_eq!(object, expected);
}

#[test]
fn amounts_and_times_get_their_one_form() {
    let body = json!({
        "metadata": {"creationTimestamp": "2026-01-02T03:04:05+01:00"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": 0.5}}}]},
    });
    let (object, _) = decode(PODS, body).unwrap();
    assert_eq!(
        object["metadata"]["creationTimestamp"],
        "2026-01-02T02:04:05Z"
    );
    let limits = &object["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(*limits, json!({"cpu": "500m"}));
}

#[test]
fn type_errors_name_gos_types_and_embedded_structs() {
    let refusal = |spec: Value| {
        let prefix = "Pod in version \"v1\" cannot be handled as a Pod: ";
        let text = decode(PODS, json!({"spec": spec})).unwrap_err();
        text.strip_prefix(prefix).map(str::to_owned).unwrap_or(text)
    };
    assert_eq!(
        refusal(json!({"restartPolicy": 1})),
        "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy \
         of type v1.RestartPolicy"
    );
    assert_eq!(
        refusal(json!({"ephemeralContainers": [{"image": []}]})),
        "json: cannot unmarshal array into Go struct field \
         EphemeralContainer.spec.ephemeralContainers.EphemeralContainerCommon.image of type string"
    );
    assert_eq!(
        refusal(json!({"priority": 1.5})),
        "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority \
         of type int32"
    );
    assert_eq!(
        refusal(json!({"overhead": {"cpu": "lots"}})),
        "quantities must match the regular expression \
         '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    );
}

#[test]
fn another_kind_or_version_is_refused_as_recorded() {
    let refusal = |body| decode(CONFIG_MAPS, body).unwrap_err();
    assert_eq!(
        refusal(json!({"apiVersion": "v2", "kind": "ConfigMap"})),
        "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: \
         no kind \"ConfigMap\" is registered for version \"v2\" \
         in scheme \"pkg/api/legacyscheme/scheme.go:30\""
    );
    assert_eq!(
        refusal(json!({"apiVersion": "v1", "kind": "Secret"})),
        "Secret in version \"v1\" cannot be handled as a ConfigMap: \
         converting (v1.Secret) to (core.ConfigMap): unknown conversion"
    );
    assert_eq!(
        refusal(json!({"apiVersion": "v1", "kind": "PodList"})),
        "PodList in version \"v1\" cannot be handled as a ConfigMap: \
         converting (v1.PodList) to (core.ConfigMap): unknown conversion"
    );
    assert_eq!(
        refusal(json!({"kind": 5})),
        "the object provided is unrecognized (must be of type ConfigMap): \
         couldn't get version/kind; json parse error: \
         json: cannot unmarshal number into Go struct field .kind of type string \
         ({\"kind\":5})"
    );
}

#[test]
fn another_version_of_the_same_kind_is_named() {
    let resource = ("autoscaling", "v2", "horizontalpodautoscalers");
    let body = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"});
    assert_eq!(
        decode(resource, body).unwrap_err(),
        "the API version in the data (autoscaling/v1) \
         does not match the expected API version (autoscaling/v2)"
    );
}

#[test]
fn an_unset_event_has_its_structs() {
    let registry = Registry::builtin();
    let definition = registry.find("events.k8s.io", "v1", "events").unwrap();
    let unset = registry.unset(definition.schema.unwrap());
    let expected = json!({
        "metadata": {},
        "eventTime": null,
        "regarding": {},
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": null,
        "deprecatedLastTimestamp": null,
    });
    assert_eq!(Value::Object(unset), expected);
}

#[test]
fn delete_options_may_come_from_any_version() {
    let registry = Registry::builtin();
    let expected = Expected::delete_options(&registry);
    let decode = |api_version: &str| {
        let mut options = json!({
            "kind": "DeleteOptions",
            "apiVersion": api_version,
            "gracePeriodSeconds": 0,
        });
        registry
            .decode(expected, &mut options, b"")
            .map(|_| options)
    };
    for api_version in ["v1", "apps/v1", "meta.k8s.io/v1"] {
        assert_eq!(decode(api_version).unwrap()["gracePeriodSeconds"], 0);
    }
    assert!(decode("example.com/v1").is_err());
}

#[test]
fn bytes_in_several_lines_are_kept_in_one() {
    let secret = |text: &str| {
        let body =
            json!({"kind": "Secret", "apiVersion": "v1", "metadata": {}, "data": {"a": text}});
        let (object, _) = decode(("", "v1", "secrets"), body)?;
        Ok::<_, String>(object["data"]["a"].clone())
    };
    assert_eq!(secret("aGVs\r\nbG8=\n"), Ok(json!("aGVsbG8=")));
    assert_eq!(secret("aGVsbG9="), Ok(json!("aGVsbG8=")));
    let refusal = secret("aGVs\nb*8=").unwrap_err();
    assert!(
        refusal.ends_with("illegal base64 data at input byte 6"),
        "{refusal}"
    );
}
