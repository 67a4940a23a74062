//! The variables that admission policies and the conditions of webhooks may refer to.

use std::collections::BTreeMap;

use crate::environment::Environment;
use crate::types::{ObjectType, Type};

impl Environment {
    /// Kubernetes' functions, and `object`, `oldObject`, `request` and `namespaceObject`.
    pub fn admission() -> Self {
        Self::kubernetes()
            .with_variable("object", Type::Dyn)
            .with_variable("oldObject", Type::Dyn)
            .with_variable("request", request())
            .with_variable("namespaceObject", namespace())
    }

    /// Adds `params`, for policies that have parameters.
    pub fn with_params(self) -> Self {
        self.with_variable("params", Type::Dyn)
    }

    /// Adds `authorizer` and `authorizer.requestResource`.
    pub fn with_authorizer(self) -> Self {
        self.with_variable(
            "authorizer",
            Type::Named("kubernetes.authorization.Authorizer"),
        )
        .with_variable(
            "authorizer.requestResource",
            Type::Named("kubernetes.authorization.ResourceCheck"),
        )
    }

    /// Adds `variables` with the types of those that a policy defined before the expression.
    pub fn with_variables(self, types: BTreeMap<String, Type>) -> Self {
        self.with_variable(
            "variables",
            Type::Object(ObjectType::closed("kubernetes.variables", types)),
        )
    }
}

fn object<const N: usize>(name: &str, fields: [(&str, Type); N]) -> Type {
    let fields = fields
        .into_iter()
        .map(|(name, field)| (name.to_owned(), field))
        .collect();
    Type::Object(ObjectType::closed(name, fields))
}

fn texts() -> Type {
    Type::list(Type::String)
}

