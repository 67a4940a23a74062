//! Whether the defaults of a schema are values that it accepts.

use listwatch_api::{FieldError, FieldPath, field_error};
use serde_json::{Value, json};

use crate::metadata::{self, Malformed};
use crate::node::{Node, SCHEMA_DEPTH_MAX};
use crate::props::Props;
use crate::prune::{self, Place};
use crate::rules::{self, Change, Rules};
use crate::validate::Validator;
use crate::value_path::ValuePath;

/// What is wrong with the defaults of a structural schema.
pub(super) fn errors(schema: Props<'_>, path: &FieldPath) -> Vec<FieldError> {
    let mut walk = Walk {
        errors: Vec::new(),
        depth: 0,
    };
    walk.schema(schema, path, &Around::Resource);
    walk.errors
}

/// What is around a schema, up to the nearest resource.
enum Around<'a> {
    /// It is a resource itself.
    Resource,
    /// It is inside, and not in the fields that every resource has.
    Inside,
    /// It is a field of these metadata, or below one.
    Metadata(&'a Around<'a>, Step<'a>),
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Element,
}

impl Around<'_> {
    /// A resource in which the value stands where it belongs.
    fn wrap(&self, value: Value) -> Value {
        match self {
            Self::Resource | Self::Inside => value,
            Self::Metadata(parent, Step::Field(name)) => parent.wrap(json!({ *name: value })),
            Self::Metadata(parent, Step::Element) => parent.wrap(json!([value])),
        }
    }
}

struct Walk {
    errors: Vec<FieldError>,
    depth: usize,
}

impl Walk {
    fn schema(&mut self, schema: Props<'_>, path: &FieldPath, around: &Around<'_>) {
        if self.depth > SCHEMA_DEPTH_MAX {
            return;
        }
        self.depth += 1;
        let is_embedded = schema.is_set("x-kubernetes-embedded-resource");
        let around = match is_embedded {
            true => &Around::Resource,
            false => around,
        };
        if let Some(default) = schema.value("default") {
            let path = path.child("default");
            match around {
                Around::Metadata(..) => self.metadata_default(schema, default, &path, around),
                Around::Resource | Around::Inside => self.default(schema, default, &path),
            }
        }
        if let Some(items) = schema.each_item() {
            let below = match around {
                Around::Metadata(..) => Around::Metadata(around, Step::Element),
                Around::Resource | Around::Inside => Around::Inside,
            };
            self.schema(items, &path.child("items"), &below);
        }
        for (name, property) in schema.properties() {
            let is_of_resource = matches!(name, "metadata" | "apiVersion" | "kind");
            let below = match around {
                Around::Metadata(..) => Around::Metadata(around, Step::Field(name)),
                Around::Resource if is_of_resource => Around::Metadata(around, Step::Field(name)),
                Around::Resource | Around::Inside => Around::Inside,
            };
            let path = path.child("properties").key(name);
            self.schema(property, &path, &below);
        }
        self.depth -= 1;
    }

    fn default(&mut self, schema: Props<'_>, default: &Value, path: &FieldPath) {
        let node = Node::compile(schema);
        let mut pruned = default.clone();
        let place = match schema.is_set("x-kubernetes-embedded-resource") {
            true => Place::Resource,
            false => Place::Inside,
        };
        prune::prune(&node, &mut pruned, place);
        if pruned != *default {
            let error = FieldError::invalid(path, default, "must not have unknown fields");
            self.errors.push(error);
        }
        let mut coerced = default.clone();
        if let Err(error) = metadata::coerce(&node, &mut coerced, Malformed::Refused) {
            self.errors.push(below(path, error));
            return;
        }
        let embedded = metadata::embedded_errors(&node, &coerced);
        if !embedded.is_empty() {
            let embedded = embedded.into_iter().map(|error| below(path, error));
            self.errors.extend(embedded);
            return;
        }
        let position = rules::position_of(schema);
        self.value(&node, Rules::compile(schema, position), default, path);
    }

    /// What the schema itself says of its default: its checks, then its rules.
    fn value(&mut self, node: &Node, rules: Option<Rules>, default: &Value, path: &FieldPath) {
        let validator = Validator { start: Some(path) };
        let mut errors = validator.new_value(node, default).into_errors();
        if let Some(rules) = rules.filter(|_| errors.is_empty()) {
            for before in [Some(default), None] {
                let change = Change {
                    next: default,
                    before,
                };
                if errors.is_empty() {
                    errors = rules.errors(node, change, Some(path), None);
                }
            }
        }
        self.errors.extend(errors);
    }

    fn metadata_default(
        &mut self,
        schema: Props<'_>,
        default: &Value,
        path: &FieldPath,
        around: &Around<'_>,
    ) {
        let mut resource = around.wrap(default.clone());
        if let Value::Object(members) = &mut resource {
            members.entry("kind").or_insert_with(|| json!("Validation"));
            members
                .entry("apiVersion")
                .or_insert_with(|| json!("validation/v1"));
        }
        let refuse = |problem: &str| {
            let why = format!("must result in valid metadata: {problem}");
            FieldError::invalid(path, default, &why)
        };
        if let Some(metadata) = resource.get_mut("metadata")
            && let Err(problem) = metadata::coerce_metadata(metadata, Malformed::Refused)
        {
            self.errors.push(refuse(&problem));
            return;
        }
        let problems = match &resource {
            Value::Object(members) => metadata::resource_errors(members, &ValuePath::Start),
            _ => Vec::new(),
        };
        if problems.is_empty() {
            let node = Node::compile(schema);
            let rules = Rules::compile(schema, rules::position_of(schema));
            self.value(&node, rules, default, path);
        } else {
            self.errors.push(refuse(&field_error::aggregate(&problems)));
        }
    }
}

/// The same error of a field below this one.
fn below(path: &FieldPath, error: FieldError) -> FieldError {
    FieldError {
        field: format!("{path}.{}", error.field),
        ..error
    }
}
