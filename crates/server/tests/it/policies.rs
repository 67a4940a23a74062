//! Policies in expressions refuse what is written, warn of it, or change it.

use serde_json::{Value, json};

use crate::{
    client::Answer,
    running::{CONFIG_MAPS, TestServer, start_server},
};

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

fn constraints() -> Value {
    json!({"resourceRules": [{
        "operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"],
        "resources": ["configmaps"],
    }]})
}

async fn create(server: &TestServer, resource: &str, name: &str, spec: Value) -> Answer {
    let object = json!({"metadata": {"name": name}, "spec": spec});
    server
        .post(&format!("{ADMISSION}/{resource}"), &object)
        .await
}

/// A policy that is in force everywhere, with these actions.
async fn enforce(server: &TestServer, mut spec: Value, binding: Value) {
    spec["matchConstraints"] = constraints();
    create(server, "validatingadmissionpolicies", "p", spec)
        .await
        .created();
    let mut bound = json!({"policyName": "p", "validationActions": ["Deny"]});
    for (member, value) in binding.as_object().into_iter().flatten() {
        bound[member] = value.clone();
    }
    create(server, "validatingadmissionpolicybindings", "b", bound)
        .await
        .created();
}

async fn write(server: &TestServer, name: &str, data: Value) -> Answer {
    let object = json!({"metadata": {"name": name}, "data": data});
    server.post(CONFIG_MAPS, &object).await
}

#[tokio::test]
async fn a_policy_refuses_in_the_words_of_its_message() {
    let server = start_server().await;
    let spec = json!({
        "variables": [
            {"name": "name", "expression": "object.metadata.name"},
            {"name": "isBad", "expression": "variables.name == 'bad'"},
        ],
        "validations": [
            {"expression": "!variables.isBad", "messageExpression": "'no ' + variables.name"},
            {"expression": "object.data.x == '1'"},
            {"expression": "object.data.y != '1'", "message": "y is 1", "reason": "Forbidden"},
        ],
    });
    enforce(&server, spec, json!({})).await;
    let denied =
        |why: &str| format!("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {why}");
    let refused = write(&server, "bad", json!({"x": "1", "y": "2"})).await;
    refused.says(
        422,
        &format!("configmaps \"bad\" is forbidden: {}", denied("no bad")),
    );
    let status = refused.json();
    assert_eq!(status["reason"], "Invalid");
    assert_eq!(
        status["details"]["causes"],
        json!([{"message": denied("no bad")}])
    );
    let failed = denied("failed expression: object.data.x == '1'");
    let refused = write(&server, "a", json!({"x": "2", "y": "2"})).await;
    refused.says(422, &format!("configmaps \"a\" is forbidden: {failed}"));
    let refused = write(&server, "a", json!({"x": "1", "y": "1"})).await;
    refused.says(
        403,
        &format!("configmaps \"a\" is forbidden: {}", denied("y is 1")),
    );
    let failed = denied("expression 'object.data.x == '1'' resulted in error: no such key: x");
    let refused = write(&server, "a", json!({"y": "2"})).await;
    refused.says(422, &format!("configmaps \"a\" is forbidden: {failed}"));
    write(&server, "a", json!({"x": "1", "y": "2"}))
        .await
        .created();
}

#[tokio::test]
async fn a_policy_may_only_warn() {
    let server = start_server().await;
    let spec = json!({"validations": [{"expression": "false", "message": "think twice"}]});
    enforce(
        &server,
        spec,
        json!({"validationActions": ["Warn", "Audit"]}),
    )
    .await;
    let made = write(&server, "a", json!({})).await;
    made.created();
    assert_eq!(
        made.header("warning"),
        "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': think \
         twice\""
    );
}

#[tokio::test]
async fn parameters_and_namespaces_decide_what_is_refused() {
    let server = start_server().await;
    write(&server, "limits", json!({"most": "3"}))
        .await
        .created();
    server.has_settled().await;
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConditions": [
            {"name": "not-limits", "expression": "object.metadata.name != 'limits'"},
        ],
        "validations": [{
            "expression": "size(object.data) <= int(params.data.most) && \
                           namespaceObject.metadata.name == request.namespace",
        }],
    });
    let reference = json!({"name": "limits", "parameterNotFoundAction": "Deny"});
    enforce(&server, spec, json!({"paramRef": reference})).await;
    write(&server, "few", json!({"a": "", "b": "", "c": ""}))
        .await
        .created();
    let many = write(&server, "many", json!({"a": "", "b": "", "c": "", "d": ""})).await;
    assert_eq!(many.code, 422);
    let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    let object = json!({"metadata": {"name": "x"}, "data": {}});
    server.post(elsewhere, &object).await.says(
        422,
        "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied \
         request: failed to configure binding: no params found for policy binding with `Deny` \
         parameterNotFoundAction",
    );
}

#[tokio::test]
async fn a_binding_is_in_force_where_it_says() {
    let server = start_server().await;
    let spec = json!({"validations": [{"expression": "false"}]});
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}});
    enforce(
        &server,
        spec,
        json!({"matchResources": {"namespaceSelector": selector}}),
    )
    .await;
    write(&server, "a", json!({})).await.created();
    let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    let object = json!({"metadata": {"name": "a"}});
    assert_eq!(server.post(elsewhere, &object).await.code, 422);
}

