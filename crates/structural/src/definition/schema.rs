//! Whether the schema of a version is one that custom resources may have.

use listwatch_api::field_error::BadValue;
use listwatch_api::{FieldError, FieldPath};
use serde_json::Value;

use listwatch_cel::schema::Position;

use self::rule_cost::{Bill, Occurrences};
use super::{defaults, internal_form};
use crate::node::SCHEMA_DEPTH_MAX;
use crate::pattern::PatternChecks;
use crate::props::{Additional, Items, Props};
use crate::{rules, structure};

mod extensions;
mod rule_cost;
mod rule_form;

/// Whether the objects have a status that is written apart from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Apart,
    Inside,
}

/// Parts that the root of a schema may have when the status is apart.
const ROOT_PARTS: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// What is wrong with a schema.
pub(super) fn errors(schema: Props<'_>, status: Status, path: &FieldPath) -> Vec<FieldError> {
    let path = path.child("openAPIV3Schema");
    let mut errors = Vec::new();
    if status == Status::Apart {
        errors.extend(root_error(schema, &path));
    }
    if schema.is_set("nullable") {
        let why = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(&path.child("nullable"), why));
    }
    let unsupported = structure::unsupported::first(schema);
    let mut problems = Vec::new();
    if unsupported.is_none() {
        problems = structure::violations(schema, &path, PatternChecks::compiled());
        if problems.is_empty() {
            problems = defaults::errors(schema, &path);
        }
    }
    let is_sound = unsupported.is_none() && problems.is_empty();
    let mut walk = Walk {
        errors: Vec::new(),
        depth: 0,
        bill: is_sound.then(Bill::default),
    };
    errors.extend(problems);
    walk.schema(schema, &path, Surroundings::root());
    errors.extend(walk.errors);
    if let Some(unsupported) = unsupported.filter(|_| errors.is_empty()) {
        errors.push(FieldError::invalid(&path, "", &unsupported));
    }
    errors.extend(
        walk.bill
            .map_or_else(Vec::new, |bill| bill.into_errors(&path)),
    );
    errors
}

fn root_error(schema: Props<'_>, path: &FieldPath) -> Option<FieldError> {
    for part in internal_form::stated_parts(schema) {
        if part == "Type" {
            let type_name = schema.type_name();
            if type_name != "object" {
                let why = "only \"object\" is allowed as the type at the root of the schema if \
                           the status subresource is enabled";
                return Some(FieldError::invalid(&path.child("type"), type_name, why));
            }
        } else if !ROOT_PARTS.contains(&part) {
            let why = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource \
                 is enabled",
                ROOT_PARTS.join(" ")
            );
            let shown = BadValue::json(internal_form::schema(schema));
            return Some(FieldError::invalid(path, shown, &why));
        }
    }
    None
}

/// What the place of a schema forbids.
#[derive(Clone, Copy)]
struct Surroundings<'a> {
    level: Level,
    /// Why there may be no defaults, if there may not.
    no_defaults: Option<&'a str>,
    /// The list whose elements cannot be told apart, if the schema is in one.
    uncorrelatable: Option<&'a FieldPath>,
    /// How often the schema can occur in an object.
    occurrences: Occurrences,
    rules: RuleChecks,
}

/// Whether the rules of a schema are looked into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleChecks {
    Made,
    /// Not in schemas that only restrict values.
    Left,
}

/// How a schema relates to the resource that it describes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Inside,
    /// Of `apiVersion`, `kind` or `metadata`, or below.
    ResourceFields,
}

impl Surroundings<'_> {
    fn root() -> Self {
        Self {
            level: Level::Root,
            no_defaults: None,
            uncorrelatable: None,
            occurrences: Occurrences::AtMost(1),
            rules: RuleChecks::Made,
        }
    }

    /// The surroundings of what is directly in values of a schema.
    fn below(self, props: Props<'_>) -> Self {
        Self {
            level: self.level_below(),
            occurrences: self.occurrences.below(props),
            ..self
        }
    }

    /// The surroundings of a schema that restricts the same values.
    fn beside(self) -> Self {
        Self {
            level: self.level_below(),
            rules: RuleChecks::Left,
            ..self
        }
    }

    fn level_below(self) -> Level {
        match self.level {
            Level::Root | Level::Inside => Level::Inside,
            Level::ResourceFields => Level::ResourceFields,
        }
    }

    fn position(self, props: Props<'_>) -> Position {
        match self.level {
            Level::Root => Position::Root,
            Level::Inside | Level::ResourceFields => rules::position_of(props),
        }
    }
}

struct Walk {
    errors: Vec<FieldError>,
    depth: usize,
    /// What rules cost, unless the schema is too broken to look into them.
    bill: Option<Bill>,
}

impl Walk {
    fn forbidden(&mut self, path: &FieldPath, why: &str) {
        self.errors.push(FieldError::forbidden(path, why));
    }

    fn required(&mut self, path: &FieldPath, why: &str) {
        self.errors.push(FieldError::required(path, why));
    }

    fn invalid(&mut self, path: &FieldPath, value: impl Into<BadValue>, why: &str) {
        self.errors.push(FieldError::invalid(path, value, why));
    }

