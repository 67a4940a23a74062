//! Asks the rules of a schema about a value.

use listwatch_api::{FieldError, FieldErrorKind, FieldPath};
use listwatch_cel::value::Value as CelValue;
use listwatch_cel::{Bindings, Budget, EvaluationError};
use serde_json::{Map, Value};

use super::{OwnRules, ReadyRule, Rules};
use crate::correlation::{self, Correlated};
use crate::node::Node;
use crate::value_path::ValuePath;

/// Bytes of a message that an expression may make.
const MESSAGE_BYTES_MAX: usize = 5 << 10;

const OUT_OF_BUDGET: &str = "validation failed due to running out of cost budget, no further \
                             validation rules will be run";

/// What is asked about.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) next: &'a Value,
    /// What it was, if it was there.
    pub(crate) before: Option<&'a Value>,
}

impl Rules {
    /// What the rules refuse. Errors of what has not changed are let be where `ratchet` tells what
    /// it was.
    pub(crate) fn errors(
        &self,
        node: &Node,
        change: Change<'_>,
        start: Option<&FieldPath>,
        ratchet: Option<Correlated<'_>>,
    ) -> Vec<FieldError> {
        let mut walk = Walk {
            start,
            errors: Vec::new(),
            left: super::BUDGET,
        };
        let subject = Subject {
            node,
            change,
            path: &ValuePath::Start,
            ratchet: Ratchet {
                current: ratchet,
                parent: None,
            },
        };
        let _spent = walk.value(self, subject);
        walk.errors
    }
}

/// What tells whether something has changed: itself, or the nearest thing around it that can.
#[derive(Clone, Copy)]
struct Ratchet<'a> {
    current: Option<Correlated<'a>>,
    parent: Option<Correlated<'a>>,
}

impl<'a> Ratchet<'a> {
    fn is_unchanged(self) -> bool {
        let known = self.current.or(self.parent);
        known.is_some_and(Correlated::is_unchanged)
    }

    fn key(self, name: &str) -> Self {
        let Some(current) = self.current else {
            return self;
        };
        if self.parent.is_none() && matches!(name, "apiVersion" | "kind") {
            return Self {
                current: None,
                parent: None,
            };
        }
        self.at(current, current.key(name))
    }

    fn index(self, index: usize) -> Self {
        match self.current {
            None => self,
            Some(current) => self.at(current, current.index(index)),
        }
    }

    fn at(self, parent: Correlated<'a>, below: Option<Correlated<'a>>) -> Self {
        Self {
            current: below,
            parent: Some(parent),
        }
    }
}

#[derive(Clone, Copy)]
struct Subject<'a> {
    node: &'a Node,
    change: Change<'a>,
    path: &'a ValuePath<'a>,
    ratchet: Ratchet<'a>,
}

/// Nothing more may be asked.
struct Spent;

struct Walk<'a> {
    start: Option<&'a FieldPath>,
    errors: Vec<FieldError>,
    /// What rules may still cost.
    left: u64,
}

