//! The schema of one version of a custom resource, and all that it does to objects.

use std::sync::OnceLock;

use listwatch_api::schema::Schema;
use listwatch_api::{FieldError, FieldErrorKind, FieldPath};
use listwatch_cel::schema::Position;
use serde_json::Value;

use crate::correlation::Correlated;
use crate::node::{Node, Traits};
use crate::open_api::Edition;
use crate::pattern::PatternChecks;
use crate::props::Props;
use crate::prune::Place;
use crate::rules::{Change, Rules};
use crate::scale::Scale;
use crate::validate::Validator;
use crate::{apply_types, defaults, list_types, metadata, open_api, prune, structure};

/// Says that rules were left out.
const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; \
                           correct the existing errors to complete validation";

/// The schema of one version of a custom resource.
///
/// What a request sends goes through [`prune`](Self::prune), then [`default`](Self::default), and
/// [`validate`](Self::validate) or one of its siblings; what the store holds goes through the first
/// two when it is read.
#[derive(Debug)]
pub struct Structural {
    pub(crate) root: Node,
    scale: Option<Scale>,
    /// As it was stated, for those who read OpenAPI.
    source: Box<str>,
    rules: OnceLock<Option<Rules>>,
}

impl Structural {
    /// Reads an `openAPIV3Schema`, or says what keeps it from being structural. Its patterns and
    /// rules compile when they are first needed; [`definition`](crate::definition) looks at them
    /// before.
    pub fn parse(open_api_v3_schema: &Value) -> Result<Self, Vec<FieldError>> {
        let path = FieldPath::new("openAPIV3Schema");
        let Some(props) = Props::of(open_api_v3_schema) else {
            return Err(vec![FieldError::required(&path, "")]);
        };
        let violations = structure::violations(props, &path, PatternChecks::Trusted);
        if !violations.is_empty() {
            return Err(violations);
        }
        Ok(Self {
            root: Node::compile(props),
            scale: None,
            source: open_api_v3_schema.to_string().into(),
            rules: OnceLock::new(),
        })
    }

    /// The same schema of a resource that scales as this `subresources.scale` says.
    #[must_use]
    pub fn with_scale(mut self, scale: &Value) -> Self {
        self.scale = Scale::read(scale);
        self
    }

    /// Takes away what the schema does not know, and nulls that mean nothing; gives the paths of
    /// the unknown fields, as in `unknown field "spec.x"`.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let unknown = prune::prune(&self.root, object, Place::Resource);
        defaults::drop_nulls(&self.root, object);
        unknown
    }

    /// Fills in what leaving it out means.
    pub fn default(&self, object: &mut Value) {
        defaults::fill(&self.root, object);
    }

    /// Brings the metadata of resources inside the object into shape: unknown fields go, and are
    /// named in the answer; a field of the wrong type is an error.
    pub fn coerce_embedded(&self, object: &mut Value) -> Result<Vec<String>, FieldError> {
        metadata::coerce(&self.root, object, metadata::Malformed::Refused)
    }

    /// As [`coerce_embedded`](Self::coerce_embedded) for what the store holds: a field of the wrong
    /// type goes.
    pub fn repair_embedded(&self, object: &mut Value) {
        let dropped = metadata::coerce(&self.root, object, metadata::Malformed::Dropped);
        debug_assert!(dropped.is_ok(), "nothing is refused");
    }

    /// What is wrong with a new object, beside its own metadata.
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        let validator = Validator { start: None };
        let mut errors = validator.new_value(&self.root, object).into_errors();
        if let Some(scale) = &self.scale {
            errors.extend(scale.spec_errors(object));
            errors.extend(scale.status_errors(object));
        }
        errors.extend(metadata::embedded_errors(&self.root, object));
        errors.extend(list_types::duplicates(&self.root, object));
        self.check_rules(object, None, errors)
    }

    /// What is wrong with a change, beside the object's own metadata. What was wrong before and has
    /// not changed is let be.
    pub fn validate_change(&self, next: &Value, before: &Value) -> Vec<FieldError> {
        let validator = Validator { start: None };
        let change = Correlated {
            node: &self.root,
            next,
            before,
        };
        let mut errors = validator.changed_value(&self.root, change).into_errors();
        if let Some(scale) = &self.scale {
            errors.extend(scale.spec_errors(next));
            errors.extend(scale.status_errors(next));
        }
        errors.extend(metadata::embedded_errors(&self.root, next));
        if list_types::duplicates(&self.root, before).is_empty() {
            errors.extend(list_types::duplicates(&self.root, next));
        }
        self.check_rules(next, Some(before), errors)
    }

    /// What is wrong with a change of the status, which is all that has changed.
    pub fn validate_status_change(&self, next: &Value, before: &Value) -> Vec<FieldError> {
        let mut errors = self.status_errors(next, before);
        if let Some(scale) = &self.scale {
            errors.extend(scale.status_errors(next));
        }
        if list_types::duplicates(&self.root, before).is_empty() {
            errors.extend(list_types::duplicates(&self.root, next));
        }
        self.check_rules(next, Some(before), errors)
    }

    /// The shape of the objects, for managed fields and server-side apply; the type of the whole
    /// object has this name.
    pub fn types(&self, name: &str) -> Schema {
        apply_types::of(&self.root, name)
    }

    /// The schema as OpenAPI v3 publishes it, with the fields that every resource has.
    pub fn open_api_v3(&self) -> Value {
        open_api::publish(&self.stated(), Edition::V3)
    }

    /// The schema as OpenAPI v2 publishes it, without what that cannot say.
    pub fn open_api_v2(&self) -> Value {
        open_api::publish(&self.stated(), Edition::V2)
    }

    fn stated(&self) -> Value {
        serde_json::from_str(&self.source).expect("it was written from JSON")
    }

    fn status_errors(&self, next: &Value, before: &Value) -> Vec<FieldError> {
        let (Some(node), Some(status)) = (self.root.property("status"), next.get("status")) else {
            return Vec::new();
        };
        let start = FieldPath::new("status");
        let validator = Validator {
            start: Some(&start),
        };
        let outcome = match before.get("status") {
            Some(before) => validator.changed_value(
                node,
                Correlated {
                    node,
                    next: status,
                    before,
                },
            ),
            None => validator.new_value(node, status),
        };
        outcome.into_errors()
    }

    /// The rules, compiled when the first object asks.
    fn rules(&self) -> Option<&Rules> {
        if !self.root.traits.has(Traits::RULES_BELOW) {
            return None;
        }
        let compile = || Rules::compile(Props::of(&self.stated())?, Position::Root);
        self.rules.get_or_init(compile).as_ref()
    }

    fn check_rules(
        &self,
        next: &Value,
        before: Option<&Value>,
        mut errors: Vec<FieldError>,
    ) -> Vec<FieldError> {
        let Some(rules) = self.rules() else {
            return errors;
        };
        if errors.iter().any(hides_rules) {
            let root = FieldPath::root();
            errors.push(FieldError::invalid(&root, &Value::Null, NOT_CHECKED));
            return errors;
        }
        let ratchet = before.map(|before| Correlated {
            node: &self.root,
            next,
            before,
        });
        let change = Change { next, before };
        errors.extend(rules.errors(&self.root, change, None, ratchet));
        errors
    }
}

/// Whether rules could stumble over what is wrong, and are therefore not asked.
fn hides_rules(error: &FieldError) -> bool {
    matches!(
        error.kind,
        FieldErrorKind::NotSupported
            | FieldErrorKind::Required
            | FieldErrorKind::TooLong
            | FieldErrorKind::TooMany
            | FieldErrorKind::TypeInvalid
    )
}
