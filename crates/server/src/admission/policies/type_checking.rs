//! Whether the expressions of a policy fit the kinds that it is about: what `status.typeChecking`
//! tells of it.

use std::{collections::BTreeMap, sync::Arc};

use listwatch_api::schema::{Schema as Shapes, Shape, TypeId};
use listwatch_cel::{Environment, ObjectType, Schema, Type, schema::Position};
use serde_json::{Value, json};

use super::super::matching::texts;
use crate::registry::{Definition, Registry};

/// Kinds that a policy is held against. Further ones are not looked at.
const KINDS_MAX: usize = 10;
/// Expressions of one policy that are checked. Further ones are not looked at.
const EXPRESSIONS_MAX: usize = 500;

/// What is doubtful in a ValidatingAdmissionPolicy: its `expressionWarnings`.
pub(crate) fn expression_warnings(registry: &Registry, policy: &Value) -> Vec<Value> {
    let spec = &policy["spec"];
    let kinds: Vec<Checked> = kinds_of(registry, spec)
        .into_values()
        .filter_map(|definition| Checked::new(registry, spec, &definition))
        .collect();
    let validations = spec["validations"].as_array().into_iter().flatten();
    let stated = validations.enumerate().flat_map(|(place, validation)| {
        ["expression", "messageExpression"].map(|member| (place, member, &validation[member]))
    });
    let mut warnings = Vec::new();
    for (place, member, expression) in stated.take(EXPRESSIONS_MAX) {
        let Some(text) = expression.as_str().filter(|text| !text.is_empty()) else {
            continue;
        };
        let told: Vec<String> = kinds.iter().filter_map(|kind| kind.check(text)).collect();
        if !told.is_empty() {
            warnings.push(json!({
                "fieldRef": format!("spec.validations[{place}].{member}"),
                "warning": told.join("\n"),
            }));
        }
    }
    warnings
}

/// Kinds by group, version and name.
type Kinds = BTreeMap<[Box<str>; 3], Arc<Definition>>;

/// The kinds that the rules of a policy name. Whoever names them with wildcards is not held against
/// any.
fn kinds_of(registry: &Registry, spec: &Value) -> Kinds {
    let mut kinds = BTreeMap::new();
    let rules = spec["matchConstraints"]["resourceRules"].as_array();
    for rule in rules.into_iter().flatten() {
        let (groups, versions) = (texts(&rule["apiGroups"]), texts(&rule["apiVersions"]));
        if groups.iter().chain(&versions).any(|it| it.contains('*')) {
            continue;
        }
        let mut resources = texts(&rule["resources"]);
        resources.retain(|resource| !resource.contains(['*', '/']));
        for group in &groups {
            for version in &versions {
                for resource in &resources {
                    let Some(found) = registry.find(group, version, resource) else {
                        continue;
                    };
                    let key = [&found.group, &found.version, &found.kind].map(Clone::clone);
                    kinds.insert(key, found);
                    if kinds.len() >= KINDS_MAX {
                        return kinds;
                    }
                }
            }
        }
    }
    kinds
}

/// A kind that a policy is about, and what its expressions may refer to there.
struct Checked {
    /// The kind, as warnings name it.
    shown: String,
    environment: Environment,
}

impl Checked {
    fn new(registry: &Registry, spec: &Value, definition: &Definition) -> Option<Self> {
        let object = type_of(registry, definition)?;
        let mut environment = Environment::admission()
            .with_stored_expressions()
            .with_authorizer()
            .with_variable("object", object.clone())
            .with_variable("oldObject", object);
        let param_kind = &spec["paramKind"];
        if param_kind.is_object() {
            let text = |member: &str| param_kind[member].as_str().unwrap_or_default();
            let params = registry.find_kind(text("apiVersion"), text("kind"));
            let params = params.and_then(|definition| type_of(registry, &definition));
            environment = environment.with_variable("params", params.unwrap_or(Type::Dyn));
        }
        let environment = with_variables(environment, &spec["variables"]);
        let Definition {
            group,
            version,
            kind,
            ..
        } = definition;
        let shown = format!("{group}/{version}, Kind={kind}");
        Some(Self { shown, environment })
    }

    /// What is wrong with an expression here.
    fn check(&self, text: &str) -> Option<String> {
        let error = self.environment.compile(text).err()?;
        Some(format!("{}: {error}\n", self.shown))
    }
}

fn with_variables(mut environment: Environment, listed: &Value) -> Environment {
    let mut types = BTreeMap::new();
    for variable in listed.as_array().into_iter().flatten() {
        let text = |member: &str| variable[member].as_str().unwrap_or_default();
        let program = environment.compile(text("expression"));
        let output = program.map_or(Type::Dyn, |it| plain(it.output_type()));
        types.insert(text("name").to_owned(), output);
        environment = environment.with_variables(types.clone());
    }
    environment
}

/// The type by which a variable is known: objects in it are not looked into.
fn plain(output: &Type) -> Type {
    match output {
        Type::List(element) => Type::list(plain(element)),
        Type::Map(key, value) => Type::map(plain(key), plain(value)),
        Type::Object(_) | Type::Parameter(_) | Type::Error => Type::Dyn,
        other => other.clone(),
    }
}