/// What a request is about, and who makes it.
fn request() -> Type {
    let kind = || {
        let fields = [
            ("group", Type::String),
            ("version", Type::String),
            ("kind", Type::String),
        ];
        object("kubernetes.GroupVersionKind", fields)
    };
    let resource = || {
        let fields = [
            ("group", Type::String),
            ("version", Type::String),
            ("resource", Type::String),
        ];
        object("kubernetes.GroupVersionResource", fields)
    };
    let user = object(
        "kubernetes.UserInfo",
        [
            ("username", Type::String),
            ("uid", Type::String),
            ("groups", texts()),
            ("extra", Type::map(Type::String, texts())),
        ],
    );
    object(
        "kubernetes.AdmissionRequest",
        [
            ("kind", kind()),
            ("resource", resource()),
            ("subResource", Type::String),
            ("requestKind", kind()),
            ("requestResource", resource()),
            ("requestSubResource", Type::String),
            ("name", Type::String),
            ("namespace", Type::String),
            ("operation", Type::String),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
}

/// The namespace that the object is in, without what nobody decides by.
fn namespace() -> Type {
    let condition = object(
        "kubernetes.NamespaceCondition",
        [
            ("status", Type::String),
            ("type", Type::String),
            ("lastTransitionTime", Type::Timestamp),
            ("message", Type::String),
            ("reason", Type::String),
        ],
    );
    let status = object(
        "kubernetes.NamespaceStatus",
        [
            ("conditions", Type::list(condition)),
            ("phase", Type::String),
        ],
    );
    let metadata = object(
        "kubernetes.NamespaceMetadata",
        [
            ("name", Type::String),
            ("generateName", Type::String),
            ("namespace", Type::String),
            ("labels", Type::map(Type::String, Type::String)),
            ("annotations", Type::map(Type::String, Type::String)),
            ("UID", Type::String),
            ("creationTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds", Type::Int),
            ("deletionTimestamp", Type::Timestamp),
            ("generation", Type::Int),
            ("resourceVersion", Type::String),
            ("finalizers", texts()),
        ],
    );
    let spec = object("kubernetes.NamespaceSpec", [("finalizers", texts())]);
    object(
        "kubernetes.Namespace",
        [("metadata", metadata), ("spec", spec), ("status", status)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{AccessCheck, AccessDecision, Authorizer, Check, LazyFields, Subject};
    use crate::{Bindings, Budget, EvaluationError, Value};
    use serde_json::json;

    fn evaluate<'a>(
        environment: &Environment,
        expression: &str,
        bindings: &Bindings<'a>,
    ) -> Result<Value<'a>, String> {
        let program = environment
            .compile(expression)
            .map_err(|error| error.to_string())?;
        program
            .evaluate(bindings, &mut Budget::per_call())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_request_has_the_fields_that_kubernetes_declares_and_no_others() {
        let request =
            json!({"operation": "CREATE", "userInfo": {"username": "kim", "groups": ["dev"]}});
        let bindings = Bindings::new().with("request", Value::dynamic(&request));
        let environment = Environment::admission();
        let expression = "request.operation == 'CREATE' && 'dev' in request.userInfo.groups";
        let value = evaluate(&environment, expression, &bindings).unwrap();
        assert!(matches!(value, Value::Bool(true)));
        let refused = evaluate(&environment, "request.uid", &bindings).unwrap_err();
        assert!(refused.contains("undefined field 'uid'"), "{refused}");
        let typed = evaluate(&environment, "request.dryRun == 'yes'", &bindings).unwrap_err();
        assert!(
            typed.contains("found no matching overload for '_==_'"),
            "{typed}"
        );
    }

    /// Allows reading and nothing else, and says whom it was asked about.
    struct Readers;

    impl Authorizer for Readers {
        fn authorize(&self, subject: &Subject, check: &AccessCheck) -> AccessDecision {
            let reason = format!("{subject:?}");
            match (&check.check, check.verb.as_str()) {
                (Check::Resource(check), "get")
                    if check.resource == "pods" && check.group.is_empty() =>
                {
                    AccessDecision::Allowed { reason }
                }
                (Check::Path(path), "get") if path == "/healthz" => {
                    AccessDecision::Allowed { reason }
                }
                (Check::Path(_), "break") => AccessDecision::Failed {
                    error: "broken".to_owned(),
                },
                _ => AccessDecision::Denied { reason },
            }
        }
    }

    #[test]
    fn access_is_asked_of_the_host_and_costs_as_much_as_kubernetes_says() {
        let environment = Environment::admission().with_authorizer();
        let bindings = Bindings::new().with("authorizer", Value::authorizer(&Readers));
        for (expression, expected) in [
            (
                "authorizer.group('').resource('pods').namespace('a').check('get').allowed()",
                true,
            ),
            (
                "authorizer.group('').resource('pods').check('delete').allowed()",
                false,
            ),
            ("authorizer.path('/healthz').check('get').allowed()", true),
            ("authorizer.path('/x').check('break').errored()", true),
            (
                "authorizer.path('/x').check('break').error() == 'broken'",
                true,
            ),
            (
                "authorizer.serviceAccount('ns', \
                    'sa').path('/healthz').check('get').reason().contains('sa')",
                true,
            ),
        ] {
            let program = environment.compile(expression).unwrap();
            let mut budget = Budget::per_call();
            let value = program.evaluate(&bindings, &mut budget).unwrap();
            assert!(
                matches!(value, Value::Bool(answer) if answer == expected),
                "{expression}"
            );
            assert!(
                budget.spent() > 350_000,
                "{expression} costs {}",
                budget.spent()
            );
        }
        let thrice = ["authorizer.path('/healthz').check('get').allowed()"; 3].join(" && ");
        let stopped = evaluate(&environment, &thrice, &bindings).unwrap_err();
        assert_eq!(stopped, "operation cancelled: actual cost limit exceeded");
        let empty = evaluate(
            &environment,
            "authorizer.path('').check('get').allowed()",
            &bindings,
        );
        assert_eq!(empty.unwrap_err(), "path must not be empty");
    }

    #[derive(Debug)]
    struct Twice<'a>(&'a serde_json::Value);

    impl LazyFields for Twice<'_> {
        fn field(&self, name: &str) -> Option<Result<Value<'_>, EvaluationError>> {
            match name {
                "object" => Some(Ok(Value::dynamic(self.0))),
                "broken" => Some(Err(EvaluationError::Failed("broken".to_owned()))),
                _ => None,
            }
        }
    }

    #[test]
    fn variables_are_computed_when_they_are_looked_at() {
        let data = json!({"replicas": 3});
        let fields = Twice(&data);
        let types = BTreeMap::from([
            ("object".to_owned(), Type::Dyn),
            ("broken".to_owned(), Type::Bool),
        ]);
        let environment = Environment::admission().with_variables(types);
        let bindings = Bindings::new().with("variables", Value::Lazy(&fields));
        let value = evaluate(&environment, "variables.object.replicas + 1", &bindings).unwrap();
        assert!(matches!(value, Value::Int(4)));
        let value = evaluate(&environment, "true || variables.broken", &bindings).unwrap();
        assert!(matches!(value, Value::Bool(true)));
        assert_eq!(
            evaluate(&environment, "variables.broken", &bindings).unwrap_err(),
            "broken"
        );
        assert!(evaluate(&environment, "variables.other", &bindings).is_err());
    }

    #[test]
    fn objects_and_patches_are_built_only_where_that_is_allowed() {
        let environment = Environment::admission().with_patches();
        let bindings = Bindings::new();
        let expression = "Object{spec: Object.spec{replicas: 3, names: ['a'], labels: {'k': 'v'}}}";
        let built = evaluate(&environment, expression, &bindings)
            .unwrap()
            .to_json()
            .unwrap();
        assert_eq!(
            built,
            json!({"spec": {"replicas": 3, "names": ["a"], "labels": {"k": "v"}}})
        );
        let expression = "[JSONPatch{op: 'add', path: '/metadata/labels/' + \
            jsonpatch.escapeKey('a/b~c'), value: 1}]";
        let built = evaluate(&environment, expression, &bindings)
            .unwrap()
            .to_json()
            .unwrap();
        assert_eq!(
            built,
            json!([{"op": "add", "path": "/metadata/labels/a~1b~0c", "value": 1}])
        );
        let refused = evaluate(&environment, "JSONPatch{op: 1}", &bindings).unwrap_err();
        let expected = "expected type of field 'op' is 'string' but provided type is 'int'";
        assert!(refused.contains(expected), "{refused}");
        assert!(evaluate(&Environment::admission(), "Object{}", &bindings).is_err());
        assert!(
            evaluate(
                &Environment::admission(),
                "jsonpatch.escapeKey('a')",
                &bindings
            )
            .is_err()
        );
    }
}