impl Walk<'_> {
    fn value(&mut self, rules: &Rules, subject: Subject<'_>) -> Result<(), Spent> {
        if subject.change.next.is_null() {
            return Ok(());
        }
        if let Some(own) = &rules.own {
            self.own(own, &rules.type_name, subject)?;
        }
        match subject.change.next {
            Value::Object(members) => self.members(rules, members, subject),
            Value::Array(list) => self.elements(rules, list, subject),
            _ => Ok(()),
        }
    }

    fn members(
        &mut self,
        rules: &Rules,
        members: &Map<String, Value>,
        subject: Subject<'_>,
    ) -> Result<(), Spent> {
        let before = subject.change.before.and_then(Value::as_object);
        for (name, next) in members {
            let place = rules
                .properties
                .binary_search_by(|(known, _)| known.as_ref().cmp(name));
            let named = place.ok().map(|place| &rules.properties[place].1);
            let path = match named {
                Some(_) => ValuePath::Field(subject.path, name),
                None => ValuePath::Entry(subject.path, name),
            };
            let below = named.or(rules.additional.as_deref());
            let (Some(below), Some(node)) = (below, subject.node.member(name)) else {
                continue;
            };
            let member = Subject {
                node,
                change: Change {
                    next,
                    before: before.and_then(|before| before.get(name)),
                },
                path: &path,
                ratchet: subject.ratchet.key(name),
            };
            self.value(below, member)?;
        }
        Ok(())
    }

    fn elements(
        &mut self,
        rules: &Rules,
        list: &[Value],
        subject: Subject<'_>,
    ) -> Result<(), Spent> {
        let (Some(items), Some(node)) = (rules.items.as_deref(), subject.node.items()) else {
            return Ok(());
        };
        for (index, next) in list.iter().enumerate() {
            let before = subject.change.before;
            let before = before.and_then(|before| correlation::same(subject.node, before, next));
            let element = Subject {
                node,
                change: Change { next, before },
                path: &ValuePath::Element(subject.path, index),
                ratchet: subject.ratchet.index(index),
            };
            self.value(items, element)?;
        }
        Ok(())
    }

    fn own(&mut self, own: &OwnRules, type_name: &str, subject: Subject<'_>) -> Result<(), Spent> {
        let field = subject.path.field(self.start);
        if self.left == 0 {
            self.errors
                .push(FieldError::invalid(&field, type_name, OUT_OF_BUDGET));
            return Err(Spent);
        }
        for rule in &own.rules {
            let asked = Asked {
                own,
                rule,
                type_name,
                field: &field,
            };
            self.rule(asked, subject)?;
        }
        Ok(())
    }

    fn rule(&mut self, asked: Asked<'_>, subject: Subject<'_>) -> Result<(), Spent> {
        let rule = asked.rule;
        let condition = match &rule.condition {
            Ok(condition) => condition,
            Err(problem) => {
                let why = format!("rule compile error: {problem}");
                self.refuse(&asked, &why);
                return Ok(());
            }
        };
        let is_optional = rule.rule.optional_old_self == Some(true);
        let before = subject.change.before.filter(|before| !before.is_null());
        if condition.uses_old_self && before.is_none() && !is_optional {
            return Ok(());
        }
        let bindings = match asked.bindings(subject.change.next, before) {
            Ok(bindings) => bindings,
            Err(error) => {
                let shown = asked.shown();
                self.refuse(&asked, &format!("{error} evaluating rule: {shown}"));
                return Ok(());
            }
        };
        let mut budget = Budget::per_call();
        let outcome = condition.program.evaluate(&bindings, &mut budget);
        self.charge(&asked, budget.spent())?;
        match outcome {
            Ok(CelValue::Bool(true)) => return Ok(()),
            Ok(_) => {}
            Err(error) => return self.failed(&asked, &error),
        }
        let detail = self.detail(&asked, &bindings, subject)?;
        if condition.uses_old_self || !subject.ratchet.is_unchanged() {
            let error = asked.refusal(subject.change.next, &detail);
            self.errors.push(error);
        }
        Ok(())
    }

    fn refuse(&mut self, asked: &Asked<'_>, why: &str) {
        self.errors
            .push(FieldError::invalid(asked.field, asked.type_name, why));
    }

    fn charge(&mut self, asked: &Asked<'_>, cost: u64) -> Result<(), Spent> {
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.refuse(asked, OUT_OF_BUDGET);
                Err(Spent)
            }
        }
    }

    fn failed(&mut self, asked: &Asked<'_>, error: &EvaluationError) -> Result<(), Spent> {
        let shown = asked.shown();
        let text = error.to_string();
        if *error == EvaluationError::OutOfBudget {
            self.refuse(
                asked,
                &format!(
                    "'{text}': no further validation rules will be run due to call cost exceeds \
                     limit for rule: {shown}"
                ),
            );
            return Err(Spent);
        }
        let why = match text.starts_with("no such overload") {
            true => format!(
                "'{text}': call arguments did not match a supported operator, function or macro \
                 signature for rule: {shown}"
            ),
            false => format!("{text} evaluating rule: {shown}"),
        };
        self.refuse(asked, &why);
        Ok(())
    }

    /// What to say: what the message expression makes, or else the message.
    fn detail(
        &mut self,
        asked: &Asked<'_>,
        bindings: &Bindings<'_>,
        subject: Subject<'_>,
    ) -> Result<String, Spent> {
        let stated = || match asked.rule.rule.message.trim() {
            "" => format!("failed rule: {}", asked.shown()),
            message => message.to_owned(),
        };
        let Some(message) = &asked.rule.message else {
            return Ok(stated());
        };
        let mut budget = Budget::per_call();
        let outcome = message.program.evaluate(bindings, &mut budget);
        let source = &asked.rule.rule.message_expression;
        let refusal = if budget.spent() > self.left {
            "messageExpression evaluation failed due to running out of cost budget, no further \
             validation rules will be run"
                .to_owned()
        } else if matches!(outcome, Err(EvaluationError::OutOfBudget)) {
            format!(
                "no further validation rules will be run due to call cost exceeds limit for \
                 messageExpression: {source:?}"
            )
        } else {
            self.left -= budget.spent();
            let made = match outcome {
                Ok(CelValue::String(text)) => made_message(&text),
                _ => None,
            };
            return Ok(made.unwrap_or_else(stated));
        };
        if !subject.ratchet.is_unchanged() {
            self.refuse(asked, &refusal);
        }
        Err(Spent)
    }
}