/// The type of the objects of a kind; `None` if nothing is known of them.
fn type_of(registry: &Registry, definition: &Definition) -> Option<Type> {
    let Some(custom) = &definition.custom else {
        let (shapes, type_id) = registry.shape_of(definition)?;
        let builder = Builder { shapes };
        return Some(builder.object((type_id, &definition.kind), &mut Vec::new()));
    };
    let published = custom.structural.as_ref()?.open_api_v3();
    let schema = Schema::from_openapi(&published, Position::Root)?;
    let Type::Object(read) = schema.declared_type(&definition.kind) else {
        return None;
    };
    let mut fields = read.fields.clone();
    let metadata = registry.type_of("meta.k8s.io/v1", "ObjectMeta");
    if let Some(type_id) = metadata {
        let builder = Builder {
            shapes: registry.schema(),
        };
        let name = format!("{}.metadata", definition.kind);
        let metadata = builder.object((type_id, &name), &mut Vec::new());
        fields.insert("metadata".to_owned(), metadata);
    }
    let object = ObjectType::closed(read.name.clone(), fields);
    Some(Type::Object(object))
}

/// Makes types of shapes.
struct Builder<'a> {
    shapes: &'a Shapes,
}

impl Builder<'_> {
    /// The type of an object; `above` are those that it is part of.
    fn object(&self, (type_id, name): (TypeId, &str), above: &mut Vec<TypeId>) -> Type {
        if above.contains(&type_id) {
            // A type within itself has no end.
            return Type::Object(ObjectType::closed(name, BTreeMap::new()));
        }
        above.push(type_id);
        let listed = self.shapes.object_type(type_id).fields.iter();
        let fields = listed.filter_map(|field| {
            let escaped = listwatch_cel::names::escape(&field.name)?;
            let name = format!("{name}.{escaped}");
            Some((escaped, self.shape(&field.shape, (&name, above))))
        });
        let fields = fields.collect();
        above.pop();
        Type::Object(ObjectType::closed(name, fields))
    }

    fn shape(&self, shape: &Shape, (name, above): (&str, &mut Vec<TypeId>)) -> Type {
        match shape {
            Shape::String => Type::String,
            Shape::Bytes => Type::Bytes,
            Shape::Boolean => Type::Bool,
            Shape::Int32 | Shape::Int64 => Type::Int,
            Shape::Number => Type::Double,
            Shape::Time | Shape::MicroTime => Type::Timestamp,
            Shape::Quantity | Shape::IntOrString | Shape::Any | Shape::Deduced => Type::Dyn,
            Shape::Object { type_id, .. } => self.object((*type_id, name), above),
            Shape::Map { value, .. } => {
                let name = format!("{name}.@elem");
                Type::map(Type::String, self.shape(value, (&name, above)))
            }
            Shape::List { element, .. } => {
                let name = format!("{name}.@idx");
                Type::list(self.shape(element, (&name, above)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(resource: &str, validation: Value) -> Vec<Value> {
        let rule = json!({
            "apiGroups": ["apps", ""], "apiVersions": ["v1"], "resources": [resource],
        });
        let policy = json!({"spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "variables": [
                {"name": "replicas", "expression": "object.spec.replicas"},
                {"name": "spec", "expression": "object.spec"},
            ],
            "validations": [validation],
        }});
        expression_warnings(&Registry::builtin(), &policy)
    }

    #[test]
    fn a_field_that_a_kind_does_not_have_is_told_with_its_place() {
        let told = warnings(
            "deployments",
            json!({"expression": "object.spec.replics > 1"}),
        );
        assert_eq!(
            told,
            [json!({
                "fieldRef": "spec.validations[0].expression",
                "warning": "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field \
                    'replics'\n | object.spec.replics > 1\n | ...........^\n",
            })]
        );
    }

    #[test]
    fn a_value_of_another_type_is_told_also_through_variables() {
        let told = warnings(
            "deployments",
            json!({
                "expression": "variables.replicas > '1' && variables.spec.anything == 1",
                "messageExpression": "string(object.spec.paused) + object.metadata.name",
            }),
        );
        assert_eq!(told.len(), 1, "{told:?}");
        let warning = told[0]["warning"].as_str().unwrap();
        let expected = "found no matching overload for '_>_' applied to '(int, string)'";
        assert!(warning.contains(expected), "{warning}");
    }

    #[test]
    fn kinds_that_are_not_named_are_not_held_against() {
        let wrong = || json!({"expression": "object.nothing == 1"});
        for resource in ["*", "deployments/scale", "unknown"] {
            assert_eq!(warnings(resource, wrong()), Vec::<Value>::new());
        }
        assert_eq!(warnings("pods", wrong()).len(), 1);
    }

    #[test]
    fn every_kind_has_a_type() {
        let registry = Registry::builtin();
        for definition in registry.definitions() {
            let known = type_of(&registry, definition);
            assert!(known.is_some() || definition.schema.is_none());
        }
    }
}