    fn schema(&mut self, props: Props<'_>, path: &FieldPath, around: Surroundings<'_>) {
        if self.depth > SCHEMA_DEPTH_MAX {
            return;
        }
        self.depth += 1;
        let known_errors = self.errors.len();
        self.standard(props, path, around);
        if props.is_set("uniqueItems") {
            let why = "uniqueItems cannot be set to true since the runtime complexity becomes \
                       quadratic";
            self.forbidden(&path.child("uniqueItems"), why);
        }
        self.additional(props, path, around);
        self.properties(props, path, around);
        self.combined(props, path, around);
        self.items(props, path, around);
        for (name, schema) in props.named("dependencies") {
            let path = path.child("dependencies").key(name);
            self.schema(schema, &path, around.beside());
        }
        self.extensions(props, path);
        self.rule_forms(props, path);
        let is_sound = self.errors.len() == known_errors && around.rules == RuleChecks::Made;
        if let Some(bill) = self.bill.as_mut().filter(|_| is_sound) {
            bill.rules(props, path, around);
        }
        self.depth -= 1;
    }

    /// What the standard has and custom resources do not.
    fn standard(&mut self, props: Props<'_>, path: &FieldPath, around: Surroundings<'_>) {
        let type_name = props.type_name();
        if !type_name.is_empty() && !TYPES.contains(&type_name) {
            let error = FieldError::not_supported(&path.child("type"), type_name, &TYPES);
            self.errors.push(error);
        }
        if let (Some(why), Some(_)) = (around.no_defaults, props.value("default")) {
            self.forbidden(&path.child("default"), &format!("must not be set {why}"));
        }
        if !props.text("id").is_empty() {
            self.forbidden(&path.child("id"), "id is not supported");
        }
        let is_stated = |name: &str| match name {
            "patternProperties" | "definitions" => props.named(name).next().is_some(),
            _ => props.value(name).is_some(),
        };
        for name in UNSUPPORTED.into_iter().filter(|name| is_stated(name)) {
            self.forbidden(&path.child(name), &format!("{name} is not supported"));
        }
        if type_name == "null" {
            let why = "type cannot be set to null, use nullable as an alternative";
            self.forbidden(&path.child("type"), why);
        }
        if matches!(props.items(), Some(Items::Places)) {
            let why = "items must be a schema object and not an array";
            self.forbidden(&path.child("items"), why);
        }
        let embedded = "x-kubernetes-embedded-resource";
        if around.level == Level::ResourceFields && props.is_set(embedded) {
            let why = "must not be used inside of resource meta";
            self.forbidden(&path.child(embedded), why);
        }
    }

    fn additional(&mut self, props: Props<'_>, path: &FieldPath, around: Surroundings<'_>) {
        let path = path.child("additionalProperties");
        let additional = props.additional();
        let restricts = !matches!(additional, None | Some(Additional::Allowed(true)));
        if restricts && props.properties().next().is_some() {
            let why = "additionalProperties and properties are mutual exclusive";
            self.forbidden(&path, why);
        }
        if let Some(Additional::Each(each)) = additional {
            let mut below = around.below(props);
            if around.level == Level::ResourceFields {
                below.no_defaults = Some("inside additionalProperties applying to object metadata");
            }
            self.schema(each, &path, below);
        }
    }

    fn properties(&mut self, props: Props<'_>, path: &FieldPath, around: Surroundings<'_>) {
        let is_root = around.level == Level::Root;
        let is_resource = is_root || props.is_set("x-kubernetes-embedded-resource");
        for (name, property) in props.properties() {
            let mut below = around.below(props);
            let why = format!("in top-level {name}");
            if is_resource && matches!(name, "metadata" | "kind" | "apiVersion") {
                below.level = Level::ResourceFields;
                if is_root {
                    below.no_defaults = Some(&why);
                }
            }
            let path = path.child("properties").key(name);
            self.schema(property, &path, below);
        }
    }

    fn combined(&mut self, props: Props<'_>, path: &FieldPath, around: Surroundings<'_>) {
        if let Some(not) = props.schema("not") {
            self.schema(not, &path.child("not"), around.beside());
        }
        for name in ["allOf", "oneOf", "anyOf"] {
            for (index, schema) in props.schemas(name).enumerate() {
                self.schema(schema, &path.child(name).index(index), around.beside());
            }
        }
        for (name, schema) in props.named("definitions") {
            let path = path.child("definitions").key(name);
            self.schema(schema, &path, around.beside());
        }
    }

    fn items(&mut self, props: Props<'_>, path: &FieldPath, around: Surroundings<'_>) {
        let mut below = around.below(props);
        if props.text("x-kubernetes-list-type") != "map" && below.uncorrelatable.is_none() {
            below.uncorrelatable = Some(path);
        }
        let path = path.child("items");
        match props.items() {
            None => {}
            Some(Items::Each(schema)) => self.schema(schema, &path, below),
            Some(Items::Places) => {
                for (index, schema) in props.schemas("items").enumerate() {
                    self.schema(schema, &path.index(index), below);
                }
            }
        }
    }
}

const UNSUPPORTED: [&str; 5] = [
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

/// A part as JSON shows it, where an absent one is null.
fn shown(value: Option<&Value>) -> BadValue {
    BadValue::from(value.unwrap_or(&Value::Null))
}
