//! The conditions that a schema states in expressions (`x-kubernetes-validations`).

use listwatch_cel::schema::Position;
use listwatch_cel::{Budget, Schema};
use serde_json::Value;

use crate::field_route::{self, Brackets, Route};
use crate::node::{Rule, SCHEMA_DEPTH_MAX};
use crate::props::{Additional, Props};

pub(crate) mod expression;
mod evaluation;

pub(crate) use evaluation::Change;
use expression::{Compiled, OldSelf};

/// What all rules of one object may cost together.
pub(crate) const BUDGET: u64 = Budget::PER_REQUEST;

/// The rules of a schema and of what is in it, ready to be asked.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// The type of the value, as messages name it.
    type_name: Box<str>,
    own: Option<Box<OwnRules>>,
    /// Sorted by name.
    properties: Vec<(Box<str>, Rules)>,
    additional: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
}

/// The rules of one schema.
#[derive(Debug)]
struct OwnRules {
    /// How values are read.
    schema: Schema,
    rules: Vec<ReadyRule>,
}

#[derive(Debug)]
struct ReadyRule {
    rule: Rule,
    condition: Result<Compiled, String>,
    message: Option<Compiled>,
    /// Where its refusals point, below the value.
    route: Option<Route>,
}

impl Rules {
    /// The rules of a schema, if it has any.
    pub(crate) fn compile(props: Props<'_>, position: Position) -> Option<Self> {
        Self::compile_at(props, position, 0)
    }

    fn compile_at(props: Props<'_>, position: Position, depth: usize) -> Option<Self> {
        if depth > SCHEMA_DEPTH_MAX || !is_typed(props) {
            return None;
        }
        let below = |props: Props<'_>| Self::compile_at(props, position_of(props), depth + 1);
        let properties = props.properties();
        let rules = Self {
            type_name: props.type_name().into(),
            own: OwnRules::compile(props, position).map(Box::new),
            properties: properties
                .filter_map(|(name, schema)| Some((name.into(), below(schema)?)))
                .collect(),
            additional: match props.additional() {
                Some(Additional::Each(each)) => below(each).map(Box::new),
                _ => None,
            },
            items: props.each_item().and_then(below).map(Box::new),
        };
        rules.is_needed().then_some(rules)
    }

    fn is_needed(&self) -> bool {
        self.own.is_some()
            || self.additional.is_some()
            || self.items.is_some()
            || !self.properties.is_empty()
    }
}

/// Values without a type are not shown to expressions.
fn is_typed(props: Props<'_>) -> bool {
    !props.type_name().is_empty() || props.is_set("x-kubernetes-int-or-string")
}

/// Whether a schema is that of a resource inside of another.
pub(crate) fn position_of(props: Props<'_>) -> Position {
    match props.is_set("x-kubernetes-embedded-resource") {
        true => Position::Root,
        false => Position::Inside,
    }
}

impl OwnRules {
    fn compile(props: Props<'_>, position: Position) -> Option<Self> {
        let mut stated = props.schemas("x-kubernetes-validations").peekable();
        stated.peek()?;
        let schema = Schema::from_openapi(&Value::Object(props.0.clone()), position)?;
        let rules = stated.map(|stated| ReadyRule::compile(Rule::read(stated), props, &schema));
        let rules = rules.collect();
        Some(Self { schema, rules })
    }
}

impl ReadyRule {
    fn compile(rule: Rule, props: Props<'_>, schema: &Schema) -> Self {
        let old_self = OldSelf::of(&rule);
        let condition = expression::condition(&rule.rule, schema, old_self);
        let message = match &*rule.message_expression {
            "" => None,
            source => expression::message(source, schema, old_self).ok(),
        };
        let route = match &*rule.field_path {
            "" => None,
            path => field_route::follow(path, props, Brackets::Allowed).ok(),
        };
        Self {
            condition,
            message,
            route: route.map(|found| found.route),
            rule,
        }
    }
}