/// A message that an expression made, if it can be shown.
fn made_message(text: &str) -> Option<String> {
    let text = text.trim();
    let can_be_shown = !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n');
    can_be_shown.then(|| text.to_owned())
}

/// One rule that is asked about one value.
struct Asked<'a> {
    own: &'a OwnRules,
    rule: &'a ReadyRule,
    type_name: &'a str,
    field: &'a FieldPath,
}

impl<'a> Asked<'a> {
    fn bindings<'b>(
        &self,
        next: &'b Value,
        before: Option<&'b Value>,
    ) -> Result<Bindings<'b>, EvaluationError>
    where
        'a: 'b,
    {
        let schema = &self.own.schema;
        let mut bindings = Bindings::new().with("self", CelValue::from_json(next, schema)?);
        let old = before.map(|before| CelValue::from_json(before, schema));
        match (old.transpose()?, self.rule.rule.optional_old_self) {
            (Some(old), Some(true)) => bindings.insert("oldSelf", CelValue::some(old)),
            (None, Some(true)) => bindings.insert("oldSelf", CelValue::Optional(None)),
            (Some(old), _) => bindings.insert("oldSelf", old),
            (None, _) => {}
        }
        Ok(bindings)
    }

    /// The rule as errors name it.
    fn shown(&self) -> &str {
        match &*self.rule.rule.message {
            "" => self.rule.rule.rule.trim(),
            message => message.trim(),
        }
    }

    fn refusal(&self, value: &Value, detail: &str) -> FieldError {
        let field = match &self.rule.route {
            Some(route) => route.after(self.field),
            None => self.field.clone(),
        };
        let reason = self.rule.rule.reason.as_deref();
        match reason {
            Some("FieldValueForbidden") => return FieldError::forbidden(&field, detail),
            Some("FieldValueRequired") => return FieldError::required(&field, detail),
            _ => {}
        }
        let is_large = matches!(self.type_name, "object" | "array");
        match (reason, is_large) {
            (Some("FieldValueDuplicate"), false) => FieldError::duplicate(&field, value),
            (Some("FieldValueDuplicate"), true) => FieldError {
                field: field.to_string(),
                kind: FieldErrorKind::Duplicate,
                body: "Duplicate value".to_owned(),
            },
            (_, false) => FieldError::invalid(&field, value, detail),
            (_, true) => FieldError {
                field: field.to_string(),
                kind: FieldErrorKind::Invalid,
                body: format!("Invalid value: {detail}"),
            },
        }
    }
}
