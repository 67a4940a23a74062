//! Whether rules compile, and what they may cost all together.

use listwatch_api::field_error::BadValue;
use listwatch_api::{FieldError, FieldErrorKind, FieldPath};
use listwatch_cel::{CostEstimate, Schema};
use serde_json::Value;

use super::Surroundings;
use crate::definition::internal_form;
use crate::node::Rule;
use crate::props::Props;
use crate::rules::expression::{self, Compiled, OldSelf};

/// Rules that are named when all together cost too much.
const EXPENSIVE_RULES_MAX: usize = 4;

/// How often a schema can occur in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occurrences {
    AtMost(u64),
    /// As often as fits into a request.
    Unbounded,
}

impl Occurrences {
    /// How often what is directly in values of this schema can occur.
    pub(super) fn below(self, props: Props<'_>) -> Self {
        let bound = |name: &str| match props.integer(name) {
            Some(bound) => Self::AtMost(u64::try_from(bound).unwrap_or_default()),
            None => Self::Unbounded,
        };
        let each = match props.type_name() {
            "object" if props.additional().is_some() => bound("maxProperties"),
            "array" => bound("maxItems"),
            _ => Self::AtMost(1),
        };
        match (self, each) {
            (Self::AtMost(around), Self::AtMost(each)) => Self::AtMost(around.saturating_mul(each)),
            _ => Self::Unbounded,
        }
    }
}

/// What rules cost so far.
#[derive(Debug, Default)]
pub(super) struct Bill {
    total: u64,
    /// The most expensive ones, the dearest first.
    expensive: Vec<(u64, FieldPath)>,
    /// What is wrong with rules, told after all else.
    pub(super) errors: Vec<FieldError>,
}

impl Bill {
    fn observe(&mut self, path: FieldPath, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost < CostEstimate::SCHEMA_MAX / 100 {
            return;
        }
        self.expensive.push((cost, path));
        self.expensive
            .sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        self.expensive.truncate(EXPENSIVE_RULES_MAX);
    }

    /// What is wrong with rules, and with what all of them cost.
    pub(super) fn into_errors(self, path: &FieldPath) -> Vec<FieldError> {
        let mut errors = self.errors;
        if self.total > CostEstimate::SCHEMA_MAX {
            let why = "contributed to estimated rule cost total exceeding cost limit for entire \
                       OpenAPIv3 schema";
            let expensive = self.expensive.iter();
            errors.extend(expensive.map(|(_, path)| FieldError::forbidden(path, why)));
            let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 \
                        schema";
            let why = too_expensive(what, self.total, CostEstimate::SCHEMA_MAX);
            errors.push(FieldError::forbidden(path, &why));
        }
        errors
    }

    /// Compiles the rules of one schema.
    pub(super) fn rules(&mut self, props: Props<'_>, path: &FieldPath, around: Surroundings<'_>) {
        let mut stated = props.schemas("x-kubernetes-validations").peekable();
        if stated.peek().is_none() {
            return;
        }
        let path = path.child("x-kubernetes-validations");
        let position = around.position(props);
        let schema = Schema::from_openapi(&Value::Object(props.0.clone()), position);
        let Some(schema) = schema else {
            self.errors.push(FieldError {
                field: path.to_string(),
                kind: FieldErrorKind::Internal,
                body: "Internal error: internal error: failed to construct type information for \
                       x-kubernetes-validations rules: unable to convert structural schema to CEL \
                       declarations"
                    .to_owned(),
            });
            return;
        };
        for (index, rule) in stated.map(Rule::read).enumerate() {
            self.rule(&rule, &schema, &path.index(index), around);
        }
    }

    fn rule(&mut self, rule: &Rule, schema: &Schema, path: &FieldPath, around: Surroundings<'_>) {
        let old_self = OldSelf::of(rule);
        let rule_path = path.child("rule");
        let shown = || BadValue::json(internal_form::rule(rule));
        let condition = match expression::condition(&rule.rule, schema, old_self) {
            Ok(condition) => condition,
            Err(problem) => {
                self.errors
                    .push(FieldError::invalid(&rule_path, shown(), &problem));
                self.observe(rule_path, 0);
                return self.old_self(rule, None, path, around);
            }
        };
        let times = match around.occurrences {
            Occurrences::AtMost(times) => times,
            Occurrences::Unbounded => schema.occurrences_max(),
        };
        let cost = condition.cost_max.saturating_mul(times);
        self.limit(&rule_path, "estimated rule cost", cost);
        self.observe(rule_path, cost);
        if !rule.message_expression.is_empty() {
            let path = path.child("messageExpression");
            match expression::message(&rule.message_expression, schema, old_self) {
                Ok(message) => {
                    self.limit(&path, "estimated messageExpression cost", message.cost_max);
                    self.observe(path, message.cost_max);
                }
                Err(problem) => {
                    self.errors
                        .push(FieldError::invalid(&path, shown(), &problem));
                }
            }
        }
        self.old_self(rule, Some(&condition), path, around);
    }

    fn limit(&mut self, path: &FieldPath, what: &str, cost: u64) {
        if cost > CostEstimate::RULE_MAX {
            let why = too_expensive(what, cost, CostEstimate::RULE_MAX);
            self.errors.push(FieldError::forbidden(path, &why));
        }
    }

    /// What a rule may ask about before.
    fn old_self(
        &mut self,
        rule: &Rule,
        condition: Option<&Compiled>,
        path: &FieldPath,
        around: Surroundings<'_>,
    ) {
        let uses = condition.is_some_and(|condition| condition.uses_old_self);
        if let (true, Some(around)) = (uses, around.uncorrelatable) {
            let why = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {around}"
            );
            let error = FieldError::invalid(&path.child("rule"), &*rule.rule, &why);
            self.errors.push(error);
        }
        if let (false, Some(optional)) = (uses, rule.optional_old_self) {
            let why = "may not be set if oldSelf is not used in rule";
            let error = FieldError::invalid(&path.child("optionalOldSelf"), optional, why);
            self.errors.push(error);
        }
    }
}

/// Says by how much a cost is too high.
#[expect(clippy::cast_precision_loss, reason = "only the magnitude is told")]
fn too_expensive(what: &str, cost: u64, cost_max: u64) -> String {
    let factor = cost as f64 / cost_max as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding \
         maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}