#[tokio::test]
async fn expressions_that_cannot_be_used_are_refused_when_they_are_written() {
    let server = start_server().await;
    let refused = |expression: &'static str| {
        let spec = json!({
            "matchConstraints": constraints(), "validations": [{"expression": expression}],
        });
        create(&server, "validatingadmissionpolicies", "q", spec)
    };
    refused("1 + 1").await.says(
        422,
        "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"q\" is invalid: \
         spec.validations[0].expression: Invalid value: \"1 + 1\": must evaluate to bool but got \
         int",
    );
    refused("variables.z == 1").await.says(
        422,
        "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"q\" is invalid: \
         spec.validations[0].expression: Invalid value: \"variables.z == 1\": compilation failed: \
         ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.z \
         == 1\n | ^",
    );
    refused("request.foo == 1").await.says(
        422,
        "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"q\" is invalid: \
         spec.validations[0].expression: Invalid value: \"request.foo == 1\": compilation failed: \
         ERROR: <input>:1:8: undefined field 'foo'\n | request.foo == 1\n | .......^",
    );
}

async fn change_by(server: &TestServer, mutation: Value) {
    let spec = json!({
        "matchConstraints": constraints(), "mutations": [mutation],
        "reinvocationPolicy": "Never", "failurePolicy": "Fail",
    });
    create(server, "mutatingadmissionpolicies", "m", spec)
        .await
        .created();
    let bound = json!({"policyName": "m"});
    create(server, "mutatingadmissionpolicybindings", "b", bound)
        .await
        .created();
}

#[tokio::test]
async fn a_policy_states_fields_that_objects_get() {
    let server = start_server().await;
    let expression = "Object{metadata: Object.metadata{labels: {'added': object.metadata.name}}}";
    let stated = json!({"expression": expression});
    change_by(
        &server,
        json!({"patchType": "ApplyConfiguration", "applyConfiguration": stated}),
    )
    .await;
    let made = write(&server, "a", json!({"x": "1"})).await.created();
    assert_eq!(made["metadata"]["labels"], json!({"added": "a"}));
    assert_eq!(made["data"], json!({"x": "1"}));
}

#[tokio::test]
async fn a_policy_patches_objects_step_by_step() {
    let server = start_server().await;
    let expression = "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a/b'), \
                      value: 'c'}]";
    let steps = json!({"expression": expression});
    change_by(
        &server,
        json!({"patchType": "JSONPatch", "jsonPatch": steps}),
    )
    .await;
    let mut object = json!({"metadata": {"name": "a"}, "data": {"x": "1"}});
    let refused = server.post(CONFIG_MAPS, &object).await;
    // The key is no key of a config map, which the rules of the kind say after the policy.
    assert_eq!(refused.code, 422, "{}", refused.text());
    object["data"] = Value::Null;
    let impossible = server.post(CONFIG_MAPS, &object).await;
    assert_eq!(impossible.code, 403, "{}", impossible.text());
}

#[tokio::test]
async fn conditions_of_a_webhook_spare_it_questions() {
    let server = start_server().await;
    let webhook = |expression: &str| {
        json!({
            "name": "gone.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [{
                "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["configmaps"],
            }],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "matchConditions": [{"name": "c", "expression": expression}],
        })
    };
    let path = format!("{ADMISSION}/validatingwebhookconfigurations");
    let configuration =
        |expression: &str| json!({"metadata": {"name": "v"}, "webhooks": [webhook(expression)]});
    let unusable = server.post(&path, &configuration("1")).await;
    assert_eq!(unusable.code, 422);
    let condition = "object.metadata.name == 'asked'";
    server
        .post(&path, &configuration(condition))
        .await
        .created();
    write(&server, "spared", json!({})).await.created();
    assert_eq!(write(&server, "asked", json!({})).await.code, 500);
}

#[tokio::test]
async fn the_status_of_a_policy_tells_where_its_expressions_do_not_fit() {
    let server = start_server().await;
    let rules = json!([{
        "operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"],
        "resources": ["deployments"],
    }]);
    let spec = json!({
        "matchConstraints": {"resourceRules": rules},
        "validations": [
            {"expression": "object.spec.replicas > 1"},
            {"expression": "object.spec.replicas > '1'"},
        ],
    });
    create(&server, "validatingadmissionpolicies", "p", spec)
        .await
        .created();
    let path = format!("{ADMISSION}/validatingadmissionpolicies");
    let mut events = server.watch(&format!("{path}?watch=1")).await;
    let mut told = events.next().await.object;
    while told["status"]["observedGeneration"] != 1 {
        told = events.next().await.object;
    }
    let warnings = told["status"]["typeChecking"]["expressionWarnings"].as_array();
    let warnings = warnings.unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0]["fieldRef"], "spec.validations[1].expression");
    let warning = warnings[0]["warning"].as_str().unwrap();
    let expected = "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload";
    assert!(warning.starts_with(expected), "{warning}");
    let mended = json!({"spec": {"validations": [{"expression": "object.spec.paused == true"}]}});
    server.merge(&format!("{path}/p"), &mended).await.ok();
    while told["status"]["observedGeneration"] != 2 {
        told = events.next().await.object;
    }
    assert_eq!(told["status"]["typeChecking"], json!({}));
}

#[tokio::test]
async fn an_object_that_is_not_named_after_its_field_is_refused() {
    let server = start_server().await;
    let expression = "Object{metadata: Object.metadata2{labels: {'a': 'b'}}}";
    let stated = json!({"expression": expression});
    change_by(
        &server,
        json!({"patchType": "ApplyConfiguration", "applyConfiguration": stated}),
    )
    .await;
    write(&server, "a", json!({})).await.says(
        403,
        "policy 'm' with binding 'b' denied request: type mismatch: unexpected type name \
         \"Object.metadata2\", expected \"Object.metadata\", which matches field name path from \
         root Object type",
    );
}
